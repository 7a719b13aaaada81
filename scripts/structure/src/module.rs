//! The modules of one target: its files, what each declares and what each names.
//!
//! Code under `#[cfg(test)]` is left out: a test may look at everything.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use syn::spanned::Spanned;
use syn::visit::{self, Visit};
use syn::{Attribute, Item, ItemMod, ItemUse, Macro, Meta, UseTree, Visibility};

/// A path of names as the source writes it, and its line in the file.
#[derive(Clone, Debug)]
pub struct Mention {
    /// For `crate::a::B`: `crate`, `a`, `B`.
    pub path: Vec<String>,
    pub line: usize,
}

/// A module: a file or a block `mod name { … }`.
#[derive(Debug)]
pub struct Module {
    /// `crate::a::b`, for comparison; the target's root is empty.
    pub path: Vec<String>,
    pub file: PathBuf,
    pub parent: Option<usize>,
    /// Modules declared here, as indices into [`Tree::modules`].
    pub children: BTreeMap<String, usize>,
    /// Names of the functions, types and constants declared here.
    pub items: BTreeSet<String>,
    /// Names that `use` brings in, with the path that each stands for.
    pub aliases: BTreeMap<String, Vec<String>>,
    /// Paths of `use path::*`.
    pub globs: Vec<Vec<String>>,
    /// Every path that the code names: private imports and paths in expressions,
    /// types and macros. A `pub use` alone is a second name, not a use.
    pub mentions: Vec<Mention>,
}

/// All modules of a target; index 0 is its root.
#[derive(Debug, Default)]
pub struct Tree {
    pub modules: Vec<Module>,
    /// Names of macros, which live at the root, with the module that defines each.
    pub macros: BTreeMap<String, usize>,
}

impl Tree {
    /// Reads a target from its root file on.
    ///
    /// # Errors
    /// A file that cannot be read or parsed, or a module without a file.
    pub fn read(root: &Path) -> Result<Self> {
        let mut tree = Self::default();
        let folder = root.parent().unwrap_or(Path::new(".")).to_owned();
        tree.read_file(root, &folder, Vec::new(), None)?;
        Ok(tree)
    }

    /// Reads the module in `file`, whose own modules have their files in `folder`.
    fn read_file(
        &mut self,
        file: &Path,
        folder: &Path,
        path: Vec<String>,
        parent: Option<usize>,
    ) -> Result<usize> {
        let text = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
        let parsed = syn::parse_file(&text).map_err(|error| {
            anyhow::anyhow!("{}:{}: {error}", file.display(), error.span().start().line)
        })?;
        self.add(&parsed.items, file, folder, path, parent)
    }

    fn add(
        &mut self,
        items: &[Item],
        file: &Path,
        folder: &Path,
        path: Vec<String>,
        parent: Option<usize>,
    ) -> Result<usize> {
        let index = self.modules.len();
        let mut reader = Reader::default();
        items.iter().for_each(|item| reader.visit_item(item));
        self.macros.extend(reader.macros.into_iter().map(|name| (name, index)));
        self.modules.push(Module {
            path: path.clone(),
            file: file.to_owned(),
            parent,
            children: BTreeMap::new(),
            items: reader.items,
            aliases: reader.aliases,
            globs: reader.globs,
            mentions: reader.mentions,
        });
        for declared in reader.modules {
            let name = declared.ident.to_string();
            let mut path = path.clone();
            path.push(name.clone());
            let child = if let Some((_, items)) = &declared.content {
                self.add(items, file, &folder.join(&name), path, Some(index))?
            } else {
                let (file, folder) = file_of(&declared, file, folder)?;
                self.read_file(&file, &folder, path, Some(index))?
            };
            self.modules[index].children.insert(name, child);
        }
        Ok(index)
    }
}

/// The file of `mod name;` and the folder of that module's own modules.
fn file_of(declared: &ItemMod, declaring: &Path, folder: &Path) -> Result<(PathBuf, PathBuf)> {
    let name = declared.ident.to_string();
    if let Some(path) = path_attribute(&declared.attrs) {
        let file = declaring.parent().unwrap_or(Path::new(".")).join(path);
        let folder = file.parent().unwrap_or(Path::new(".")).to_owned();
        return Ok((file, folder));
    }
    let own = folder.join(&name);
    for file in [folder.join(format!("{name}.rs")), own.join("mod.rs")] {
        if file.is_file() {
            return Ok((file, own));
        }
    }
    bail!("{}:{}: mod {name} has no file", declaring.display(), declared.span().start().line)
}

fn path_attribute(attributes: &[Attribute]) -> Option<String> {
    attributes.iter().find_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("path") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    })
}

/// Whether the item exists in tests only: `#[cfg(test)]`, `#[cfg(all(test, …))]`, `#[test]`.
fn only_in_tests(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| match &attribute.meta {
        Meta::Path(path) => path.is_ident("test"),
        Meta::List(list) if list.path.is_ident("cfg") => {
            let mut mentions = Vec::new();
            paths_of_tokens(list.tokens.clone(), &mut mentions);
            let names = |name: &str| mentions.iter().any(|mention| mention.path == [name]);
            names("test") && !names("not") && !names("any")
        }
        _ => false,
    })
}

/// Collects what one module declares and names, without its inner modules.
#[derive(Default)]
struct Reader {
    modules: Vec<ItemMod>,
    items: BTreeSet<String>,
    aliases: BTreeMap<String, Vec<String>>,
    globs: Vec<Vec<String>>,
    mentions: Vec<Mention>,
    macros: Vec<String>,
}

impl Reader {
    fn read_use(&mut self, item: &ItemUse) {
        let private = matches!(item.vis, Visibility::Inherited);
        self.read_use_tree(&item.tree, &mut Vec::new(), private);
    }

    fn read_use_tree(&mut self, tree: &UseTree, prefix: &mut Vec<String>, private: bool) {
        match tree {
            UseTree::Path(step) => {
                prefix.push(step.ident.to_string());
                self.read_use_tree(&step.tree, prefix, private);
                prefix.pop();
            }
            UseTree::Name(name) => {
                let mut path = prefix.clone();
                // `use a::{self}` names `a`.
                if name.ident != "self" {
                    path.push(name.ident.to_string());
                }
                if let Some(last) = path.last().cloned() {
                    self.import(last, path, name.span().start().line, private);
                }
            }
            UseTree::Rename(rename) => {
                let mut path = prefix.clone();
                if rename.ident != "self" {
                    path.push(rename.ident.to_string());
                }
                self.import(rename.rename.to_string(), path, rename.span().start().line, private);
            }
            UseTree::Glob(glob) => {
                if private {
                    let mut path = prefix.clone();
                    path.push("*".to_owned());
                    self.mentions.push(Mention { path, line: glob.span().start().line });
                }
                self.globs.push(prefix.clone());
            }
            UseTree::Group(group) => {
                group.items.iter().for_each(|tree| self.read_use_tree(tree, prefix, private));
            }
        }
    }

    fn import(&mut self, name: String, path: Vec<String>, line: usize, private: bool) {
        if private {
            self.mentions.push(Mention { path: path.clone(), line });
        }
        // `use a::Trait as _` brings in no name.
        if name != "_" {
            self.aliases.insert(name, path);
        }
    }
}

impl<'ast> Visit<'ast> for Reader {
    fn visit_item(&mut self, item: &'ast Item) {
        let (attributes, name) = attributes_and_name(item);
        if only_in_tests(attributes) {
            return;
        }
        if let Item::Mod(module) = item {
            self.modules.push(module.clone());
            return;
        }
        if let Item::Macro(item) = item
            && let Some(name) = &item.ident
        {
            self.macros.push(name.to_string());
        }
        self.items.extend(name);
        visit::visit_item(self, item);
    }

    fn visit_impl_item(&mut self, item: &'ast syn::ImplItem) {
        let attributes = match item {
            syn::ImplItem::Fn(item) => &item.attrs,
            syn::ImplItem::Const(item) => &item.attrs,
            _ => return visit::visit_impl_item(self, item),
        };
        if !only_in_tests(attributes) {
            visit::visit_impl_item(self, item);
        }
    }

    fn visit_item_use(&mut self, item: &'ast ItemUse) {
        self.read_use(item);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        if path.leading_colon.is_none() {
            self.mentions.push(Mention {
                path: path.segments.iter().map(|segment| segment.ident.to_string()).collect(),
                line: path.span().start().line,
            });
        }
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, called: &'ast Macro) {
        visit::visit_macro(self, called);
        paths_of_tokens(called.tokens.clone(), &mut self.mentions);
    }

    fn visit_attribute(&mut self, attribute: &'ast Attribute) {
        if let Meta::List(list) = &attribute.meta {
            paths_of_tokens(list.tokens.clone(), &mut self.mentions);
        }
    }

    // `pub(in crate::a)` uses nothing.
    fn visit_visibility(&mut self, _: &'ast Visibility) {}
}

fn attributes_and_name(item: &Item) -> (&[Attribute], Option<String>) {
    macro_rules! named {
        ($($kind:ident: $($name:ident).+),*; $($unnamed:ident),*) => {
            match item {
                $(Item::$kind(item) => (&item.attrs, Some(item.$($name).+.to_string())),)*
                $(Item::$unnamed(item) => (&item.attrs, None),)*
                _ => (&[], None),
            }
        };
    }
    named!(Const: ident, Enum: ident, Fn: sig.ident, Static: ident, Struct: ident, Trait: ident, Type: ident, Union: ident;
        ExternCrate, ForeignMod, Impl, Macro, Mod, TraitAlias, Use)
}

/// The paths in tokens that are not parsed: `a::b` and single names, at any depth.
fn paths_of_tokens(tokens: proc_macro2::TokenStream, mentions: &mut Vec<Mention>) {
    use proc_macro2::TokenTree;
    let mut open: Option<Mention> = None;
    let mut colons = 0;
    for token in tokens {
        match token {
            TokenTree::Ident(name) => match &mut open {
                Some(mention) if colons == 2 => mention.path.push(name.to_string()),
                _ => {
                    mentions.extend(open.take());
                    open = Some(Mention {
                        path: vec![name.to_string()],
                        line: name.span().start().line,
                    });
                }
            },
            TokenTree::Punct(sign) if sign.as_char() == ':' => {
                colons += 1;
                continue;
            }
            TokenTree::Group(group) => {
                mentions.extend(open.take());
                paths_of_tokens(group.stream(), mentions);
            }
            _ => mentions.extend(open.take()),
        }
        colons = 0;
    }
    mentions.extend(open);
}
