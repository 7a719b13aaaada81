//! Circles: files that import each other, directly or over others. An import
//! counts from the file that names an item to the file that defines it;
//! re-exports on the way are looked through.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::Result;

use crate::module::Tree;
use crate::source::shown;

/// Which circles are faults.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scope {
    /// Those through files of at least two folders.
    BetweenFolders,
    /// All.
    WithinFolders,
}

/// One import: its line and the path as written.
type Import = (usize, String);

/// From each file to the files it imports from.
type Graph = BTreeMap<PathBuf, BTreeMap<PathBuf, Vec<Import>>>;

/// The circles of the target with this root file, one message for each group of
/// files that are tied together.
///
/// # Errors
/// A file that cannot be read or parsed.
pub fn faults(root: &Path, target: &Path, scope: Scope) -> Result<Vec<String>> {
    let tree = Tree::read(target)?;
    let folders = folders(&tree);
    let graph = graph(&tree);
    Ok(tied(&graph)
        .into_iter()
        .filter(|files| {
            let folders: BTreeSet<_> = files.iter().map(|file| &folders[file]).collect();
            scope == Scope::WithinFolders || folders.len() > 1
        })
        .map(|files| message(root, &graph, &folders, &files, scope))
        .collect())
}

/// The folder of each file, as the path of a module. A module with modules in
/// files of their own stands in its own folder, as `mod.rs` does; without, in
/// its parent's.
fn folders(tree: &Tree) -> BTreeMap<PathBuf, Vec<String>> {
    let mut folders = BTreeMap::new();
    for module in &tree.modules {
        let own_file = |child: &usize| tree.modules[*child].file != module.file;
        let mut folder = module.path.clone();
        if !module.children.values().any(own_file) {
            folder.pop();
        }
        // The first module of a file is the file's; blocks within it follow.
        folders.entry(module.file.clone()).or_insert(folder);
    }
    folders
}

fn graph(tree: &Tree) -> Graph {
    let mut graph = Graph::new();
    for (index, module) in tree.modules.iter().enumerate() {
        let imports = graph.entry(module.file.clone()).or_default();
        for mention in &module.mentions {
            if let Some(file) = tree.defining_file(index, &mention.path)
                && file != module.file
            {
                imports
                    .entry(file.to_owned())
                    .or_default()
                    .push((mention.line, mention.path.join("::")));
            }
        }
    }
    graph
}

/// The groups of two or more files of which each reaches every other.
fn tied(graph: &Graph) -> Vec<BTreeSet<PathBuf>> {
    let reached: BTreeMap<&PathBuf, BTreeSet<&PathBuf>> =
        graph.keys().map(|file| (file, reached_from(graph, file))).collect();
    let mut groups: BTreeSet<BTreeSet<PathBuf>> = BTreeSet::new();
    for (file, reaches) in &reached {
        if reaches.contains(file) {
            groups.insert(
                reaches
                    .iter()
                    .filter(|other| reached[*other].contains(file))
                    .map(|file| (*file).clone())
                    .collect(),
            );
        }
    }
    groups.into_iter().collect()
}

fn reached_from<'graph>(graph: &'graph Graph, start: &PathBuf) -> BTreeSet<&'graph PathBuf> {
    let mut reached = BTreeSet::new();
    let mut open: Vec<&PathBuf> = graph[start].keys().collect();
    while let Some(file) = open.pop() {
        if reached.insert(file) {
            open.extend(graph[file].keys());
        }
    }
    reached
}

/// The shortest way from `start` back to itself by way of `next`, within `files`.
fn circle(graph: &Graph, files: &BTreeSet<PathBuf>, start: &Path, next: &Path) -> Vec<PathBuf> {
    let mut before: BTreeMap<&Path, &Path> = BTreeMap::new();
    let mut open = VecDeque::from([next]);
    while let Some(file) = open.pop_front() {
        if file == start {
            break;
        }
        for (target, _) in graph[file].iter().filter(|(target, _)| files.contains(*target)) {
            if target != next && !before.contains_key(target.as_path()) {
                before.insert(target, file);
                open.push_back(target);
            }
        }
    }
    let mut way = vec![start.to_owned()];
    let mut at = start;
    while at != next {
        at = before[at];
        way.push(at.to_owned());
    }
    way.push(start.to_owned());
    way.reverse();
    way
}

fn message(
    root: &Path,
    graph: &Graph,
    folders: &BTreeMap<PathBuf, Vec<String>>,
    files: &BTreeSet<PathBuf>,
    scope: Scope,
) -> String {
    let crosses =
        |from: &Path, to: &Path| scope == Scope::WithinFolders || folders[from] != folders[to];
    let edges = || {
        files.iter().flat_map(|from| {
            graph[from]
                .iter()
                .filter(|(to, _)| files.contains(*to))
                .map(move |(to, imports)| (from, to, imports))
        })
    };
    let shortest = edges()
        .filter(|(from, to, _)| crosses(from, to))
        .map(|(from, to, _)| circle(graph, files, from, to))
        .min_by_key(Vec::len)
        .unwrap_or_default();
    let mut text = format!("{} files import each other in a circle; the shortest:\n", files.len());
    for step in shortest.windows(2) {
        let _ =
            writeln!(text, "  {}", import(root, &step[0], &step[1], &graph[&step[0]][&step[1]]));
    }
    let on_shortest = |from: &PathBuf, to: &PathBuf| {
        shortest.windows(2).any(|step| step[0] == *from && step[1] == *to)
    };
    let others: Vec<_> =
        edges().filter(|(from, to, _)| crosses(from, to) && !on_shortest(from, to)).collect();
    if !others.is_empty() {
        let _ = writeln!(text, "  further imports between the {} files:", files.len());
        for (from, to, imports) in others {
            let _ = writeln!(text, "    {}", import(root, from, to, imports));
        }
    }
    text.push_str(
        "  remedy: move what both sides need into a file below them, or pass it as an argument, \
         so that the imports point one way",
    );
    text
}

fn import(root: &Path, from: &Path, to: &Path, imports: &[Import]) -> String {
    let (line, path) = &imports[0];
    let more = match imports.len() - 1 {
        0 => String::new(),
        more => format!(", and {more} more"),
    };
    format!("{}:{line} imports {path} ({}){more}", shown(root, from), shown(root, to))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::tree;

    /// The faults of a crate `crates/tiny` with these files in `src/`.
    fn faults_of(files: &[(&str, &str)], scope: Scope) -> Vec<String> {
        let files: Vec<_> =
            files.iter().map(|(path, text)| (format!("crates/tiny/src/{path}"), *text)).collect();
        let tree =
            tree(&files.iter().map(|(path, text)| (path.as_str(), *text)).collect::<Vec<_>>());
        faults(tree.path(), &tree.path().join("crates/tiny/src/lib.rs"), scope).unwrap()
    }

    #[test]
    fn a_circle_between_folders_is_reported_with_its_imports() {
        let faults = faults_of(
            &[
                ("lib.rs", "mod a;\nmod b;"),
                ("a/mod.rs", "pub mod one;"),
                ("a/one.rs", "use crate::b::two::Two;\npub struct One(Two);"),
                ("b/mod.rs", "pub mod two;"),
                ("b/two.rs", "//! Two.\n\npub struct Two;\nfn f(one: &crate::a::one::One) {}"),
            ],
            Scope::BetweenFolders,
        );
        assert_eq!(faults.len(), 1, "{faults:?}");
        for part in [
            "2 files import each other in a circle",
            "crates/tiny/src/a/one.rs:1 imports crate::b::two::Two (crates/tiny/src/b/two.rs)",
            "crates/tiny/src/b/two.rs:4 imports crate::a::one::One (crates/tiny/src/a/one.rs)",
            "remedy: ",
        ] {
            assert!(faults[0].contains(part), "{part} is not in: {}", faults[0]);
        }
    }

    #[test]
    fn a_circle_within_a_folder_is_reported_on_request_only() {
        let files = [
            ("lib.rs", "mod one;\nmod two;"),
            ("one.rs", "use super::two::Two;\npub struct One;"),
            ("two.rs", "use super::one::One;\npub struct Two;"),
        ];
        assert_eq!(faults_of(&files, Scope::BetweenFolders), Vec::<String>::new());
        assert_eq!(faults_of(&files, Scope::WithinFolders).len(), 1);
    }

    #[test]
    fn a_re_export_is_looked_through() {
        // `a/mod.rs` re-exports `Top`, which uses `b`; `b` uses `a::Bottom` only.
        let files = [
            ("lib.rs", "mod a;\nmod b;"),
            ("a/mod.rs", "mod bottom;\nmod top;\npub use bottom::Bottom;\npub use top::Top;"),
            ("a/bottom.rs", "pub struct Bottom;"),
            ("a/top.rs", "pub struct Top(crate::b::Middle);"),
            ("b/mod.rs", "mod middle;\npub use middle::*;"),
            ("b/middle.rs", "use crate::a::{self, Bottom};\npub struct Middle(Bottom, a::Bottom);"),
        ];
        assert_eq!(faults_of(&files, Scope::WithinFolders), Vec::<String>::new());
        let tied = [files[0], files[1], files[2], files[3], files[4]];
        let middle = ("b/middle.rs", "use crate::a;\npub struct Middle(Vec<a::Top>);");
        let faults = faults_of(&[&tied[..], &[middle]].concat(), Scope::BetweenFolders);
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(
            faults[0].contains("middle.rs:2 imports a::Top (crates/tiny/src/a/top.rs)"),
            "{}",
            faults[0]
        );
    }

    #[test]
    fn a_parent_that_uses_its_folder_and_is_used_by_a_folder_below_is_in_a_circle() {
        let faults = faults_of(
            &[
                ("lib.rs", "mod parts;\npub struct Shared;\npub fn run() { parts::run(); }"),
                ("parts.rs", "mod deep;\npub fn run() { deep::run(); }"),
                ("parts/deep.rs", "use crate::Shared;\npub fn run() {}"),
            ],
            Scope::BetweenFolders,
        );
        assert_eq!(faults.len(), 1, "{faults:?}");
        assert!(faults[0].starts_with("3 files"), "{}", faults[0]);
    }

    #[test]
    fn paths_in_macros_and_attributes_count() {
        let faults = faults_of(
            &[
                ("lib.rs", "mod a;\nmod b;"),
                ("a/mod.rs", "pub mod one;"),
                ("a/one.rs", "pub fn f() { println!(\"{}\", crate::b::two::g()); }"),
                ("b/mod.rs", "pub mod two;"),
                ("b/two.rs", "#[arg(default_value_t = crate::a::one::f())]\npub fn g() {}"),
            ],
            Scope::BetweenFolders,
        );
        assert_eq!(faults.len(), 1, "{faults:?}");
    }

    #[test]
    fn imports_of_tests_do_not_count() {
        let files = [
            ("lib.rs", "mod a;\nmod b;"),
            ("a/mod.rs", "pub mod one;"),
            (
                "a/one.rs",
                "pub struct One;\n#[cfg(test)]\nmod tests {\n    use crate::b::two::Two;\n}",
            ),
            ("b/mod.rs", "pub mod two;"),
            ("b/two.rs", "use crate::a::one::One;\npub struct Two;"),
        ];
        assert_eq!(faults_of(&files, Scope::WithinFolders), Vec::<String>::new());
    }
}
