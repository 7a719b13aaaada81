//! The keyring of a file: keys that others wrote are taken over, and new ones written, so
//! that a restart makes nobody a stranger and several gates recognise each other's customers.
//!
//! Writers take turns by a lock on the file that they replace. A new key is written some
//! seconds before it seals its first ticket: by then every gate has it.

use crate::admission::rotation::renewed;
use crate::admission::tickets::Keyring;
use crate::config::file_stamp::FileStamp;
use crate::config::ticket_keys::{damaged, read, unwritable, write};
use crate::ticket_secret::{NAME_LEN, Secret};
use std::fs::TryLockError;
use std::path::{Path, PathBuf};
use tidegate_config::Problem;

/// A file of ticket keys.
#[derive(Debug)]
pub struct KeyFile {
    path: PathBuf,
    /// The file as it was when it was last looked at.
    seen: Option<FileStamp>,
    /// Names of the keys that [`KeyFile::keep`] wrote last.
    kept: Vec<[u8; NAME_LEN]>,
}

impl KeyFile {
    /// Opens the file, and makes it with one new key if it is not there.
    ///
    /// # Errors
    /// The fault of the file and a remedy.
    pub fn open(path: &Path, now: u64) -> Result<(Self, Vec<Secret>), Problem> {
        let (keys, file) = match read(path)? {
            Some(found) => found,
            None => {
                write(path, &[Secret::random(now).map_err(|_| no_random())?], false)?;
                // Another gate may have made it at the same moment.
                read(path)?.ok_or_else(|| gone(path))?
            }
        };
        let seen = FileStamp::of_open(&file);
        Ok((Self { path: path.to_owned(), seen, kept: Vec::new() }, keys))
    }

    /// Reads the file again, and makes it if it is not there.
    ///
    /// # Errors
    /// The fault of the file and a remedy; the keyring stays as it was.
    pub fn reopen(&mut self, keyring: &Keyring, now: u64) -> Result<(), Problem> {
        let (file, keys) = Self::open(&self.path, now)?;
        *self = file;
        adopt(keyring, &keys)
    }

    /// Takes over keys that others wrote, and writes a new one when it is time. Call it
    /// about once a second.
    ///
    /// # Errors
    /// The fault of the file and a remedy; the keyring stays as it was. The same fault is
    /// reported once, until the file changes or the next key is due.
    pub fn tick(&mut self, keyring: &Keyring, now: u64) -> Result<(), Problem> {
        let stamp = FileStamp::of(&self.path);
        if stamp != self.seen {
            self.seen = stamp;
            let (keys, _) = read(&self.path)?.ok_or_else(|| gone(&self.path))?;
            adopt(keyring, &keys)?;
        }
        if keyring.is_due(now) { self.rotate(keyring, now) } else { Ok(()) }
    }

    /// Writes the keys that the keyring has from a fleet, if they have changed: a gate that starts
    /// while NATS is gone begins with them.
    ///
    /// # Errors
    /// It could not be written, and a remedy.
    pub fn keep(&mut self, keyring: &Keyring) -> Result<(), Problem> {
        let keys = keyring.secrets();
        let names = keys.iter().map(|key| key.name).collect();
        if self.kept != names {
            write(&self.path, &keys, true)?;
            self.kept = names;
        }
        Ok(())
    }

    /// Writes a new key, unless another gate has.
    fn rotate(&mut self, keyring: &Keyring, now: u64) -> Result<(), Problem> {
        let (keys, file) = read(&self.path)?.ok_or_else(|| gone(&self.path))?;
        match file.try_lock() {
            Ok(()) => {}
            // Another gate writes; the next look shows what.
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Error(error)) => return Err(unwritable(&self.path, &error)),
        }
        let ours = FileStamp::of_open(&file);
        if ours != FileStamp::of(&self.path) || !keyring.begins_with(&keys) {
            // Another gate wrote it before the lock was ours: the next look shows what.
            self.seen = None;
            return Ok(());
        }
        let Some(keys) = renewed(keyring, keys, now).map_err(|_| no_random())? else {
            return Ok(());
        };
        write(&self.path, &keys, true)?;
        // Another gate may have replaced it since: the next look reads it once more.
        self.seen = None;
        adopt(keyring, &keys)
    }
}

fn no_random() -> Problem {
    Problem::new("cannot get a new key: the system has no random numbers", "")
}

fn adopt(keyring: &Keyring, keys: &[Secret]) -> Result<(), Problem> {
    keyring.adopt(keys).map_err(|_| damaged("a key cannot be used"))
}

fn gone(path: &Path) -> Problem {
    Problem::new(
        "is not there any more",
        format!("put {} back, or reload to make new keys", path.display()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::tickets::{Claims, Holder, Terms};
    use std::os::unix::fs::PermissionsExt;
    use std::time::Duration;

    const LIFETIME_S: u64 = 3_600;
    const ROTATION_S: u64 = 600;

    fn keyring(keys: &[Secret]) -> Keyring {
        let (lifetime, rotation) =
            (Duration::from_secs(LIFETIME_S), Duration::from_secs(ROTATION_S));
        Keyring::of(keys, lifetime, rotation).unwrap()
    }

    fn seal(keyring: &Keyring, issued: u64) -> Vec<u8> {
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let session = [7; 16];
        let (began, uses, server_name, client_auth) = (issued, 0, 0, 0);
        let holder = Holder::Session;
        let claims =
            Claims { session, holder, began, issued, uses, terms, server_name, client_auth };
        keyring.seal(&claims, b"state").unwrap()
    }

    /// A gate with the file at a path.
    fn gate(path: &Path, now: u64) -> (KeyFile, Keyring) {
        let (file, keys) = KeyFile::open(path, now).unwrap();
        (file, keyring(&keys))
    }

    fn mode(path: &Path) -> u32 {
        std::fs::metadata(path).unwrap().permissions().mode() & 0o7777
    }

    #[test]
    fn a_ticket_opens_after_a_restart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let ticket = seal(&gate(&path, 1_000).1, 1_010);
        assert_eq!(mode(&path), 0o600);
        assert!(gate(&path, 1_020).1.open(&ticket, 1_020).is_ok());
    }

    #[test]
    fn the_key_is_replaced_on_time_and_old_tickets_open_until_they_expire() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let (mut file, keyring) = gate(&path, 1_000);
        let ticket = seal(&keyring, 1_599);
        let text = || std::fs::read_to_string(&path).unwrap();
        let keys = || text().lines().filter(|line| line.starts_with("key ")).count();
        file.tick(&keyring, 1_599).unwrap();
        assert_eq!(keys(), 1);
        file.tick(&keyring, 1_600).unwrap();
        assert_eq!((keys(), mode(&path)), (2, 0o600));
        assert!(keyring.open(&ticket, 1_700).is_ok());
        let mut now = 1_600;
        while now < 50_000 {
            now += 30;
            file.tick(&keyring, now).unwrap();
            assert!(keys() <= 10, "{}", text());
        }
        assert!(keyring.open(&ticket, 1_700).is_err(), "its key is gone");
    }

    #[test]
    fn of_several_gates_one_writes_the_next_key_and_no_ticket_is_foreign_to_another() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let mut gates = [gate(&path, 0), gate(&path, 0), gate(&path, 0)];
        for now in 0..4_000 {
            let at = (now % 3) as usize;
            // Each looks at the file every third second only.
            let (file, keyring) = &mut gates[at];
            file.tick(keyring, now).unwrap();
            let ticket = seal(keyring, now);
            for (_, other) in &gates {
                assert!(other.open(&ticket, now).is_ok(), "second {now}");
            }
        }
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text.lines().filter(|line| line.starts_with("key ")).count(), 7);
    }

    #[test]
    fn a_damaged_file_is_reported_once_and_the_keys_stay() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let (mut file, keyring) = gate(&path, 1_000);
        let ticket = seal(&keyring, 1_000);
        let whole = std::fs::read(&path).unwrap();
        for length in 0..whole.len() {
            std::fs::write(&path, &whole[..length]).unwrap();
            let problem = file.tick(&keyring, 1_001).unwrap_err();
            assert!(problem.rule.starts_with("is no file of ticket keys"), "{problem:?}");
            assert!(KeyFile::open(&path, 1_001).is_err(), "at the start it is an error");
            assert!(keyring.open(&ticket, 1_002).is_ok());
        }
        file.tick(&keyring, 1_002).unwrap();
        // It is not overwritten either.
        assert!(file.tick(&keyring, 9_000).is_err());
        std::fs::write(&path, &whole).unwrap();
        file.tick(&keyring, 9_001).unwrap();
    }

    #[test]
    fn every_changed_byte_of_a_key_is_noticed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        drop(gate(&path, 1_000));
        let whole = std::fs::read(&path).unwrap();
        for at in 0..whole.len() {
            let mut changed = whole.clone();
            changed[at] ^= 1;
            std::fs::write(&path, &changed).unwrap();
            assert!(KeyFile::open(&path, 1_001).is_err(), "byte {at}");
        }
    }

    #[test]
    fn a_file_that_others_may_read_is_refused_with_a_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        drop(gate(&path, 1_000));
        for others in [0o640, 0o604, 0o620] {
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(others)).unwrap();
            let problem = KeyFile::open(&path, 1_001).unwrap_err();
            assert!(problem.rule.contains(&format!("(mode 0{others:o})")), "{problem:?}");
            assert_eq!(problem.remedy, format!("chmod 600 {}", path.display()));
        }
    }

    #[test]
    fn a_deleted_file_is_missed_and_made_anew_by_a_reload_only() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("keys");
        let (mut file, keyring) = gate(&path, 1_000);
        let ticket = seal(&keyring, 1_000);
        std::fs::remove_file(&path).unwrap();
        assert!(file.tick(&keyring, 1_001).unwrap_err().rule.contains("not there any more"));
        assert!(keyring.open(&ticket, 1_001).is_ok());
        file.reopen(&keyring, 1_002).unwrap();
        assert!(keyring.open(&ticket, 1_002).is_err(), "these keys are revoked");
        assert!(path.is_file());
    }
}
