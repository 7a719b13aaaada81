//! Systems that serve several runs: which of them a run can use, and for which of them it is warm.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use crate::experiment::{Settings, Windows};
use crate::folder::MAKE_ROOM;
use crate::record::{Kind, Planned};
use crate::system::Started;
use crate::{Error, Result};

/// Folder of the logs of services that are kept, below that of the study.
const SERVICES: &str = "services";

/// What further runs find.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Keeping {
    /// Nothing: each starts everything anew.
    Nothing,
    /// The service, warm; gates start anew.
    Service,
    /// The service with a gate for each policy.
    All,
}

impl Keeping {
    /// That of a run with these times, on a bench that keeps all or not.
    pub(super) fn of(keeps_all: bool, windows: &Windows) -> Self {
        match windows.warm_up_once_s {
            _ if keeps_all => Self::All,
            Some(_) => Self::Service,
            None => Self::Nothing,
        }
    }

    /// What settings have in common that one system can serve.
    pub(super) fn key(self, settings: &Settings) -> String {
        match self {
            Self::Service => settings.service_key(),
            Self::All | Self::Nothing => settings.capacity_key(),
        }
    }

    /// The folder of the log of a service that starts: logs of what serves several runs are not
    /// those of one.
    ///
    /// # Errors
    /// It cannot be created.
    pub(super) fn folder_of_service(self, out: &Path, run: &Path) -> Result<PathBuf> {
        match self {
            Self::Nothing => Ok(run.to_owned()),
            Self::Service => next_folder(&out.join(SERVICES)),
            Self::All => Ok(out.to_owned()),
        }
    }

    /// The same of a gate with this policy.
    pub(super) fn folder_of_gate(self, out: &Path, run: &Path, policy: &str) -> PathBuf {
        match self {
            Self::Nothing | Self::Service => run.to_owned(),
            Self::All => out.join(format!("gate-{policy}")),
        }
    }
}

/// A folder that no service has yet: an earlier process of the study may have left some.
fn next_folder(services: &Path) -> Result<PathBuf> {
    let mut all = (1..).map(|number: u32| services.join(format!("{number:02}")));
    let next = all.find(|folder| !folder.exists()).unwrap_or_else(|| services.to_owned());
    std::fs::create_dir_all(&next).map_err(|error| {
        Error::Machine(format!("cannot create {}: {error}; {MAKE_ROOM}", next.display()))
    })?;
    Ok(next)
}

/// Part of the stated warm-up before probes: they only have to find the load of the other.
const BEFORE_PROBES: f64 = 1.0 / 3.0;

/// What a service is warm for. Connections that come through a gate take another way through it
/// than those that do not, and a light load of probes leaves code uncompiled that the capacity
/// needs.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Warm {
    /// By [`Settings::capacity_key`].
    key: String,
    /// Whether only for probes.
    is_for_probes: bool,
}

impl Warm {
    /// For what these settings measure.
    pub(super) fn new(settings: &Settings, kind: Kind) -> Self {
        Self { key: settings.capacity_key(), is_for_probes: kind == Kind::Capacity }
    }

    /// What a service is warm for after this.
    pub(super) fn of(planned: &Planned) -> Self {
        Self::new(&planned.settings, planned.kind)
    }

    /// How many seconds its warm-up takes, by those that `warm_up_once` states.
    pub(super) fn takes_s(&self, once_s: f64) -> f64 {
        if self.is_for_probes { BEFORE_PROBES * once_s } else { once_s }
    }
}

/// A system with what it can serve.
#[derive(Debug)]
pub(super) struct Kept {
    /// By [`Keeping::key`].
    pub(super) key: String,
    pub(super) started: Started,
    warm: BTreeSet<Warm>,
}

impl Kept {
    /// One that has just started.
    pub(super) fn new(key: String, started: Started) -> Self {
        Self { key, started, warm: BTreeSet::new() }
    }

    /// The stated warm-up before a run; none where it is warm, or needs none.
    pub(super) fn warm_up_s(&self, planned: &Planned) -> Option<f64> {
        let (settings, windows) = (&planned.settings, &planned.windows);
        match windows.warm_up_once_s {
            Some(once_s) => {
                let warm = Warm::of(planned);
                (!self.warm.contains(&warm)).then(|| warm.takes_s(once_s))
            }
            None => settings.warms_up().then_some(windows.warm_up_s),
        }
    }

    /// Notes that it has served this run.
    pub(super) fn is_warm_for(&mut self, planned: &Planned) {
        self.warm.insert(Warm::of(planned));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_service_is_kept_if_its_warm_up_is_once_and_a_live_bench_keeps_all() {
        let once = Windows { warm_up_once_s: Some(180.0), ..Windows::default() };
        assert_eq!(Keeping::of(false, &Windows::default()), Keeping::Nothing);
        assert_eq!(Keeping::of(false, &once), Keeping::Service);
        assert_eq!(Keeping::of(true, &once), Keeping::All);
    }

    #[test]
    fn a_service_that_is_warm_for_probes_is_warmed_again_at_the_capacity() {
        let warm = |kind| Warm::new(&Settings::default(), kind);
        let takes_s = |kind| warm(kind).takes_s(180.0);
        assert_eq!((takes_s(Kind::Capacity), takes_s(Kind::Baseline)), (60.0, 180.0));
        assert_ne!(warm(Kind::Capacity), warm(Kind::Baseline));
        assert_eq!(warm(Kind::Baseline), warm(Kind::Run));
    }

    #[test]
    fn a_service_that_starts_again_leaves_the_logs_of_the_one_before() {
        let out = tempfile::tempdir().unwrap();
        let run = out.path().join("runs/a");
        let of = |keeping: Keeping| keeping.folder_of_service(out.path(), &run).unwrap();
        assert_eq!((of(Keeping::Nothing), of(Keeping::All)), (run.clone(), out.path().to_owned()));
        assert_eq!(of(Keeping::Service), out.path().join("services/01"));
        assert_eq!(of(Keeping::Service), out.path().join("services/02"));
    }
}
