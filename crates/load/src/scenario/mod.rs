//! What customers do on a site: pages, the table of transitions between them,
//! think times and patience. Read from TOML, checked as a whole.

mod builtin;
mod check;
mod class;
mod classes;
mod connections;
mod course;
mod expectations;
mod expected;
mod field;
mod fields;
mod impatience;
mod lasting;
mod length;
mod one_page;
mod page;
mod pages;
mod reference;
mod steps;
mod table;
mod template;
pub mod thresholds;
mod timing;
mod tls;
mod transitions;
pub(crate) mod walk;

use std::path::Path;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

pub use builtin::BUILT_IN;
pub use class::Class;
pub(crate) use class::draw;
pub use course::{Course, ScriptStep};
pub(crate) use expected::{Answered, excerpt};
pub use expected::{Check, Expected, Find, Rule};
pub use field::{FieldRule, TextPart};
pub use impatience::Impatience;
pub use lasting::Lasting;
pub use length::SessionLength;
pub use page::{Body, Method, Page, Source};
pub use reference::reference;
pub use table::{Form, Move, Table};
pub use template::Template;

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::plan::{Connections, TlsRules};
use crate::scenario::thresholds::Threshold;
use tidegate_config::Mistakes;

/// A checked scenario; cheap to clone.
#[derive(Clone, Debug)]
pub struct Scenario(Arc<Parts>);

/// The parts of a scenario, all checked.
#[derive(Debug)]
pub(crate) struct Parts {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) attack: bool,
    pub(crate) session: SessionRules,
    /// Index is the state of the table.
    pub(crate) pages: Vec<Page>,
    /// At least one; one alone and without a name where the scenario has none.
    pub(crate) classes: Vec<Class>,
    /// Names of parameters in templates; templates refer to them by index.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) fields: Vec<(String, FieldRule)>,
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) connections: Connections,
    pub(crate) tls: TlsRules,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) notes: Vec<String>,
    pub(crate) length: OnceLock<length::Sessions>,
}

impl Parts {
    /// The class of this name.
    pub(crate) fn class(&self, name: &str) -> Option<u8> {
        let found = self.classes.iter().position(|class| class.name == name);
        found.map(|index| index as u8)
    }

    /// What holds for sessions of a class, or for those of none in particular.
    pub(crate) fn rules(&self, class: Option<u8>) -> &SessionRules {
        class.map_or(&self.session, |class| &self.classes[usize::from(class)].session)
    }
}

/// What holds for every session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SessionRules {
    /// A session ends after this many requests at the latest.
    pub max_requests: u32,
    /// Mean of the negative exponential think time.
    pub think: Duration,
    /// No think time is longer than this many times its mean.
    pub think_cap: f64,
    /// From intended start to last byte of the answer.
    pub patience: Duration,
    /// What customers do whose patience ends, or who are turned away.
    pub impatience: Impatience,
    /// Customers (accounts) to draw from, numbered from 1.
    pub customers: u64,
    /// Redirects within the site are followed, as part of the request.
    pub follow_redirects: bool,
}

impl Default for SessionRules {
    /// The client of RUBiS with the think time of TPC-W, and the patience of
    /// httperf's users in the study of admission control.
    fn default() -> Self {
        Self {
            max_requests: 1000,
            think: Duration::from_secs(7),
            think_cap: 10.0,
            patience: Duration::from_secs(10),
            impatience: Impatience::Leave,
            customers: 1000,
            follow_redirects: true,
        }
    }
}

/// A name in braces within a template.
#[derive(Clone, Debug, PartialEq)]
pub struct Parameter {
    /// The name.
    pub name: String,
    /// Whole numbers to draw from, both ends included, where no page offers a
    /// value.
    pub uniform: Option<(u64, u64)>,
}

impl Scenario {
    /// Reads a scenario; `name` is the file as the user named it, and the
    /// place from which files named in it are found.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, Mistakes> {
        check::scenario(text, name).map(|parts| Self(Arc::new(parts)))
    }

    /// Reads a scenario from a file.
    ///
    /// # Errors
    /// The file cannot be read, or all mistakes in it.
    pub fn from_file(path: &Path) -> Result<Self, Error> {
        let text = std::fs::read_to_string(path)
            .map_err(|source| Error::File { path: path.to_owned(), source })?;
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

    /// What holds for every session.
    pub fn session(&self) -> &SessionRules {
        &self.0.session
    }

    /// The pages; a page's index is its state in the table.
    pub fn pages(&self) -> &[Page] {
        &self.0.pages
    }

    /// The classes of customers: at least one, which has no name where the
    /// scenario has none.
    pub fn classes(&self) -> &[Class] {
        &self.0.classes
    }

    /// When customers arrive, if the scenario says so.
    pub fn arrivals(&self) -> Option<&Arrivals> {
        self.0.arrivals.as_ref()
    }

    /// How connections are kept and closed, and where they come from.
    pub fn connections(&self) -> &Connections {
        &self.0.connections
    }

    /// How TLS is spoken.
    pub fn tls(&self) -> &TlsRules {
        &self.0.tls
    }

    /// Limits that decide the exit code.
    pub fn thresholds(&self) -> &[Threshold] {
        &self.0.thresholds
    }

    /// What is odd but no mistake: states that no session can reach.
    pub fn notes(&self) -> &[String] {
        &self.0.notes
    }

    /// How long sessions are if left to run their course, classes by their
    /// shares (each the same if none has one). Simulated once
    /// (some tenths of a second for long sessions) and kept.
    pub fn session_length(&self) -> SessionLength {
        self.sessions().summary
    }

    /// The numbers of requests of some thousand such sessions, in ascending order.
    pub fn session_lengths(&self) -> &[u32] {
        &self.sessions().lengths
    }

    fn sessions(&self) -> &length::Sessions {
        self.0.length.get_or_init(|| length::simulate(&self.0))
    }

    pub(crate) fn parts(&self) -> &Arc<Parts> {
        &self.0
    }
}
