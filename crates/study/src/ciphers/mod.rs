//! What TLS costs a site of the user's own: every protocol, cipher, key and group that it offers,
//! with connections that are kept, resumed or new for each interaction, under one scenario; and what
//! to choose by that.
//!
//! One factor at a time around what customers get from the site today. All runs of a round follow
//! each other in random order, and differences are those within rounds.

mod advice;
mod analysis;
mod conduct;
mod kinds;
mod modes;
mod options;
mod output;
mod page;
mod tables;
mod trial;
mod words;

use std::time::Duration;

use tidegate_host::Provenance;

pub use advice::{Advice, Finding};
pub use analysis::Found;
pub use conduct::study;
pub use kinds::{Factor, Kind, NotOffered};
pub use modes::Mode;
pub use options::Options;
pub use trial::Trial;
pub use words::{line, terminal};

/// Name of the study, and of its result.
pub const NAME: &str = "ciphers of a site";

/// What happens while a site is measured.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something that a user wants to know.
    Note(String),
    /// A run is over; about so much time is left.
    Trial(&'a Trial, &'a Kind, Duration),
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was measured.
    pub options: Options,
    /// The site's processes in words; `None` where they are not seen.
    pub processes: Option<String>,
    /// Requests of a session of the scenario, mean.
    pub requests_each: f64,
    /// How the scenario's customers use connections.
    pub own_mode: Mode,
    /// What the site offers; first what customers get.
    pub kinds: Vec<Kind>,
    /// What it does not.
    pub not_offered: Vec<NotOffered>,
    /// All runs in the order of measurement.
    pub trials: Vec<Trial>,
    /// What sessions cost.
    pub found: Found,
    /// What to choose.
    pub advice: Advice,
    /// Commit, command and start.
    pub provenance: Provenance,
}
