//! The settings of one run, and how the keys of a file set them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tidegate_config::{Key, Keys, Rule, Section, Value};
use tidegate_load::Scenario;
use tidegate_load::scenario::BUILT_IN;

use super::keys::{CERTIFICATES, SITES, SYSTEM, TLS, WORKLOAD};

/// System and workload of one run, without anything left open. The fields have the names of
/// the keys that set them.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Settings {
    /// The site, unless there is a command.
    pub site: String,
    /// Program and arguments of a service of one's own.
    pub command: Vec<String>,
    /// Its URL.
    pub address: Option<String>,
    /// Path that answers once it is ready.
    pub ready: Option<String>,
    /// Longest time until then, in seconds.
    pub ready_within: f64,
    /// Database of the auction site; SQLite without one.
    pub database: Option<String>,
    /// Additional CPU time of a page, in seconds.
    pub extra_cpu: f64,
    /// Whether a gate stands before the service.
    pub gate: bool,
    /// Its admission policy.
    pub policy: String,
    /// Kind of its certificate.
    pub certificate: String,
    /// TLS versions that customers offer: `both`, `1.2` or `1.3`.
    pub tls: String,
    /// Whether the gate traces.
    #[serde(default)]
    pub trace: bool,
    /// Processors of service and gate.
    pub processors: u32,
    /// How much of a core each of them is; none until resources are known.
    pub processor_share: Option<f64>,
    /// The customers' scenario, by name or path.
    pub scenario: String,
    /// Offered load as a multiple of the capacity.
    pub load: Option<f64>,
    /// Offered sessions per second.
    pub rate: Option<f64>,
    /// Factor of the customers' times.
    pub time_scale: f64,
    /// Further factor of their patience.
    pub patience_scale: f64,
}

/// Where a key's value comes from: its table, with the default if it is not set, or a level
/// of a factor.
#[derive(Clone, Copy)]
enum From<'a, 'r> {
    Table(&'a Section<'r>),
    Level(&'a Value<'r>),
}

impl<'r> From<'_, 'r> {
    fn read<R: Rule>(self, key: &Key<R>) -> Option<R::Read<'r>> {
        match self {
            Self::Table(section) => section.read(key),
            Self::Level(value) => value.read(&key.rule),
        }
    }
}

impl Settings {
    /// The settings of the tables `system` and `workload`. After a mistake, which the reader
    /// has noted, a field is empty.
    pub(super) fn read(system: &Section<'_>, workload: &Section<'_>) -> Self {
        let mut settings = Self::default();
        for (section, names) in [(system, SYSTEM.names()), (workload, WORKLOAD.names())] {
            for name in names {
                settings.put(name, From::Table(section));
            }
        }
        if settings.load.is_none() && settings.rate.is_none() {
            settings.load = Some(1.0);
        }
        settings
    }

    /// The fields that a level sets: a value of this key. `None` after a mistake.
    pub(super) fn level(key: &str, value: &Value<'_>) -> Option<Map<String, Json>> {
        let mut settings = Self::default();
        settings.put(key, From::Level(value))?;
        let mut fields = settings.fields();
        let both = ["load", "rate"];
        fields.retain(|name, _| name == key || (both.contains(&key) && both.contains(&&**name)));
        Some(fields)
    }

    /// These settings with fields of a level.
    pub(super) fn with(&self, level: &Map<String, Json>) -> Self {
        let mut fields = self.fields();
        fields.extend(level.clone());
        serde_json::from_value(Json::Object(fields)).expect("levels have fields of this type")
    }

    fn fields(&self) -> Map<String, Json> {
        match serde_json::to_value(self) {
            Ok(Json::Object(fields)) => fields,
            _ => unreachable!("a struct of plain fields is a JSON object"),
        }
    }

    /// Sets the field of a key.
    fn put(&mut self, key: &str, from: From<'_, '_>) -> Option<()> {
        let word = |words: &[&str], index: usize| words[index].to_owned();
        let (s, w) = (&SYSTEM, &WORKLOAD);
        match key {
            "site" => self.site = word(SITES, from.read(&s.site)?),
            "command" => self.command = from.read(&s.command)?.iter().map(|&t| t.into()).collect(),
            "address" => self.address = Some(from.read(&s.address)?.to_owned()),
            "ready" => self.ready = Some(from.read(&s.ready)?.to_owned()),
            "ready_within" => self.ready_within = from.read(&s.ready_within)?.as_secs_f64(),
            "database" => self.database = Some(from.read(&s.database)?.to_owned()),
            "extra_cpu" => self.extra_cpu = from.read(&s.extra_cpu)?.as_secs_f64(),
            "gate" => self.gate = from.read(&s.gate)?,
            "policy" => self.policy = from.read(&s.policy)?.to_owned(),
            "certificate" => {
                self.certificate = word(CERTIFICATES, from.read(&s.certificate)?);
            }
            "tls" => self.tls = word(TLS, from.read(&s.tls)?),
            "trace" => self.trace = from.read(&s.trace)?,
            "processors" => self.processors = from.read(&s.processors)?.try_into().ok()?,
            "processor_share" => self.processor_share = Some(from.read(&s.processor_share)?),
            "scenario" => self.scenario = scenario(from.read(&w.scenario)?, from)?,
            "load" => (self.load, self.rate) = (Some(from.read(&w.load)?), None),
            "rate" => (self.rate, self.load) = (Some(from.read(&w.rate)?), None),
            "time_scale" => self.time_scale = from.read(&w.time_scale)?,
            "patience_scale" => self.patience_scale = from.read(&w.patience_scale)?,
            _ => return None,
        }
        Some(())
    }

    /// The keys that a factor can vary.
    pub(super) fn keys() -> Vec<&'static str> {
        let all = SYSTEM.names().into_iter().chain(WORKLOAD.names());
        all.filter(|name| *name != "ready_within").collect()
    }

    /// Settings that have the same capacity: all but the policy and the offered load.
    pub fn capacity_key(&self) -> String {
        let same = Self { policy: "off".into(), load: None, rate: None, ..self.clone() };
        serde_json::to_string(&same).expect("plain fields are written without errors")
    }
}

/// The name of a scenario that ships, or the path of a file that is one. `None` after a
/// mistake.
fn scenario(name: &str, from: From<'_, '_>) -> Option<String> {
    if Scenario::built_in_text(name).is_some() {
        return Some(name.to_owned());
    }
    let value = match from {
        From::Table(section) => section.get("scenario")?,
        From::Level(value) => value.clone(),
    };
    let path = value.resolve(name);
    match Scenario::from_file(&path) {
        Ok(_) => Some(path.to_string_lossy().into_owned()),
        Err(_) if !path.exists() => {
            let remedy = format!("name a file, or one of {}", BUILT_IN.join(", "));
            value.wrong("is neither a file nor a scenario that ships", remedy);
            None
        }
        Err(error) => {
            value.wrong(
                format!("is no valid scenario: {error}"),
                "`tidegate check FILE` lists its mistakes",
            );
            None
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_sets_a_field_of_its_name() {
        let fields = Settings::default().fields();
        for name in SYSTEM.names().into_iter().chain(WORKLOAD.names()) {
            assert!(fields.contains_key(name), "{name}");
        }
        assert_eq!(fields.len(), SYSTEM.names().len() + WORKLOAD.names().len());
    }

    #[test]
    fn a_level_changes_its_field_alone_and_a_rate_takes_the_place_of_a_load() {
        let text = "policy = \"off\"\nrate = 3";
        let (policy, rate) = tidegate_config::read(text, "x", |root| {
            let level = |key: &str| Settings::level(key, &root.get(key).unwrap());
            Some((level("policy")?, level("rate")?))
        })
        .unwrap();
        let base = Settings { load: Some(2.0), policy: "tide".into(), ..Settings::default() };
        assert_eq!(base.with(&policy), Settings { policy: "off".into(), ..base.clone() });
        assert_eq!(base.with(&rate), Settings { load: None, rate: Some(3.0), ..base.clone() });
        assert_eq!(base.capacity_key(), base.with(&policy).with(&rate).capacity_key());
    }
}
