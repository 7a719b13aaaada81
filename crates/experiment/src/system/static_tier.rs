//! Pages of the shop that are rendered ahead, for the gate to serve.

use std::path::PathBuf;

use tidegate_host::Cores;
use tidegate_lab::Launch;

use super::{System, Workshop, shop};
use crate::experiment::Settings;
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};

/// Folder of the pages. Those of a size are the same in every database.
pub(super) fn folder(settings: &Settings, workshop: &Workshop) -> PathBuf {
    workshop.shared.join(format!("pages-{}", settings.size))
}

/// Writes the pages if they are not there.
///
/// # Errors
/// The shop does not start, or a page cannot be rendered; with the last lines of the log.
pub(super) fn prepare(settings: &Settings, cores: &Cores, workshop: &Workshop) -> Result<()> {
    let folder = folder(settings, workshop);
    if folder.exists() {
        return Ok(());
    }
    let settings = Settings { build: "rendered".into(), ..settings.clone() };
    let shop = shop::start(&settings, cores, workshop, &workshop.shared)?;
    // An interrupted study leaves no folder that is taken for the pages.
    let unfinished = folder.with_extension("unfinished");
    // The customers of a study have no postcode. Those who had one would get dynamic pages.
    let launch = Launch::this_program("rendering of pages")
        .args([
            "render",
            &shop.url(true)?,
            "--rate",
            "100000",
            "--max-pages",
            "200000",
            "--vary",
            "zone=1",
            "--out",
        ])
        .args([&unfinished])
        .log(&workshop.shared.join("render.log"))?;
    let mut process = launch.start()?;
    let exit = process.wait()?;
    if !exit.status.success() {
        return Err(Error::Process(format!(
            "the shop's pages were not rendered ({}): {}",
            exit.status,
            process.last_lines()
        )));
    }
    std::fs::rename(&unfinished, &folder).map_err(|error| {
        Error::Machine(format!("cannot make {}: {error}; {MAKE_ROOM}", folder.display()))
    })
}
