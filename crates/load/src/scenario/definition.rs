//! The definition of a scenario.

use std::sync::{Arc, OnceLock};

use super::class::Class;
use super::field::FieldRule;
use super::host::Host;
use super::length::Sessions;
use super::page::Page;
use super::run_times::RunTimes;
use super::session_rules::SessionRules;
use super::template::Parameter;
use super::thresholds::Threshold;
use crate::arrivals::Arrivals;
use crate::client::connections::Connections;
use crate::client::tls::rules::TlsRules;
use crate::feeder::Feeder;

/// All that a scenario file says, checked.
#[derive(Clone, Debug)]
pub(crate) struct ScenarioDefinition {
    pub(crate) name: String,
    pub(crate) description: String,
    pub(crate) attack: bool,
    pub(crate) session: SessionRules,
    /// Those beside the target.
    pub(crate) hosts: Vec<Host>,
    /// Some page gives cookies.
    pub(crate) gives_cookies: bool,
    /// Index is the state of the table.
    pub(crate) pages: Vec<Page>,
    /// At least one; one alone and without a name where the scenario has none.
    pub(crate) classes: Vec<Class>,
    /// Names of parameters in templates; templates refer to them by index.
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) fields: Vec<(String, FieldRule)>,
    /// Shared by what is derived of it: they may be large.
    pub(crate) feeders: Arc<[Feeder]>,
    /// The feeders that each class uses, by their indices; empty without feeders.
    pub(crate) fed: Vec<Vec<u8>>,
    pub(crate) arrivals: Option<Arrivals>,
    pub(crate) run: RunTimes,
    pub(crate) connections: Connections,
    pub(crate) tls: TlsRules,
    pub(crate) thresholds: Vec<Threshold>,
    pub(crate) notes: Vec<String>,
    pub(crate) length: OnceLock<Sessions>,
}

impl ScenarioDefinition {
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
