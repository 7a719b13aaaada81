//! Reads the text of a file that people write.

use std::io;
use std::path::Path;

use crate::bounded::read_bytes;
use crate::mistake::{Mistake, Problem};
use crate::one_line::one_sentence;

/// Largest file that is read.
const LARGEST: u64 = 64 << 20;

/// The text of a file.
///
/// # Errors
/// It is not there, a folder, empty, too large, or no text in UTF-8.
pub fn read_file(path: &Path) -> Result<String, Mistake> {
    let Problem { rule, remedy } = match text_of(path) {
        Ok(text) => return Ok(text),
        Err(problem) => problem,
    };
    let place = one_sentence(&path.to_string_lossy());
    Err(Mistake { place, key: String::new(), value: String::new(), rule, remedy })
}

fn text_of(path: &Path) -> Result<String, Problem> {
    const ANOTHER: &str = "name a file that is there";
    let unreadable = |error: io::Error| match error.kind() {
        io::ErrorKind::NotFound => Problem::new("there is no such file", ANOTHER),
        io::ErrorKind::IsADirectory => Problem::new("is a folder", "name a file in it"),
        io::ErrorKind::PermissionDenied => {
            Problem::new("may not be read by this user", "change its permissions (chmod)")
        }
        io::ErrorKind::FileTooLarge => {
            Problem::new(error.to_string(), "name a file of configuration")
        }
        _ => Problem::new(format!("cannot be read: {error}"), ANOTHER),
    };
    let bytes = read_bytes(path, LARGEST).map_err(unreadable)?;
    if bytes.trim_ascii().is_empty() {
        return Err(Problem::new("is empty", "write its content, or name another file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let valid = &error.as_bytes()[..error.utf8_error().valid_up_to()];
        let line = 1 + valid.iter().filter(|byte| **byte == b'\n').count();
        Problem::new(
            format!("is not text in UTF-8, from line {line} on"),
            "save it as UTF-8, or name a text file",
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_no_text_file_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let file = |name: &str, bytes: &[u8]| {
            std::fs::write(folder.path().join(name), bytes).unwrap();
            name.to_owned()
        };
        for (name, expected) in [
            (String::new(), ": is a folder; name a file in it"),
            ("none".to_owned(), "none: there is no such file; name a file that is there"),
            (file("empty", b" \n"), "empty: is empty; write its content, or name another file"),
            (
                file("latin", b"a = 1\nb = \"\xE9\"\n"),
                "latin: is not text in UTF-8, from line 2 on;",
            ),
        ] {
            let mistake = read_file(&folder.path().join(name)).unwrap_err().to_string();
            let shown = mistake.rsplit('/').next().unwrap();
            assert!(shown.starts_with(expected), "{shown}");
        }
        let endless = read_file(Path::new("/dev/zero")).unwrap_err().to_string();
        assert_eq!(endless, "/dev/zero: has more than 64 MiB; name a file of configuration");
        let name = file("good", b"a = 1\n");
        assert_eq!(read_file(&folder.path().join(name)).unwrap(), "a = 1\n");
    }
}
