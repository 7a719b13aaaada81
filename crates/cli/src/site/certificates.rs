//! Certificates of links.

use std::path::Path;

use tidegate_sitekit::link::authority;

use super::error::classify;
use crate::exit::Outcome;
use crate::stdout::print;

/// Makes a CA and a certificate for each of these in a folder, and says which files they are.
pub(super) fn make_ca(folder: &Path, names: &[&str]) -> anyhow::Result<Outcome> {
    for file in authority::make(folder, names).map_err(classify)? {
        print(format!("{}\n", file.display()))?;
    }
    Ok(Outcome::Done)
}
