//! Files of ticket keys.
//!
//! Such a file is text: a line that names its format, a line for each key (name, the second
//! since 1970 from which it seals, secret), and the SHA-256 of all of that. It is replaced as
//! a whole, by rename, so that a reader never sees half of it.

use crate::ticket_secret::{NAME_LEN, SECRET_LEN, Secret};
use aws_lc_rs::digest::{SHA256, digest};
use std::fmt::Write as _;
use std::fs::{File, OpenOptions};
use std::io::{ErrorKind, Read, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt};
use std::path::Path;
use tidegate_config::Problem;
use zeroize::Zeroizing;

/// The first line of a file.
const FORMAT: &str = "tidegate ticket keys, format 1";
/// Largest file that is read, in bytes: more than the keys of the longest lifetime with the
/// shortest rotation take.
const MOST_BYTES: u64 = 64 << 10;

/// Checks a file of ticket keys, if there is one, without changing anything.
///
/// # Errors
/// Its fault and a remedy; also if it is not there and could not be made.
pub fn check(path: &Path) -> Result<(), Problem> {
    match read(path)? {
        Some(_) => Ok(()),
        None if folder(path).is_dir() => Ok(()),
        None => Err(Problem::new(
            format!("cannot be made: there is no folder {}", folder(path).display()),
            "make the folder, writable by the gate's user",
        )),
    }
}

/// Reads a file of ticket keys, the newest first; `None` if it is not there.
///
/// # Errors
/// Its fault and a remedy.
pub fn read(path: &Path) -> Result<Option<(Vec<Secret>, File)>, Problem> {
    let unreadable = |error: std::io::Error| {
        let remedy = format!("let the gate's user read and write {}", path.display());
        Problem::new(format!("cannot be read ({error})"), remedy)
    };
    // A pipe in its place must not block.
    let opened = OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK).open(path);
    let mut file = match opened {
        Ok(file) => file,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => return Err(unreadable(error)),
    };
    let meta = file.metadata().map_err(unreadable)?;
    if !meta.is_file() {
        return Err(Problem::new("is not a file", "name a file, or one to be made"));
    }
    let mode = meta.mode() & 0o7777;
    if mode & 0o077 != 0 {
        let rule =
            format!("may be used by others (mode {mode:04o}), who could read customers' traffic");
        return Err(Problem::new(rule, format!("chmod 600 {}", path.display())));
    }
    let mut text = Zeroizing::new(String::with_capacity(MOST_BYTES as usize + 1));
    let read = (&mut file).take(MOST_BYTES + 1).read_to_string(&mut text);
    match read {
        Ok(_) if text.len() as u64 > MOST_BYTES => Err(damaged("it is larger than 64 KiB")),
        Ok(_) => Ok(Some((parse(&text)?, file))),
        Err(error) if error.kind() == ErrorKind::InvalidData => Err(damaged("it is not text")),
        Err(error) => Err(unreadable(error)),
    }
}

/// Reads the text of a file, the newest key first; at least one.
///
/// # Errors
/// Its fault and a remedy.
pub fn parse(text: &str) -> Result<Vec<Secret>, Problem> {
    let Some(lines) = text.strip_prefix(FORMAT).and_then(|rest| rest.strip_prefix('\n')) else {
        return Err(match text.is_empty() {
            true => damaged("it is empty"),
            false => damaged(&format!("its first line is not \"{FORMAT}\"")),
        });
    };
    let (body, sum) = text.rsplit_once("sha256 ").ok_or_else(|| damaged("it is cut off"))?;
    if sum.strip_suffix('\n') != Some(&*hex(digest(&SHA256, body.as_bytes()).as_ref())) {
        return Err(damaged("it is cut off or was changed: its sum is wrong"));
    }
    let keys = lines.lines().take_while(|line| !line.starts_with("sha256 "));
    let keys: Option<Vec<_>> = keys.map(parse_key).collect();
    let mut keys = keys.ok_or_else(|| damaged("a line is no key"))?;
    if keys.is_empty() {
        return Err(damaged("it has no key"));
    }
    keys.sort_by_key(|key| std::cmp::Reverse(key.since));
    Ok(keys)
}

/// Reads `key NAME SINCE SECRET`.
fn parse_key(line: &str) -> Option<Secret> {
    let mut words = line.strip_prefix("key ")?.split(' ');
    let mut name = [0; NAME_LEN];
    let mut secret = Zeroizing::new(vec![0; SECRET_LEN]);
    unhex(words.next()?, &mut name)?;
    let since = words.next()?.parse().ok()?;
    unhex(words.next()?, &mut secret)?;
    words.next().is_none().then_some(Secret { name, since, secret })
}

/// Writes a file as a whole. If it may not `replace` one, it leaves one that is there.
///
/// # Errors
/// It could not be written, and a remedy.
pub fn write(path: &Path, keys: &[Secret], replace: bool) -> Result<(), Problem> {
    let failed = |error: std::io::Error| unwritable(path, &error);
    let text = text(keys);
    let folder = folder(path);
    // Only its owner may read it.
    let mut file = tempfile::NamedTempFile::new_in(folder).map_err(failed)?;
    file.write_all(text.as_bytes()).map_err(failed)?;
    file.as_file().sync_all().map_err(failed)?;
    let persisted = match replace {
        true => file.persist(path),
        false => file.persist_noclobber(path),
    };
    match persisted {
        Err(error) if !replace && error.error.kind() == ErrorKind::AlreadyExists => {}
        persisted => drop(persisted.map_err(|error| failed(error.error))?),
    }
    // The rename itself must survive a loss of power, where the system can make it so.
    let _ = File::open(folder).and_then(|folder| folder.sync_all());
    Ok(())
}

/// The text of a file with these keys.
pub fn text(keys: &[Secret]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(MOST_BYTES as usize));
    let _ = writeln!(text, "{FORMAT}");
    for key in keys {
        let secret = hex(&key.secret);
        let _ = writeln!(text, "key {} {} {}", *hex(&key.name), key.since, *secret);
    }
    let sum = hex(digest(&SHA256, text.as_bytes()).as_ref());
    let _ = writeln!(text, "sha256 {}", *sum);
    text
}

fn folder(path: &Path) -> &Path {
    path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The problem of a file that is not as it was written.
pub fn damaged(how: &str) -> Problem {
    let remedy = "restore it, or delete it: with new keys each customer counts as new once";
    Problem::new(format!("is no file of ticket keys: {how}"), remedy)
}

/// The problem of a file that cannot be written.
pub fn unwritable(path: &Path, error: &std::io::Error) -> Problem {
    let folder = folder(path).display();
    let remedy = format!("let the gate's user write in {folder}, where it replaces the file");
    Problem::new(format!("cannot be written ({error})"), remedy)
}

fn hex(bytes: &[u8]) -> Zeroizing<String> {
    let mut text = Zeroizing::new(String::with_capacity(2 * bytes.len()));
    for byte in bytes {
        let _ = write!(text, "{byte:02x}");
    }
    text
}

/// Reads as many bytes as `into` has, in lower or upper case.
fn unhex(text: &str, into: &mut [u8]) -> Option<()> {
    if text.len() != 2 * into.len() || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (byte, digits) in into.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(())
}
