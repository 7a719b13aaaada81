//! Processes and their descendants. Some servers pass connections to workers that do not
//! hold the listening socket themselves.

use std::collections::{BTreeMap, BTreeSet};

use crate::Files;

/// Most processes that one search reads.
const PROCESSES: usize = 32_768;
/// Most generations that a search follows upwards.
const GENERATIONS: usize = 64;

/// The given processes and all their descendants, ascending, without `own` and its
/// descendants. The descendants of an ancestor of `own` are left out too, as of a test
/// that serves and starts a gate.
pub fn with_descendants(files: &Files, heads: &[u32], own: u32) -> Vec<u32> {
    let parents = parents(files);
    let ancestors_of = |pid: u32| {
        std::iter::successors(parents.get(&pid).copied(), |pid| parents.get(pid).copied())
            .take(GENERATIONS)
    };
    let own_ancestors: BTreeSet<u32> = ancestors_of(own).collect();
    let roots: BTreeSet<u32> =
        heads.iter().copied().filter(|head| !own_ancestors.contains(head)).collect();
    let descends = |pid: &u32| {
        let mut from_root = false;
        for ancestor in ancestors_of(*pid) {
            if ancestor == own {
                return false;
            }
            from_root |= roots.contains(&ancestor);
        }
        from_root
    };
    let mut found: BTreeSet<u32> = parents.keys().copied().filter(descends).collect();
    found.extend(heads);
    found.remove(&own);
    found.into_iter().collect()
}

/// A process and all its descendants, as the kernel lists the children of each: parents
/// come before their children. Unlike [`with_descendants`] it reads nothing of other
/// processes.
///
/// Source: `proc_tid_children(5)`.
pub fn family(files: &Files, head: u32) -> Vec<u32> {
    let mut family = vec![head];
    let mut next = 0;
    while next < family.len() && family.len() < PROCESSES {
        family.extend(children(files, family[next]));
        next += 1;
    }
    family
}

fn children(files: &Files, pid: u32) -> Vec<u32> {
    let tasks = files.names(format!("/proc/{pid}/task")).into_iter().flatten();
    let lists = tasks.filter_map(|task| files.read(format!("/proc/{pid}/task/{task}/children")));
    lists
        .flat_map(|list| list.split_whitespace().flat_map(str::parse).collect::<Vec<_>>())
        .collect()
}

/// When a process started, in the kernel's ticks since boot; `None` if it has ended.
///
/// Source: `proc_pid_stat(5)`.
pub fn started(files: &Files, pid: u32) -> Option<u64> {
    fields_after_name(&files.read(format!("/proc/{pid}/stat"))?)?.nth(19)?.parse().ok()
}

/// The name of a process (`comm`, at most 15 bytes); `None` if it has ended.
///
/// Source: `proc_pid_comm(5)`.
pub fn name(files: &Files, pid: u32) -> Option<String> {
    Some(files.read(format!("/proc/{pid}/comm"))?.trim().to_owned())
}

/// The processes of a name (`comm`, at most 15 bytes), ascending.
pub fn named(files: &Files, wanted: &str) -> Vec<u32> {
    let mut found: Vec<u32> = all(files)
        .take(PROCESSES)
        .filter(|pid| name(files, *pid).is_some_and(|name| name == wanted))
        .collect();
    found.sort_unstable();
    found
}

/// Bytes that a process and the children that it has waited for have read from disks and written to
/// them; `None` where the kernel does not say, as of a process of somebody else.
///
/// Source: `proc_pid_io(5)`, `read_bytes` and `write_bytes`.
pub fn disk_bytes(files: &Files, pid: u32) -> Option<u64> {
    parse_disk_bytes(&files.read(format!("/proc/{pid}/io"))?)
}

fn parse_disk_bytes(io: &str) -> Option<u64> {
    let figure = |name: &str| {
        let mut lines = io.lines().filter_map(|line| line.split_once(':'));
        lines.find(|(key, _)| *key == name)?.1.trim().parse::<u64>().ok()
    };
    figure("read_bytes")?.checked_add(figure("write_bytes")?)
}

/// The numbers of all processes, in no order.
pub(crate) fn all(files: &Files) -> impl Iterator<Item = u32> {
    let names = files.names("/proc").into_iter().flatten();
    names.filter_map(|name| name.parse().ok())
}

/// The parent of each process.
fn parents(files: &Files) -> BTreeMap<u32, u32> {
    let parent = |pid| parse_parent(&files.read(format!("/proc/{pid}/stat"))?);
    all(files).take(PROCESSES).filter_map(|pid| Some((pid, parent(pid)?))).collect()
}

/// The parent in the text of `/proc/PID/stat`: `pid (name) state parent …`, where the
/// name may hold anything, also `)`.
///
/// Not by procfs's `Stat`: it parses all 52 fields of each of up to 32,768 processes, and
/// indexes out of bounds where the parentheses do not stand as expected.
///
/// Source: `proc_pid_stat(5)`.
fn parse_parent(stat: &str) -> Option<u32> {
    fields_after_name(stat)?.nth(1)?.parse().ok()
}

/// The fields from `state` on in the text of `/proc/PID/stat`.
fn fields_after_name(stat: &str) -> Option<impl Iterator<Item = &str>> {
    Some(stat.rsplit_once(')')?.1.split_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parent_is_found_behind_any_name() {
        assert_eq!(parse_parent("18147 (python3) S 18106 18096 0"), Some(18_106));
        assert_eq!(parse_parent("1 (a) R 7 (b) ) S 9 1"), Some(9));
        for bad in ["", "1 (a", "1 (a) S", "1 (a) S -1", "1 (a) S x"] {
            assert_eq!(parse_parent(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_went_to_disks_is_read_of_the_two_lines_that_say_so() {
        let io =
            "rchar: 9\nwchar: 9\nread_bytes: 4096\nwrite_bytes: 8192\ncancelled_write_bytes: 1\n";
        assert_eq!(parse_disk_bytes(io), Some(12_288));
        for bad in ["", "read_bytes: 1\n", "read_bytes: x\nwrite_bytes: 1\n"] {
            assert_eq!(parse_disk_bytes(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn this_process_is_found_by_its_name() {
        let files = Files::new("/");
        let own = name(&files, std::process::id()).unwrap();
        assert!(named(&files, &own).contains(&std::process::id()));
        assert!(named(&files, "no such name/").is_empty());
    }

    #[test]
    fn a_family_is_a_process_its_children_and_theirs() {
        let root = tempfile::tempdir().unwrap();
        for (pid, task, children) in [(7, 7, "8 9 "), (7, 70, "10 "), (9, 9, "11 "), (11, 11, "")] {
            let folder = root.path().join(format!("proc/{pid}/task/{task}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("children"), children).unwrap();
        }
        let mut found = family(&Files::new(root.path()), 7);
        assert_eq!(found[0], 7);
        found.sort_unstable();
        assert_eq!(found, [7, 8, 9, 10, 11]);
    }

    #[test]
    fn the_start_of_a_process_tells_it_from_a_later_one_and_ends_with_it() {
        let files = Files::new("/");
        let own = started(&files, std::process::id()).unwrap();
        let mut child = std::process::Command::new("true").spawn().unwrap();
        assert!(started(&files, child.id()).unwrap() >= own);
        child.wait().unwrap();
        assert_eq!(started(&files, child.id()), None);
    }

    fn host(parents: &[(u32, u32)]) -> (tempfile::TempDir, Files) {
        let root = tempfile::tempdir().unwrap();
        for (pid, parent) in parents {
            let folder = root.path().join(format!("proc/{pid}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("stat"), format!("{pid} (x) S {parent} 1")).unwrap();
        }
        let files = Files::new(root.path());
        (root, files)
    }

    #[test]
    fn workers_and_their_children_belong_to_the_server() {
        let (_root, files) = host(&[(1, 0), (10, 1), (11, 10), (12, 11), (20, 1), (30, 20)]);
        assert_eq!(with_descendants(&files, &[10], 20), [10, 11, 12]);
    }

    #[test]
    fn the_own_process_and_its_children_never_do() {
        let (_root, files) = host(&[(1, 0), (10, 1), (20, 10), (21, 20), (22, 10)]);
        assert_eq!(with_descendants(&files, &[10], 20), [10]);
        assert_eq!(with_descendants(&files, &[21], 20), [21], "unless it is given itself");
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let (_root, files) = host(&[(10, 11), (11, 10), (12, 12)]);
        assert_eq!(with_descendants(&files, &[10], 99), [10, 11]);
    }
}
