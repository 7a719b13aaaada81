//! The upkeep of what a gate has from files, on a thread of its own: a file system that hangs
//! keeps no customer waiting.

use crate::admission::key_file::KeyFile;
use crate::admission::tickets::Keyring;
use crate::config::file_stamp::FileStamp;
use crate::config::{Config, mistake_of_file};
use crate::error::Error;
use crate::reload::Reloader;
use crate::telemetry::clock::unix_now;
use crate::ticket_secret::Secret;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};
use tokio::time::MissedTickBehavior;

/// Interval at which files are checked. A ticket key that another gate wrote must be read before it
/// seals its first ticket.
const CHECK_EVERY: Duration = Duration::from_secs(1);
/// How long the same fault is not logged again.
const AGAIN: Duration = Duration::from_secs(60);

/// The key that names the file of ticket keys.
const KEY: &str = "tls.ticket_keys";

/// The ticket keys of a gate, and the file that they are kept in.
pub struct TicketKeys {
    /// The keys.
    pub keyring: Arc<Keyring>,
    file: Option<(PathBuf, Mutex<KeyFile>)>,
    /// A fleet has the keys: the file only keeps them.
    of_fleet: bool,
    source: String,
}

impl TicketKeys {
    /// The keys of the configured file, or without one those of the gate `before`, or new ones.
    ///
    /// # Errors
    /// The file cannot be used, or the system's random generator failed.
    pub fn new(config: &Config, before: Vec<Secret>) -> Result<Self, Error> {
        let random = |_| Error::Certificate(rustls::Error::FailedToGetRandomBytes);
        let (lifetime, rotation) = (config.tls.ticket_lifetime, config.tls.ticket_rotation);
        let (keyring, file) = match &config.tls.ticket_keys {
            None => {
                let keyring = match &before[..] {
                    [] => Keyring::new(lifetime, rotation, unix_now()),
                    keys => Keyring::of(keys, lifetime, rotation),
                };
                (keyring.map_err(random)?, None)
            }
            Some(path) => {
                let wrong = |problem| {
                    Error::TicketKeys(mistake_of_file(&config.source, KEY, path, problem))
                };
                let (file, keys) = KeyFile::open(path, unix_now()).map_err(wrong)?;
                let keyring = Keyring::of(&keys, lifetime, rotation).map_err(random)?;
                (keyring, Some((path.clone(), Mutex::new(file))))
            }
        };
        let of_fleet = config.files.fleet.is_some();
        Ok(Self { keyring: Arc::new(keyring), file, of_fleet, source: config.source.clone() })
    }

    /// Reads the file again, and makes it if it is not there. After a mistake, which is
    /// logged, the keys stay as they were.
    pub fn reopen(&self) {
        if let Some((path, file)) = self.file.as_ref().filter(|_| !self.of_fleet) {
            let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
            if let Err(problem) = file.reopen(&self.keyring, unix_now()) {
                tracing::error!("{}", mistake_of_file(&self.source, KEY, path, problem));
            }
        }
    }

    /// Brings keys and file up to date at this time, in seconds since 1970.
    ///
    /// # Errors
    /// What is wrong; the keys stay as they were.
    fn tick(&self, now: u64) -> Result<(), String> {
        let Some((path, file)) = &self.file else {
            if self.of_fleet {
                return Ok(());
            }
            let rotated = self.keyring.rotate(now);
            return rotated.map(|_| ()).map_err(|_| "the system has no random numbers".into());
        };
        let mut file = file.lock().unwrap_or_else(PoisonError::into_inner);
        let result =
            if self.of_fleet { file.keep(&self.keyring) } else { file.tick(&self.keyring, now) };
        result.map_err(|problem| mistake_of_file(&self.source, KEY, path, problem).to_string())
    }
}

/// Keeps everything up to date, until dropped.
pub async fn run(keys: Arc<TicketKeys>, reloader: Arc<Reloader>) {
    let mut fault = LastingFault::default();
    let mut certificates = CertificateWatch::default();
    let mut interval = tokio::time::interval(CHECK_EVERY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        fault.note(keys.tick(unix_now()));
        certificates.check(&reloader, Instant::now());
    }
}

/// Notices that files of certificates have changed.
#[derive(Default)]
struct CertificateWatch {
    checked: Option<Instant>,
    /// Changed files as they were at the last check.
    changed: Option<Stamps>,
    /// Files that were read and had a fault.
    faulty: Option<Stamps>,
}

type Stamps = Vec<(PathBuf, Option<FileStamp>)>;

impl CertificateWatch {
    /// Checks the files if it is time, and has them read again if they have changed. They
    /// are read once they are the same at two checks: whoever replaces a certificate and its
    /// key does so one after the other.
    fn check(&mut self, reloader: &Reloader, now: Instant) {
        let config = reloader.config();
        let interval = config.tls.reload_interval;
        let recently = |checked: Instant| now.duration_since(checked) < interval;
        if interval.is_zero() || (self.changed.is_none() && self.checked.is_some_and(recently)) {
            return;
        }
        self.checked = Some(now);
        let stamps = Some(config.stamps());
        if stamps.as_ref() == Some(&config.files.stamps) || stamps == self.faulty {
            self.changed = None;
        } else if stamps != self.changed {
            self.changed = stamps;
        } else {
            self.changed = None;
            let reloaded = reloader.reload(Config::with_files_read_again);
            self.faulty = if reloaded { None } else { stamps };
        }
    }
}

/// Logs a fault that lasts once a minute.
#[derive(Default)]
struct LastingFault {
    logged: Option<(String, Instant)>,
}

impl LastingFault {
    fn note(&mut self, result: Result<(), String>) {
        let Err(reason) = result else { return self.logged = None };
        let recently = |(text, at): &(String, Instant)| *text == reason && at.elapsed() < AGAIN;
        if !self.logged.as_ref().is_some_and(recently) {
            tracing::error!("{reason}; the former ticket keys stay");
            self.logged = Some((reason, Instant::now()));
        }
    }
}
