//! Crates depend downwards only: a crate of one layer may use crates of the
//! layers below it, and none of its own layer or above. Dependencies for tests
//! and builds follow the same rule.

use std::collections::BTreeSet;
use std::path::Path;

use anyhow::{Context, Result};
use toml::Table;

use crate::targets;

/// The packages without their prefix, from the bottom layer to the top.
const LAYERS: &[&[&str]] = &[
    &["hello", "host", "stats", "config", "report"],
    &["agent", "control", "fleet", "plan", "trace"],
    &["sim", "gate", "load", "sitekit"],
    &["auction", "card", "messages", "partners", "render"],
    &["b2b", "brokerage", "shop"],
    &["lab"],
    &["experiment"],
    &["study"],
    &["tidegate", "bench"],
];

/// Prefix of every package but the binary's.
const PREFIX: &str = "tidegate-";

/// The dependencies that point sideways or upwards, and the crates without a layer.
///
/// # Errors
/// A manifest that cannot be read or parsed.
pub fn faults(root: &Path) -> Result<Vec<String>> {
    let mut faults = Vec::new();
    for folder in targets::crates(root)? {
        let manifest = read(&folder.join("Cargo.toml"))?;
        let name = package(&manifest).unwrap_or_else(|| {
            folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
        });
        let Some(layer) = layer_of(&name) else {
            faults.push(format!(
                "{name} is in no layer\n  remedy: add it to LAYERS in scripts/structure/src/layers.rs, \
                 in the lowest layer above everything it uses"
            ));
            continue;
        };
        for used in dependencies(&manifest) {
            match layer_of(&used) {
                Some(below) if below < layer => {}
                _ => faults.push(format!(
                    "{name} (layer {layer}) must not depend on {used} ({}): \
                     crates use only crates of lower layers\n  remedy: move what both need into a crate below them, \
                     or into the crate that uses both",
                    layer_of(&used).map_or("no layer".to_owned(), |at| format!("layer {at}"))
                )),
            }
        }
    }
    Ok(faults)
}

/// The index of the layer in [`LAYERS`].
fn layer_of(name: &str) -> Option<usize> {
    LAYERS.iter().position(|layer| layer.contains(&name))
}

fn read(manifest: &Path) -> Result<Table> {
    let text = std::fs::read_to_string(manifest).with_context(|| manifest.display().to_string())?;
    text.parse().with_context(|| manifest.display().to_string())
}

/// The name of a manifest's package, without the prefix.
fn package(manifest: &Table) -> Option<String> {
    let name = manifest.get("package")?.get("name")?.as_str()?;
    Some(name.strip_prefix(PREFIX).unwrap_or(name).to_owned())
}

/// The workspace's own packages that a manifest names, without the prefix.
fn dependencies(manifest: &Table) -> BTreeSet<String> {
    let mut sections: Vec<&Table> = vec![manifest];
    // [target.'cfg(...)'.dependencies]
    if let Some(targets) = manifest.get("target").and_then(|value| value.as_table()) {
        sections.extend(targets.values().filter_map(|value| value.as_table()));
    }
    sections
        .into_iter()
        .flat_map(|section| {
            ["dependencies", "dev-dependencies", "build-dependencies"]
                .into_iter()
                .filter_map(|key| section.get(key)?.as_table())
        })
        .flat_map(|dependencies| dependencies.keys())
        .filter_map(|package| package.strip_prefix(PREFIX))
        .map(str::to_owned)
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::tests::tree;

    #[test]
    fn a_dependency_on_a_lower_layer_is_allowed() {
        let tree = tree(&[
            ("crates/gate/Cargo.toml", "[dependencies]\ntidegate-control.workspace = true\n"),
            ("crates/control/Cargo.toml", "[package]\nname = \"tidegate-control\"\n"),
        ]);
        assert_eq!(faults(tree.path()).unwrap(), Vec::<String>::new());
    }

    #[test]
    fn a_dependency_on_the_same_or_a_higher_layer_is_a_fault() {
        let tree = tree(&[
            (
                "crates/load/Cargo.toml",
                "[dev-dependencies]\ntidegate-gate = { path = \"../gate\" }\n",
            ),
            (
                "crates/host/Cargo.toml",
                "[target.'cfg(unix)'.dependencies]\ntidegate-lab.workspace = true\n",
            ),
        ]);
        let faults = faults(tree.path()).unwrap();
        assert_eq!(faults.len(), 2, "{faults:?}");
        assert!(
            faults[0].contains("host (layer 0) must not depend on lab (layer 5)"),
            "{}",
            faults[0]
        );
        assert!(
            faults[1].contains("load (layer 2) must not depend on gate (layer 2)"),
            "{}",
            faults[1]
        );
    }

    #[test]
    fn a_crate_without_a_layer_is_a_fault() {
        let tree = tree(&[("crates/new/Cargo.toml", "")]);
        let faults = faults(tree.path()).unwrap();
        assert!(faults[0].starts_with("new is in no layer"), "{}", faults[0]);
    }
}
