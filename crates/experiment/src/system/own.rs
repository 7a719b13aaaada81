//! A service of one's own: a command, and the URL at which it answers.

use std::net::{TcpStream, ToSocketAddrs};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use tidegate_host::Cores;
use tidegate_lab::{Launch, Process, http};
use tidegate_load::Stop;

use super::{System, Workshop};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Time between two looks whether the service is ready.
const POLL: Duration = Duration::from_millis(20);
/// Time from SIGTERM to SIGKILL.
const GRACE: Duration = Duration::from_secs(10);

/// A process that runs, and the URL at which it answers.
#[derive(Debug)]
pub(super) struct Own {
    process: Process,
    address: String,
}

impl System for Own {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.address.clone())
    }

    fn process(&self) -> &Process {
        &self.process
    }
}

/// Starts the service and waits until it is ready, or the operator stops the study.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
    stop: &Stop,
) -> Result<Own> {
    let address = settings.address.as_deref().unwrap_or_default();
    let place = http::place(address).ok_or_else(|| {
        Error::Operator(format!(
            "system.address = {address:?}: must be http://HOST:PORT or https://HOST:PORT"
        ))
    })?;
    if accepts(&place) {
        return Err(Error::Operator(format!(
            "system.address = {address:?}: something answers there before the service was started; end it, or choose another port"
        )));
    }
    let mut words = settings.command.iter();
    let program = words.next().cloned().unwrap_or_default();
    let mut command = Command::new(resolved(&program, &workshop.folder));
    command.args(words);
    if !workshop.folder.as_os_str().is_empty() {
        command.current_dir(&workshop.folder);
    }
    let launch = Launch::new("service", command).on(cores).grace(GRACE);
    let mut process = launch.log(&folder.join("service.log"))?.start().map_err(|error| {
        Error::Operator(format!("system.command: {error}; give the program's path"))
    })?;
    let deadline = Instant::now() + Duration::from_secs_f64(settings.ready_within);
    loop {
        let ready = match &settings.ready {
            Some(path) => http::get_at(address, path).is_ok_and(|answer| answer.status < 500),
            None => accepts(&place),
        };
        if ready {
            return Ok(Own { process, address: address.to_owned() });
        }
        if stop.is_stopped() {
            return Err(Error::Process("stopped before the service was ready".into()));
        }
        if let Some(exit) = process.exit()? {
            return Err(Error::Process(format!(
                "the service ended before it was ready ({}): {}",
                exit.status,
                process.last_lines()
            )));
        }
        if Instant::now() > deadline {
            return Err(Error::Process(format!(
                "the service is not ready at {address}{} within {} s; set system.ready_within, or look at its log: {}",
                settings.ready.as_deref().unwrap_or_default(),
                settings.ready_within,
                process.last_lines()
            )));
        }
        std::thread::sleep(POLL);
    }
}

/// A program as it counts: one with a folder starts in that of the experiment's file.
fn resolved(program: &str, folder: &Path) -> PathBuf {
    let path = Path::new(program);
    if path.components().count() > 1 && path.is_relative() {
        let folder = std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned());
        return folder.join(path);
    }
    path.to_owned()
}

fn accepts(place: &str) -> bool {
    let addresses = place.to_socket_addrs().into_iter().flatten();
    addresses
        .into_iter()
        .any(|address| TcpStream::connect_timeout(&address, Duration::from_secs(1)).is_ok())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_lab::free_address;

    fn start(command: &[&str], settings: Settings) -> Result<Own> {
        start_until(&Stop::default(), command, settings)
    }

    fn start_until(stop: &Stop, command: &[&str], settings: Settings) -> Result<Own> {
        let folder = tempfile::tempdir().unwrap();
        let workshop = Workshop::open(folder.path(), folder.path())?;
        let settings = Settings {
            command: command.iter().map(|&word| word.into()).collect(),
            address: Some(format!("http://{}", free_address()?)),
            ..settings
        };
        let cores = Cores::of_this_thread().unwrap().only(0).unwrap();
        super::start(&settings, &cores, &workshop, folder.path(), stop)
    }

    #[test]
    fn a_service_that_never_gets_ready_is_an_error_with_its_log() {
        let settings = Settings { ready_within: 0.2, ..Settings::default() };
        let error = start(&["sh", "-c", "echo warming up; sleep 100"], settings).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("not ready") && text.contains("warming up"), "{text}");
        assert!(text.contains("system.ready_within"), "{text}");
    }

    #[test]
    fn a_study_that_is_stopped_does_not_wait_for_a_service_to_get_ready() {
        let stop = Stop::default();
        stop.stop();
        let settings = Settings { ready_within: 600.0, ..Settings::default() };
        let error = start_until(&stop, &["sleep", "1000"], settings).unwrap_err();
        assert!(error.to_string().contains("stopped"), "{error}");
    }

    #[test]
    fn a_service_that_ends_or_is_not_there_is_an_error() {
        let settings = Settings { ready_within: 10.0, ..Settings::default() };
        let ended = start(&["sh", "-c", "echo no licence; exit 4"], settings.clone()).unwrap_err();
        assert!(ended.to_string().contains("no licence"), "{ended}");
        let missing = start(&["/no/such/program"], settings).unwrap_err();
        assert_eq!(missing.exit_code(), 2);
        assert!(missing.to_string().contains("give the program's path"), "{missing}");
    }

    #[test]
    fn an_address_that_something_else_has_is_bad_input() {
        let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let address = Some(format!("http://{}", other.local_addr().unwrap()));
        let folder = tempfile::tempdir().unwrap();
        let workshop = Workshop::open(folder.path(), folder.path()).unwrap();
        let settings = Settings { command: vec!["true".into()], address, ..Settings::default() };
        let cores = Cores::of_this_thread().unwrap().only(0).unwrap();
        let error = super::start(&settings, &cores, &workshop, folder.path(), &Stop::default());
        let error = error.unwrap_err();
        assert!(error.to_string().contains("something answers there"), "{error}");
    }
}
