//! Pages rendered from sites: what crawlers get wrong, whole runs, sites that are hostile.

mod bad_sites;
mod common;
mod golden;
mod rewriting;
mod site;
mod wget;
