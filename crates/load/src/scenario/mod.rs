//! What customers do on a site: pages, transitions between them, think times and patience.
//! Read from TOML; all mistakes are reported together.

mod alone;
mod builtin;
pub(crate) mod class;
pub(crate) mod content;
pub(crate) mod definition;
mod duration;
pub(crate) mod expected;
pub(crate) mod fed;
pub(crate) mod field;
pub(crate) mod host;
mod impatience;
pub(crate) mod length;
mod navigation;
mod nearest;
mod one_page;
pub(crate) mod page;
mod read;
mod run_times;
mod session_rules;
mod simulation;
mod table;
pub(crate) mod template;
pub mod thresholds;
pub(crate) mod walk;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

pub use alone::Alone;
pub use builtin::BUILT_IN;
pub use class::Class;
pub use content::{Content, FilePart, LARGEST as LARGEST_CONTENT};
pub use duration::MinimumDuration;
pub use expected::{Check, Expected, Find, Rule};
pub use field::{FieldRule, TextPart};
pub use host::Host;
pub use impatience::Impatience;
pub use length::{DrawnSession, PageVisits, SessionLength};
pub use navigation::{Navigation, ScriptStep};
pub use one_page::{HeaderField, PageRequest};
pub use page::{Body, BodySource, ChannelKind, ChannelUse, MessageRule, Method, Page, Source};
pub use read::reference::reference;
pub use run_times::RunTimes;
pub use session_rules::SessionRules;
pub use table::{Form, Move, Table};
pub use template::{Parameter, Template};

use definition::ScenarioDefinition;
use length::Sessions;
use thresholds::Threshold;

use crate::arrivals::Arrivals;
use crate::client::connections::Connections;
use crate::client::tls::rules::TlsRules;
use crate::error::Error;
use tidegate_config::Mistakes;

/// A checked scenario. A clone shares its data.
#[derive(Clone, Debug)]
pub struct Scenario(Arc<ScenarioDefinition>);

impl Scenario {
    /// Reads a scenario; `name` is the file as the user named it, and the
    /// place from which files named in it are found.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, Mistakes> {
        read::document::scenario(text, name).map(|parts| Self(Arc::new(parts)))
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// The file cannot be read, or all mistakes in it.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let text = tidegate_config::read_file(path).map_err(|mistake| Mistakes(vec![mistake]))?;
        Ok(Self::from_toml(&text, &path.to_string_lossy())?)
    }

    /// One of the scenarios that come with the program, see [`BUILT_IN`].
    pub fn built_in(name: &str) -> Option<Self> {
        let (text, canonical) = builtin::text(name)?;
        Some(
            Self::from_toml(&text, canonical).expect("built-in scenarios are checked by the tests"),
        )
    }

    /// The text of a scenario that comes with the program: a file to start from.
    pub fn built_in_text(name: &str) -> Option<String> {
        Some(builtin::text(name)?.0)
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// What it is, in a sentence; may be empty.
    pub fn description(&self) -> &str {
        &self.0.description
    }

    /// Whether it is an attack, which needs [`Plan::attack_remote`] against anything
    /// that is not on loopback.
    ///
    /// [`Plan::attack_remote`]: crate::Plan::attack_remote
    pub fn is_attack(&self) -> bool {
        self.0.attack
    }

    /// The rules of sessions.
    pub fn session(&self) -> &SessionRules {
        &self.0.session
    }

    /// The pages; a page's index is its state in the table.
    pub fn pages(&self) -> &[Page] {
        &self.0.pages
    }

    /// The hosts that customers request beside the target.
    pub fn hosts(&self) -> &[Host] {
        &self.0.hosts
    }

    /// The classes of customers: at least one, which has no name where the
    /// scenario has none.
    pub fn classes(&self) -> &[Class] {
        &self.0.classes
    }

    /// The arrivals, if the scenario has any.
    pub fn arrivals(&self) -> Option<&Arrivals> {
        self.0.arrivals.as_ref()
    }

    /// The times that it states for a run.
    pub fn run(&self) -> RunTimes {
        self.0.run
    }

    /// The connection settings.
    pub fn connections(&self) -> &Connections {
        &self.0.connections
    }

    /// The TLS settings.
    pub fn tls(&self) -> &TlsRules {
        &self.0.tls
    }

    /// Thresholds, which determine the exit code.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0.thresholds
    }

    /// Notes that are no errors: pages that no session can reach.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// The length of undisturbed sessions, classes weighted by their shares (equally if none
    /// has one). Simulated once, which takes some tenths of a second for long sessions.
    pub fn session_length(&self) -> SessionLength {
        self.sessions().summary
    }

    /// Mean duration of an undisturbed session by its think times alone, unscaled.
    pub fn session_duration(&self) -> Duration {
        self.sessions().mean_think
    }

    /// How often an undisturbed session requests each page, classes weighted as in
    /// [`Scenario::session_length`].
    pub fn page_visits(&self) -> &PageVisits {
        &self.sessions().visits
    }

    /// The same of each class, by its index.
    pub fn class_visits(&self) -> &[PageVisits] {
        &self.sessions().class_visits
    }

    /// The numbers of requests of some thousand simulated sessions, in ascending order.
    pub fn session_lengths(&self) -> &[u32] {
        &self.sessions().lengths
    }

    /// Some thousand simulated sessions, each with its think times drawn, in no order: what
    /// customers do on a site that answers at once.
    pub fn drawn_sessions(&self) -> &[DrawnSession] {
        &self.sessions().drawn
    }

    fn sessions(&self) -> &Sessions {
        self.0.length.get_or_init(|| simulation::simulate(&self.0))
    }

    pub(crate) fn definition(&self) -> &Arc<ScenarioDefinition> {
        &self.0
    }
}
