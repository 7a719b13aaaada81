//! The site's processes on this machine.

use std::net::SocketAddr;

use tidegate_host::sockets::{self, Endpoint};
use tidegate_host::{Files, cpu_clock, is_own_address, processes};
use tidegate_lab::{Error, Result};

/// The site's processes on this machine.
#[derive(Clone, Debug)]
pub(crate) struct Processes {
    pub(super) files: Files,
    pub(super) heads: Vec<u32>,
    pub(super) endpoint: Endpoint,
}

impl Processes {
    /// The processes that listen for an endpoint, or the given ones; with their descendants at any
    /// time. `None` if there is none, or one of them does not exist.
    pub(crate) fn find(endpoint: Endpoint, given: &[u32]) -> Option<Self> {
        let files = Files::new("/");
        let own = std::process::id();
        let heads = match given {
            [] => sockets::holders(&files, &sockets::listeners(&files, endpoint), own),
            given => given.to_vec(),
        };
        let runs = |pid: &u32| cpu_clock::of_process(*pid).is_ok();
        let known = !heads.is_empty() && heads.iter().all(runs);
        known.then_some(Self { files, heads, endpoint })
    }

    /// The processes of a site at these addresses: those that listen there, or the given ones.
    /// `None` if it does not run here, or they are not seen; `note` tells the operator which.
    ///
    /// # Errors
    /// [`Error::Operator`]: processes are given, and the site does not run here or one of them does
    /// not exist.
    pub(crate) fn of_site(
        addresses: &[SocketAddr],
        given: &[u32],
        note: &mut dyn FnMut(String),
    ) -> Result<Option<Self>> {
        let here = addresses.iter().find(|address| is_own_address(address.ip()));
        let endpoint = here.map(|it| Endpoint { address: Some(it.ip()), port: it.port() });
        let found = endpoint.and_then(|endpoint| Self::find(endpoint, given));
        let numbers = given.iter().map(u32::to_string).collect::<Vec<_>>().join(",");
        let refused = |why: &str| Err(Error::Operator(format!("--process {numbers}: {why}")));
        match (&found, endpoint) {
            (Some(site), _) => note(format!("site: {}", site.in_words())),
            (None, None) if !given.is_empty() => {
                return refused("the site does not run on this machine; leave the flag out");
            }
            (None, Some(_)) if !given.is_empty() => {
                return refused(
                    "there is no such process, or not every one; find them with `ss -ltnp`",
                );
            }
            (None, Some(_)) => {
                // The site of a test is this process.
                let own = processes::name(&Files::new("/"), std::process::id());
                let own = own.unwrap_or_default();
                note(format!(
                    "no process other than this one ({own}) is seen to listen there: the site is seen from outside only; name it with --process PID"
                ));
            }
            (None, None) => {}
        }
        Ok(found)
    }

    /// These and further ones.
    pub(crate) fn with(&self, more: impl Iterator<Item = u32>) -> Self {
        let mut heads = self.heads.clone();
        heads.extend(more);
        Self { heads, ..self.clone() }
    }

    /// Their numbers now.
    pub(crate) fn now(&self) -> Vec<u32> {
        processes::with_descendants(&self.files, &self.heads, std::process::id())
    }

    /// Their CPU seconds so far, without those of descendants that have ended.
    pub(crate) fn cpu_s(&self) -> f64 {
        self.now().into_iter().map(cpu_s).sum()
    }

    /// Their names and numbers, for people: `nginx (12, 13)`.
    pub(crate) fn in_words(&self) -> String {
        let name = |pid: &u32| processes::name(&self.files, *pid).unwrap_or_default();
        let all = self.now();
        let mut names: Vec<String> = all.iter().map(name).collect();
        names.sort();
        names.dedup();
        let (first, more) = (all.iter().take(4), all.len().saturating_sub(4));
        let mut numbers = first.map(u32::to_string).collect::<Vec<_>>().join(", ");
        if more > 0 {
            numbers += &format!(" and {more} more");
        }
        format!("{} ({numbers})", names.join(", "))
    }
}

/// CPU seconds of a process; 0 if it has ended.
pub(super) fn cpu_s(pid: u32) -> f64 {
    cpu_clock::of_process(pid).map_or(0.0, |time| time.as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_listener_or_a_process_there_is_no_site_to_observe() {
        let port = tidegate_lab::free_address().unwrap().port();
        let endpoint = Endpoint { address: "127.0.0.1".parse().ok(), port };
        assert!(Processes::find(endpoint, &[]).is_none());
        assert!(Processes::find(endpoint, &[u32::MAX]).is_none());
    }
}
