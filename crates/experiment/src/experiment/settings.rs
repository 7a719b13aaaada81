//! The settings of one run, and how the keys of a file set them.

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value as Json};
use tidegate_config::{Key, Keys, Rule, Section, Value};
use tidegate_load::Scenario;
use tidegate_load::scenario::BUILT_IN;

use super::keys::{
    BUILDS, CERTIFICATES, CONFIGURATIONS, GROUPS, HANDSHAKES, KEEPS, PASSWORD_COSTS,
    PASSWORD_SITES, SECURITY, SITES, SIZES, STUBS, SUITES, SYSTEM, TLS, WORKLOAD,
};
use crate::faults::{BUILT_IN as BUILT_IN_FAULTS, Faults};
use crate::metrics::messages;

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
    /// Database of the site; SQLite without one.
    pub database: Option<String>,
    /// How the browse pages of the shop are made.
    #[serde(default = "absent::build")]
    pub build: String,
    /// Whether the gate serves its browse pages from files.
    #[serde(default)]
    pub static_tier: bool,
    /// Size of the shop.
    #[serde(default = "absent::size")]
    pub size: String,
    /// Additional CPU time of a page, in seconds.
    pub extra_cpu: f64,
    /// Processors that another program uses beside service and gate.
    #[serde(default)]
    pub neighbour: f64,
    /// Whether a gate stands before the service.
    pub gate: bool,
    /// The message service and its security.
    #[serde(default)]
    pub configuration: Option<String>,
    /// Its admission policy.
    pub policy: String,
    /// Whether customers who are not admitted wait in the gate's waiting room.
    #[serde(default)]
    pub room: bool,
    /// What secures the connections of the brokerage.
    #[serde(default = "absent::security")]
    pub security: String,
    /// Its link from web to application tier, if it is not that of `security`.
    #[serde(default)]
    pub web_app: Option<String>,
    /// Its link from application to data tier.
    #[serde(default)]
    pub app_data: Option<String>,
    /// What makes its pages.
    #[serde(default = "absent::stub")]
    pub stub: String,
    /// Its application servers.
    #[serde(default = "absent::app_servers")]
    pub app_servers: u32,
    /// How much of a core each of them may use; 1 limits none.
    #[serde(default = "absent::whole")]
    pub app_server_share: f64,
    /// How much of a core the PostgreSQL server of the run may use; 1 does not limit it.
    #[serde(default = "absent::whole")]
    pub database_share: f64,
    /// Cost of a password hash of the site.
    #[serde(default = "absent::password_cost")]
    pub password_cost: String,
    /// Kind of the certificate that customers meet.
    pub certificate: String,
    /// TLS versions that customers offer: `both`, `1.2` or `1.3`.
    pub tls: String,
    /// Key exchange group that they offer, or `all`.
    #[serde(default = "absent::group")]
    pub group: String,
    /// Cipher that they offer, or `all`.
    #[serde(default = "absent::group")]
    pub suite: String,
    /// Whether they show a certificate, which the brokerage demands.
    #[serde(default)]
    pub mutual: bool,
    /// Whether they verify the site's certificate.
    #[serde(default)]
    pub verify: bool,
    /// Whether the brokerage has static pages of given sizes.
    #[serde(default)]
    pub measured_pages: bool,
    /// Whether gate, site and customers are traced, where there is a gate.
    #[serde(default)]
    pub trace: bool,
    /// The fleet that serves and what goes wrong with it, by name or path.
    #[serde(default)]
    pub faults: Option<String>,
    /// Processors of service and gate.
    pub processors: u32,
    /// Whether the service and what comes share all processors.
    #[serde(default)]
    pub shared_processors: bool,
    /// How much of a core each of them is; none until resources are known.
    pub processor_share: Option<f64>,
    /// The customers' scenario, by name or path.
    pub scenario: String,
    /// Offered load as a multiple of the capacity.
    pub load: Option<f64>,
    /// Offered sessions per second.
    pub rate: Option<f64>,
    /// Customers at a time, in a closed loop.
    #[serde(default)]
    pub customers: Option<u32>,
    /// What their connections are kept for; as the scenario says without.
    #[serde(default)]
    pub keep: Option<String>,
    /// Their handshakes: `resumed` or `full`.
    #[serde(default = "absent::handshakes")]
    pub handshakes: String,
    /// Whether a relay stands before the system.
    #[serde(default)]
    pub relay: bool,
    /// Round-trip time that it adds, in seconds.
    #[serde(default)]
    pub round_trip: f64,
    /// Factor of the customers' times.
    pub time_scale: f64,
    /// Further factor of their patience.
    pub patience_scale: f64,
    /// How many times as many sessions arrive in the second quarter of the measured window.
    #[serde(default)]
    pub crowd: Option<f64>,
    /// Factor of the times of the windows.
    #[serde(default)]
    pub window_scale: Option<f64>,
}

/// What results lack that were measured before these keys were there.
mod absent {
    pub(super) fn build() -> String {
        "baseline".into()
    }

    pub(super) fn size() -> String {
        "small".into()
    }

    pub(super) fn security() -> String {
        "none".into()
    }

    pub(super) fn stub() -> String {
        "in-process".into()
    }

    pub(super) fn app_servers() -> u32 {
        1
    }

    pub(super) fn whole() -> f64 {
        1.0
    }

    pub(super) fn password_cost() -> String {
        super::LIGHT.into()
    }

    pub(super) fn group() -> String {
        "all".into()
    }

    pub(super) fn handshakes() -> String {
        "resumed".into()
    }
}

/// The cost of a password hash unless another one is set.
pub(super) const LIGHT: &str = PASSWORD_COSTS[0];
/// The keys that say how many customers come: one of them has a value.
pub const LOADS: [&str; 3] = ["load", "rate", "customers"];

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

    fn value(self, key: &str) -> Option<Value<'r>> {
        match self {
            Self::Table(section) => section.get(key),
            Self::Level(value) => Some(value.clone()),
        }
    }
}

impl Settings {
    /// Whether there is a trace through all levels: it is asked for, and there is a gate.
    pub fn is_traced(&self) -> bool {
        self.trace && self.gate
    }

    /// Whether a gate of this program stands before the service.
    pub(super) fn has_own_gate(&self) -> bool {
        self.gate && !self.policy.starts_with("peer:")
    }

    /// Whether several gates on hosts of their own can be measured with it.
    pub(super) fn can_be_a_fleet(&self) -> bool {
        let plain = self.site == "auction" && self.command.is_empty() && self.database.is_none();
        plain && self.has_own_gate() && !self.relay && !self.trace
    }

    /// Whether it says how many customers come.
    pub(super) fn has_load(&self) -> bool {
        self.load.or(self.rate).is_some() || self.customers.is_some()
    }

    /// Whether the service is a message service.
    pub fn is_of_messages(&self) -> bool {
        self.site == messages::SITE
    }

    /// Whether the service compiles its code while it runs, so that it is measured once it is warm.
    pub fn warms_up(&self) -> bool {
        self.command.is_empty() && ["tomcat", "node"].contains(&self.site.as_str())
    }

    /// Whether the service can be kept through several runs: it is what it was after a run, and
    /// none of its servers is in a control group of the run's.
    pub(super) fn can_be_kept(&self) -> bool {
        let is_shared = self.app_server_share >= 1.0 && self.database_share >= 1.0;
        !self.is_of_messages() && self.faults.is_none() && is_shared
    }

    /// Whether the service is one whose cost of a password can be set.
    pub(super) fn hashes_passwords(&self) -> bool {
        self.command.is_empty() && PASSWORD_SITES.contains(&self.site.as_str())
    }

    /// The settings of the tables `system` and `workload`. After a mistake, which the reader
    /// has noted, a field is empty.
    pub(super) fn read(system: &Section<'_>, workload: &Section<'_>) -> Self {
        let mut settings = Self::default();
        for (section, names) in [(system, SYSTEM.names()), (workload, WORKLOAD.names())] {
            for name in names {
                settings.put(name, From::Table(section));
            }
        }
        if !settings.has_load() && !settings.is_of_messages() {
            settings.load = Some(1.0);
        }
        settings
    }

    /// The fields that a level sets: a value of this key. `None` after a mistake.
    pub(super) fn level(key: &str, value: &Value<'_>) -> Option<Map<String, Json>> {
        let mut settings = Self::default();
        settings.put(key, From::Level(value))?;
        let mut fields = settings.fields();
        let is_load = |name: &str| LOADS.contains(&name);
        fields.retain(|name, _| name == key || (is_load(key) && is_load(name)));
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
            "build" => self.build = word(BUILDS, from.read(&s.build)?),
            "static_tier" => self.static_tier = from.read(&s.static_tier)?,
            "size" => self.size = word(SIZES, from.read(&s.size)?),
            "extra_cpu" => self.extra_cpu = from.read(&s.extra_cpu)?.as_secs_f64(),
            "neighbour" => self.neighbour = from.read(&s.neighbour)?,
            "gate" => self.gate = from.read(&s.gate)?,
            "configuration" => {
                self.configuration = Some(word(CONFIGURATIONS, from.read(&s.configuration)?));
            }
            "policy" => self.policy = from.read(&s.policy)?.to_owned(),
            "room" => self.room = from.read(&s.room)?,
            "certificate" => {
                self.certificate = word(CERTIFICATES, from.read(&s.certificate)?);
            }
            "security" => self.security = word(SECURITY, from.read(&s.security)?),
            "web_app" => self.web_app = Some(from.read(&s.web_app)?.to_owned()),
            "app_data" => self.app_data = Some(from.read(&s.app_data)?.to_owned()),
            "stub" => self.stub = word(STUBS, from.read(&s.stub)?),
            "app_servers" => self.app_servers = from.read(&s.app_servers)?.try_into().ok()?,
            "app_server_share" => self.app_server_share = from.read(&s.app_server_share)?,
            "database_share" => self.database_share = from.read(&s.database_share)?,
            "password_cost" => {
                self.password_cost = word(PASSWORD_COSTS, from.read(&s.password_cost)?);
            }
            "tls" => self.tls = word(TLS, from.read(&s.tls)?),
            "group" => self.group = word(GROUPS, from.read(&s.group)?),
            "suite" => self.suite = word(SUITES, from.read(&s.suite)?),
            "mutual" => self.mutual = from.read(&s.mutual)?,
            "verify" => self.verify = from.read(&s.verify)?,
            "measured_pages" => self.measured_pages = from.read(&s.measured_pages)?,
            "trace" => self.trace = from.read(&s.trace)?,
            "faults" => self.faults = Some(faults(from.read(&s.faults)?, from)?),
            "processors" => self.processors = from.read(&s.processors)?.try_into().ok()?,
            "shared_processors" => self.shared_processors = from.read(&s.shared_processors)?,
            "processor_share" => self.processor_share = Some(from.read(&s.processor_share)?),
            "scenario" => self.scenario = scenario(from.read(&w.scenario)?, from)?,
            "load" => self.offer((Some(from.read(&w.load)?), None, None)),
            "rate" => self.offer((None, Some(from.read(&w.rate)?), None)),
            "customers" => {
                self.offer((None, None, Some(from.read(&w.customers)?.try_into().ok()?)));
            }
            "keep" => self.keep = Some(word(KEEPS, from.read(&w.keep)?)),
            "handshakes" => self.handshakes = word(HANDSHAKES, from.read(&w.handshakes)?),
            "relay" => self.relay = from.read(&w.relay)?,
            "round_trip" => self.round_trip = from.read(&w.round_trip)?.as_secs_f64(),
            "time_scale" => self.time_scale = from.read(&w.time_scale)?,
            "crowd" => self.crowd = Some(from.read(&w.crowd)?),
            "window_scale" => self.window_scale = Some(from.read(&w.window_scale)?),
            "patience_scale" => self.patience_scale = from.read(&w.patience_scale)?,
            _ => return None,
        }
        Some(())
    }

    fn offer(&mut self, offered: (Option<f64>, Option<f64>, Option<u32>)) {
        (self.load, self.rate, self.customers) = offered;
    }

    /// The keys that a factor can vary.
    pub(super) fn keys() -> Vec<&'static str> {
        let all = SYSTEM.names().into_iter().chain(WORKLOAD.names());
        all.filter(|name| *name != "ready_within").collect()
    }

    /// Settings that have the same capacity: all but the policy and the offered load and, of a
    /// fleet, all but the number of services. No fault comes while the capacity is measured, and
    /// without admission control gates do not limit it.
    pub fn capacity_key(&self) -> String {
        let services = |name: &String| match Faults::named(name) {
            Ok(faults) => format!("{} services", faults.services),
            Err(_) => name.clone(),
        };
        let faults = self.faults.as_ref().map(services);
        let mut same =
            Self { policy: "off".into(), crowd: None, window_scale: None, faults, ..self.clone() };
        same.offer((None, None, None));
        serde_json::to_string(&same).expect("plain fields are written without errors")
    }

    /// Settings that one started service can serve: those of the same capacity, and for Tomcat and
    /// Node, which listen with and without TLS, both with a gate and without.
    pub fn service_key(&self) -> String {
        Self { gate: self.gate && !self.warms_up(), ..self.clone() }.capacity_key()
    }
}

/// The name of a fault file that ships, or the path of a file that is one. `None` after a mistake.
fn faults(name: &str, from: From<'_, '_>) -> Option<String> {
    let value = from.value("faults")?;
    let name = match BUILT_IN_FAULTS.iter().any(|(known, _)| *known == name) {
        true => name.to_owned(),
        false => value.resolve(name).to_string_lossy().into_owned(),
    };
    let read = Faults::named(&name);
    read.map_err(|wrong| value.wrong(format!("is no valid fault file: {wrong}"), "mend it"))
        .ok()?;
    Some(name)
}

/// The name of a scenario that ships, or the path of a file that is one. `None` after a
/// mistake.
fn scenario(name: &str, from: From<'_, '_>) -> Option<String> {
    if Scenario::built_in_text(name).is_some() {
        return Some(name.to_owned());
    }
    let value = from.value("scenario")?;
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
    fn results_of_before_a_key_have_its_default() {
        let mut settings = None;
        tidegate_config::read("", "x", |root| {
            let empty = || root.table_or_empty("none");
            settings = Some(Settings::read(&empty(), &empty()));
            Some(())
        })
        .unwrap();
        let mut fields = settings.clone().unwrap().fields();
        let later = ["security", "web_app", "app_data", "stub", "app_servers", "app_server_share"];
        let later = later.into_iter().chain(["password_cost", "group", "customers", "keep"]);
        let later = later.chain(["handshakes", "trace", "configuration", "shared_processors"]);
        let later = later.chain(["build", "size", "suite", "mutual", "verify", "measured_pages"]);
        let later = later.chain(["relay", "round_trip", "database_share", "faults"]);
        later.for_each(|name| assert!(fields.remove(name).is_some(), "{name}"));
        let read = serde_json::from_value(Json::Object(fields)).unwrap();
        assert_eq!(settings, Some(read));
    }

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
        let text = "policy = \"off\"\nrate = 3\ncustomers = 7";
        let (policy, rate, customers) = tidegate_config::read(text, "x", |root| {
            let level = |key: &str| Settings::level(key, &root.get(key).unwrap());
            Some((level("policy")?, level("rate")?, level("customers")?))
        })
        .unwrap();
        let base = Settings { load: Some(2.0), policy: "tide".into(), ..Settings::default() };
        assert_eq!(base.with(&policy), Settings { policy: "off".into(), ..base.clone() });
        assert_eq!(base.with(&rate), Settings { load: None, rate: Some(3.0), ..base.clone() });
        let closed = base.with(&rate).with(&customers);
        assert_eq!(closed, Settings { load: None, customers: Some(7), ..base.clone() });
        assert_eq!(base.capacity_key(), base.with(&policy).with(&rate).capacity_key());
        assert_eq!(base.capacity_key(), closed.capacity_key());
        let fleet = |faults: &str| Settings { faults: Some(faults.into()), ..base.clone() };
        assert_eq!(fleet("one-gate").capacity_key(), fleet("nats-gone").capacity_key());
        assert_ne!(fleet("none").capacity_key(), base.capacity_key());
    }

    #[test]
    fn one_tomcat_serves_with_a_gate_and_without_but_has_a_capacity_of_each() {
        let of = |site: &str, gate| Settings { site: site.into(), gate, ..Settings::default() };
        let (alone, behind) = (of("tomcat", false), of("tomcat", true));
        assert_eq!(alone.service_key(), behind.service_key());
        assert_ne!(alone.capacity_key(), behind.capacity_key());
        assert_ne!(of("auction", false).service_key(), of("auction", true).service_key());
        assert_ne!(of("node", false).service_key(), alone.service_key());
    }
}
