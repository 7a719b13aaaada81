//! Processes and their descendants: some servers hand connections to workers
//! that do not hold the listening socket themselves.

use super::kernel::Files;
use std::collections::{BTreeMap, BTreeSet};

/// Most processes looked at, and most generations.
const PROCESSES: usize = 32_768;
const GENERATIONS: usize = 64;

/// The given processes and all their descendants, ascending; never `own` nor
/// what descends from it. Of a process that `own` descends from itself, as of a
/// test that serves and starts a gate, the descendants are left out.
pub fn with_descendants(files: &Files, heads: &[u32], own: u32) -> Vec<u32> {
    let parents = parents(files);
    let lineage = |pid: u32| {
        std::iter::successors(parents.get(&pid).copied(), |pid| parents.get(pid).copied())
            .take(GENERATIONS)
    };
    let ancestors: BTreeSet<u32> = lineage(own).collect();
    let founders: BTreeSet<u32> =
        heads.iter().copied().filter(|head| !ancestors.contains(head)).collect();
    let descends = |pid: &u32| {
        let mut of_founder = false;
        for ancestor in lineage(*pid) {
            if ancestor == own {
                return false;
            }
            of_founder |= founders.contains(&ancestor);
        }
        of_founder
    };
    let mut family: BTreeSet<u32> = parents.keys().copied().filter(descends).collect();
    family.extend(heads);
    family.remove(&own);
    family.into_iter().collect()
}

/// Parent of each process.
fn parents(files: &Files) -> BTreeMap<u32, u32> {
    let Ok(names) = files.names("/proc") else { return BTreeMap::new() };
    let pids = names.filter_map(|name| name.parse::<u32>().ok()).take(PROCESSES);
    pids.filter_map(|pid| Some((pid, parse_parent(&files.read(format!("/proc/{pid}/stat"))?)?)))
        .collect()
}

/// The parent in the text of `/proc/PID/stat`: `pid (name) state parent …`,
/// where the name may hold anything, also `)`.
///
/// Source: `proc_pid_stat(5)`.
fn parse_parent(stat: &str) -> Option<u32> {
    stat.rsplit_once(')')?.1.split_whitespace().nth(1)?.parse().ok()
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
    fn the_gate_and_its_children_never_do() {
        let (_root, files) = host(&[(1, 0), (10, 1), (20, 10), (21, 20), (22, 10)]);
        assert_eq!(with_descendants(&files, &[10], 20), [10]);
        assert_eq!(with_descendants(&files, &[21], 20), [21], "unless it listens itself");
    }

    #[test]
    fn a_circle_of_parents_ends() {
        let (_root, files) = host(&[(10, 11), (11, 10), (12, 12)]);
        assert_eq!(with_descendants(&files, &[10], 99), [10, 11]);
    }
}
