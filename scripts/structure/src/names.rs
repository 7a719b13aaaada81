//! From a path in the source to the file that defines what it names.

use std::path::Path;

use crate::module::Tree;

/// Longest chain of `use` declarations that is followed.
const MOST_ALIASES: usize = 32;

/// What a path names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Named {
    /// A module as such.
    Module(usize),
    /// An item, defined in this module.
    Item(usize),
}

impl Tree {
    /// The file with the definition of the item that `path` names in module `from`.
    /// `None` for modules as such, local names, and everything from other crates.
    pub fn defining_file(&self, from: usize, path: &[String]) -> Option<&Path> {
        // `use a::*`: the file of `a` itself; what it re-exports is found by name.
        let named = match path {
            [prefix @ .., last] if last == "*" => match self.resolve(from, prefix, 0)? {
                Named::Module(module) | Named::Item(module) => Named::Item(module),
            },
            path => self.resolve(from, path, 0)?,
        };
        match named {
            Named::Item(module) => Some(&self.modules[module].file),
            Named::Module(_) => None,
        }
    }

    fn resolve(&self, from: usize, path: &[String], depth: usize) -> Option<Named> {
        if depth > MOST_ALIASES {
            return None;
        }
        let (first, mut rest) = path.split_first()?;
        let mut at = match first.as_str() {
            "crate" => 0,
            "self" => from,
            "super" => self.modules[from].parent?,
            name => match self.look_up(from, name, depth) {
                Some(Named::Module(module)) => module,
                item => return item,
            },
        };
        while let Some((name, after)) = rest.split_first() {
            at = match name.as_str() {
                "super" => self.modules[at].parent?,
                "self" => at,
                name => match self.look_up(at, name, depth) {
                    Some(Named::Module(module)) => module,
                    // What follows is a variant, a method or an associated item.
                    item => return item,
                },
            };
            rest = after;
        }
        Some(Named::Module(at))
    }

    /// What `name` is in module `at`: declared there, or brought in by `use`.
    fn look_up(&self, at: usize, name: &str, depth: usize) -> Option<Named> {
        let module = &self.modules[at];
        if let Some(child) = module.children.get(name) {
            return Some(Named::Module(*child));
        }
        if module.items.contains(name) {
            return Some(Named::Item(at));
        }
        if let Some(path) = module.aliases.get(name) {
            // `use serde::Serialize`, `use toml;`: from outside, or itself.
            if path.len() == 1 && path[0] == name {
                return None;
            }
            return self.resolve(at, path, depth + 1);
        }
        if at == 0
            && let Some(module) = self.macros.get(name)
        {
            return Some(Named::Item(*module));
        }
        module.globs.iter().find_map(|path| match self.resolve(at, path, depth + 1)? {
            Named::Module(target) if target != at && depth < MOST_ALIASES => {
                self.look_up(target, name, depth + 1)
            }
            _ => None,
        })
    }
}
