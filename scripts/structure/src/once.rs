//! Concepts that stand once: a second one is a fault, outside the rooms that are named for it.

use std::path::Path;

use anyhow::{Context, Result};

use crate::{source, targets};

/// A concept and where it may stand.
pub struct Concept {
    /// What it is.
    what: &'static str,
    /// Whether a line of source makes one.
    is_made: fn(&str) -> bool,
    /// Files, or folders that end with a slash, with the reason.
    rooms: &'static [(&'static str, &'static str)],
    remedy: &'static str,
}

/// The concepts that are guarded.
pub const CONCEPTS: &[Concept] = &[
    Concept {
        what: "a type `Verdict`",
        is_made: |line| ["enum Verdict ", "struct Verdict "].iter().any(|it| line.contains(it)),
        rooms: &[("crates/stats/src/verdict.rs", "the verdict of an interval")],
        remedy: "use tidegate_stats::Verdict, or a name that says what is decided",
    },
    Concept {
        what: "an HTTP client",
        is_made: makes_http_client,
        rooms: &[
            ("crates/gate/src/upstream/", "the gate's connections to its upstream"),
            ("crates/gate/src/telemetry/usage/load/page.rs", "pages of node_exporter"),
            ("crates/lab/src/http.rs", "pages of the servers of an experiment"),
            (
                "crates/experiment/src/message_client/connection.rs",
                "one connection, whose handshake is measured",
            ),
            ("crates/cli/src/load/otlp/collector.rs", "exports metrics, over TLS with any root"),
            ("sites/kit/src/link/", "links between the tiers of a site"),
            ("sites/kit/src/client.rs", "calls of a site to other services"),
        ],
        remedy: "use the one in crates/lab, or in sites/kit for a site",
    },
];

/// A client of the HTTP library, or a request line that is written by hand.
fn makes_http_client(line: &str) -> bool {
    let library = ["hyper::client", "hyper_util::client", "hyper_rustls"];
    let by_hand = ["\"GET ", "\"POST ", "\"HEAD "];
    library.iter().any(|it| line.contains(it))
        || by_hand.iter().any(|it| line.contains(it)) && line.contains(r" HTTP/1.")
}

/// The places of concepts that stand elsewhere, and rooms without their concept.
///
/// # Errors
/// A file or folder that cannot be read.
pub fn faults(root: &Path, concepts: &[Concept]) -> Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in targets::crates(root)? {
        let folder = folder.join("src");
        if folder.is_dir() {
            source::walk(&folder, &[], &mut files)?;
        }
    }
    files.retain(|file| {
        file.extension().is_some_and(|it| it == "rs")
            && file.file_stem().is_some_and(|name| name != "tests")
    });
    let mut faults = Vec::new();
    for concept in concepts {
        let mut used = vec![false; concept.rooms.len()];
        for file in &files {
            let name = source::shown(root, file);
            let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
            // Unit tests stand at the end of a file.
            let text = text.split("#[cfg(test)]\nmod ").next().unwrap_or_default();
            let code = |line: &&str| !line.trim_start().starts_with("//");
            let Some(at) = text.lines().position(|it| code(&it) && (concept.is_made)(it)) else {
                continue;
            };
            let is_room = |room: &str| match room.ends_with('/') {
                true => name.starts_with(room),
                false => name == room,
            };
            match concept.rooms.iter().position(|(room, _)| is_room(room)) {
                Some(room) => used[room] = true,
                None => faults.push(format!(
                    "{name}:{} makes {}, which stands elsewhere\n  remedy: {}; a room of its own is \
                     named in scripts/structure/src/once.rs, with the reason",
                    at + 1,
                    concept.what,
                    concept.remedy
                )),
            }
        }
        for ((room, reason), used) in concept.rooms.iter().zip(used) {
            if !used {
                faults.push(format!(
                    "{room} ({reason}) is a room of {} and has none\n  remedy: remove it from \
                     scripts/structure/src/once.rs",
                    concept.what
                ));
            }
        }
    }
    Ok(faults)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::tree;

    const THINGS: &[Concept] = &[Concept {
        what: "a thing",
        is_made: |line| line.contains("struct Thing"),
        rooms: &[("crates/a/src/thing.rs", "the thing"), ("crates/a/src/old/", "another")],
        remedy: "use that of crates/a",
    }];

    #[test]
    fn a_second_thing_is_a_fault_but_not_in_tests_or_comments() {
        let manifest = "[package]\nname = \"x\"\n";
        let tree = tree(&[
            ("crates/a/Cargo.toml", manifest),
            ("crates/a/src/thing.rs", "struct Thing;\n"),
            ("crates/a/src/old/one.rs", "struct Thing;\n"),
            ("sites/b/Cargo.toml", manifest),
            ("sites/b/src/lib.rs", "// struct Thing\n\nstruct Thing;\n"),
            ("sites/b/src/other.rs", "#[cfg(test)]\nmod tests {\n    struct Thing;\n}\n"),
        ]);
        let faults = faults(tree.path(), THINGS).unwrap();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("sites/b/src/lib.rs:3 makes a thing"), "{}", faults[0]);
    }

    #[test]
    fn a_room_that_is_empty_is_a_fault() {
        let tree = tree(&[
            ("crates/a/Cargo.toml", "[package]\nname = \"x\"\n"),
            ("crates/a/src/thing.rs", "struct Thing;\n"),
        ]);
        let faults = faults(tree.path(), THINGS).unwrap();
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("crates/a/src/old/ (another) is a room"), "{}", faults[0]);
    }

    #[test]
    fn a_client_is_one_of_the_library_or_a_request_written_by_hand() {
        for (line, expected) in [
            ("use hyper::client::conn::http1;", true),
            (r#"write!(stream, "GET {path} HTTP/1.1\r\nhost: x\r\n\r\n")"#, true),
            (r#"let line = format!("HTTP/1.1 {status}\r\n");"#, false),
            ("use hyper::server::conn::http1;", false),
        ] {
            assert_eq!(makes_http_client(line), expected, "{line}");
        }
    }
}
