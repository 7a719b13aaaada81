//! Rules: what a value of a setting may be, how that is described, and what
//! to say when it is not.

use super::choices::{Cores, Processes, Word};
use super::origin::Origin;
use super::units::{parse_duration, parse_size, show_duration, show_size};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// A value as it was given, before any rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// Text of a flag or a default: its type was not stated.
    Bare(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer or float in decimal digits.
    Number(String),
    /// A TOML boolean.
    Bool(bool),
    /// A TOML array.
    List(Vec<Raw>),
    /// Any other TOML value.
    Other,
}

/// Which rule a value breaks, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule: `must be 1ms to 10s`.
    pub rule: String,
    /// What to do: `try 20ms`.
    pub remedy: String,
}

impl Problem {
    /// Both in words.
    pub fn new(rule: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule: rule.into(), remedy: remedy.into() }
    }
}

/// How a rule shows in the reference.
pub trait Describe {
    /// Type in a word or two.
    fn kind(&self) -> String;
    /// Allowed values.
    fn range(&self) -> String;
    /// Bare text of a value as TOML.
    fn toml(&self, bare: &str) -> String {
        format!("{bare:?}")
    }
}

/// Turns a raw value into a checked one.
pub trait Rule<T>: Describe {
    /// # Errors
    /// The rule that is broken.
    fn check(&self, raw: &Raw) -> Result<T, Problem>;
    /// The value of a setting that is not set, where that is allowed.
    fn absent(&self) -> Option<T> {
        None
    }
}

impl<T, R: Rule<T>> Rule<Option<T>> for R {
    fn check(&self, raw: &Raw) -> Result<Option<T>, Problem> {
        Rule::<T>::check(self, raw).map(Some)
    }

    fn absent(&self) -> Option<Option<T>> {
        Some(None)
    }
}

/// The text of a value whose rule wants text; `example` shows how to quote.
fn text<'r>(raw: &'r Raw, example: &str) -> Result<&'r str, Problem> {
    match raw {
        Raw::Text(text) | Raw::Bare(text) => Ok(text),
        _ => Err(Problem::new("must be text in quotes", format!("write it as {example:?}"))),
    }
}

/// A duration between two bounds, both included.
pub struct Time {
    low: &'static str,
    high: &'static str,
}

impl Time {
    /// Bounds as written in a file; a test reads every one.
    pub const fn new(low: &'static str, high: &'static str) -> Self {
        Self { low, high }
    }

    fn bounds(&self) -> (Duration, Duration) {
        let read = |text| parse_duration(text).expect("bounds of rules are tested");
        (read(self.low), read(self.high))
    }
}

impl Describe for Time {
    fn kind(&self) -> String {
        "duration".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }
}

impl Rule<Duration> for Time {
    fn check(&self, raw: &Raw) -> Result<Duration, Problem> {
        let rule = || format!("must be a duration of {}", self.range());
        let (low, high) = self.bounds();
        if let Raw::Number(number) = raw {
            return Err(Problem::new(rule(), format!("add the unit, as in \"{number}s\"")));
        }
        let given = text(raw, self.low)?;
        let Some(value) = parse_duration(given) else {
            let remedy = "write a number and one of ms, s, m, h, d, as in \"10s\"";
            return Err(Problem::new(rule(), remedy));
        };
        if value < low || value > high {
            let nearest = show_duration(value.clamp(low, high));
            return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
        }
        Ok(value)
    }
}

/// A size in bytes between two bounds, both included.
pub struct Bytes {
    low: &'static str,
    high: &'static str,
}

impl Bytes {
    /// Bounds as written in a file; a test reads every one.
    pub const fn new(low: &'static str, high: &'static str) -> Self {
        Self { low, high }
    }
}

impl Describe for Bytes {
    fn kind(&self) -> String {
        "size".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }
}

impl Rule<usize> for Bytes {
    fn check(&self, raw: &Raw) -> Result<usize, Problem> {
        let rule = || format!("must be a size of {}", self.range());
        let read = |text| parse_size(text).expect("bounds of rules are tested");
        let (low, high) = (read(self.low), read(self.high));
        if let Raw::Number(number) = raw {
            return Err(Problem::new(rule(), format!("add the unit, as in \"{number}B\"")));
        }
        let Some(value) = parse_size(text(raw, self.low)?) else {
            let remedy = "write a number and one of B, KiB, MiB, GiB, as in \"64KiB\"";
            return Err(Problem::new(rule(), remedy));
        };
        if value < low || value > high {
            let nearest = show_size(value.clamp(low, high));
            return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
        }
        usize::try_from(value).map_err(|_| Problem::new(rule(), "choose less"))
    }
}

/// A number between two bounds, both included.
pub struct Number {
    low: f64,
    high: f64,
}

impl Number {
    /// Bounds.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }
}

impl Describe for Number {
    fn kind(&self) -> String {
        "number".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<f64> for Number {
    fn check(&self, raw: &Raw) -> Result<f64, Problem> {
        let value = number(raw, &self.range())?.parse::<f64>().ok().filter(|value| !value.is_nan());
        let rule = || format!("must be a number of {}", self.range());
        let value = value.ok_or_else(|| Problem::new(rule(), "write digits, as in 20 or 0.5"))?;
        if value < self.low || value > self.high {
            let nearest = value.clamp(self.low, self.high);
            return Err(Problem::new(rule(), format!("try {nearest}")));
        }
        Ok(value)
    }
}

/// A whole number between two bounds, both included.
pub struct Whole {
    low: u64,
    high: u64,
}

impl Whole {
    /// Bounds.
    pub const fn new(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    fn value(&self, raw: &Raw) -> Result<u64, Problem> {
        let rule = || format!("must be a whole number of {}", self.range());
        let digits = number(raw, &self.range())?;
        let value = match digits.parse::<i128>() {
            Ok(value) => value,
            Err(_) => return Err(Problem::new(rule(), "write digits only")),
        };
        if value < self.low.into() || value > self.high.into() {
            let nearest = value.clamp(self.low.into(), self.high.into());
            return Err(Problem::new(rule(), format!("try {nearest}")));
        }
        u64::try_from(value).map_err(|_| Problem::new(rule(), "write digits only"))
    }
}

impl Describe for Whole {
    fn kind(&self) -> String {
        "whole number".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<usize> for Whole {
    fn check(&self, raw: &Raw) -> Result<usize, Problem> {
        self.value(raw)?.try_into().map_err(|_| Problem::new("is too large", "choose less"))
    }
}

impl Rule<u32> for Whole {
    fn check(&self, raw: &Raw) -> Result<u32, Problem> {
        self.value(raw)?.try_into().map_err(|_| Problem::new("is too large", "choose less"))
    }
}

/// The digits of a number.
fn number<'r>(raw: &'r Raw, range: &str) -> Result<&'r str, Problem> {
    match raw {
        Raw::Number(digits) | Raw::Bare(digits) => Ok(digits),
        Raw::Text(text) if text.parse::<f64>().is_ok() => {
            let rule = format!("must be a number of {range}");
            Err(Problem::new(rule, format!("leave out the quotes: {text}")))
        }
        _ => Err(Problem::new(
            format!("must be a number of {range}"),
            "write digits, without quotes",
        )),
    }
}

/// Yes or no.
pub struct Flag;

impl Describe for Flag {
    fn kind(&self) -> String {
        "boolean".into()
    }

    fn range(&self) -> String {
        "true or false".into()
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<bool> for Flag {
    fn check(&self, raw: &Raw) -> Result<bool, Problem> {
        match raw {
            Raw::Bool(value) => Ok(*value),
            Raw::Bare(text) if text == "true" => Ok(true),
            Raw::Bare(text) if text == "false" => Ok(false),
            _ => Err(Problem::new("must be true or false", "write it without quotes")),
        }
    }
}

/// One of a few words.
pub struct Choice<T: 'static> {
    all: &'static [T],
}

impl<T: Word> Choice<T> {
    /// The allowed values.
    pub const fn new(all: &'static [T]) -> Self {
        Self { all }
    }

    fn words(&self) -> Vec<&'static str> {
        self.all.iter().map(|value| value.word()).collect()
    }
}

impl<T: Word> Describe for Choice<T> {
    fn kind(&self) -> String {
        "word".into()
    }

    fn range(&self) -> String {
        self.words().join(", ")
    }
}

impl<T: Word> Rule<T> for Choice<T> {
    fn check(&self, raw: &Raw) -> Result<T, Problem> {
        let rule = || format!("must be one of {}", self.range());
        let given = text(raw, self.words()[0])?;
        self.all.iter().copied().find(|value| value.word() == given).ok_or_else(|| {
            let near = super::suggest::nearest(given, self.words());
            Problem::new(
                rule(),
                match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("try \"{}\"", self.words()[0]),
                },
            )
        })
    }
}

/// An address and port.
pub struct Address;

impl Describe for Address {
    fn kind(&self) -> String {
        "address".into()
    }

    fn range(&self) -> String {
        "IP address and port, such as 0.0.0.0:443 or [::]:443".into()
    }
}

impl Rule<SocketAddr> for Address {
    fn check(&self, raw: &Raw) -> Result<SocketAddr, Problem> {
        let given = text(raw, "127.0.0.1:8443")?;
        let rule = "must be an IP address and a port";
        if let Ok(address) = given.parse() {
            return Ok(address);
        }
        let port = given.strip_prefix(':').or(given.strip_prefix("*:")).unwrap_or(given);
        if port.parse::<u16>().is_ok() {
            let remedy = format!("\"0.0.0.0:{port}\" is that port on all addresses");
            return Err(Problem::new(rule, remedy));
        }
        if let Some(port) = given.strip_prefix("localhost:") {
            return Err(Problem::new(rule, format!("try \"127.0.0.1:{port}\"")));
        }
        Err(Problem::new(rule, "write it as \"127.0.0.1:8443\" or \"[::1]:8443\""))
    }
}

/// The other rule, or the word `off`.
pub struct OrOff<R>(pub R);

impl<R: Describe> Describe for OrOff<R> {
    fn kind(&self) -> String {
        format!("{} or word", self.0.kind())
    }

    fn range(&self) -> String {
        format!("{}; or off", self.0.range())
    }

    fn toml(&self, bare: &str) -> String {
        self.0.toml(bare)
    }
}

impl Rule<Option<SocketAddr>> for OrOff<Address> {
    fn check(&self, raw: &Raw) -> Result<Option<SocketAddr>, Problem> {
        match raw {
            Raw::Text(text) | Raw::Bare(text) if text == "off" => Ok(None),
            _ => Rule::<SocketAddr>::check(&self.0, raw).map(Some),
        }
    }
}

/// A path; whether something is there is found out when it is read.
pub struct FilePath;

impl Describe for FilePath {
    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, or relative to the configuration file".into()
    }
}

impl Rule<PathBuf> for FilePath {
    fn check(&self, raw: &Raw) -> Result<PathBuf, Problem> {
        let given = text(raw, "/etc/tidegate/cert.pem")?;
        if given.is_empty() || given.contains('\0') {
            return Err(Problem::new("must be a path", "name a file, or leave the setting out"));
        }
        Ok(given.into())
    }
}

/// A control group.
pub struct GroupPath;

impl Describe for GroupPath {
    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, below the cgroup mount".into()
    }
}

impl Rule<PathBuf> for GroupPath {
    fn check(&self, raw: &Raw) -> Result<PathBuf, Problem> {
        let given = text(raw, "/shop.slice")?;
        let rule = "must be a control group's path, beginning with /";
        if let Some(below) = given.strip_prefix("/sys/fs/cgroup/") {
            return Err(Problem::new(rule, format!("leave out the mount: try \"/{below}\"")));
        }
        let plain = !given.contains('\0') && given.split('/').all(|part| part != "..");
        if !given.starts_with('/') || !plain {
            return Err(Problem::new(rule, "write it as \"/shop.slice\""));
        }
        Ok(given.into())
    }
}

/// Scheme, host and port.
pub struct Url;

impl Describe for Url {
    fn kind(&self) -> String {
        "URL".into()
    }

    fn range(&self) -> String {
        "http or https, a host, a port; no path".into()
    }
}

impl Rule<Origin> for Url {
    fn check(&self, raw: &Raw) -> Result<Origin, Problem> {
        let given = text(raw, "http://127.0.0.1:8080")?;
        let rule = "must be a URL of http:// or https:// with a host and no path";
        let parsed = url::Url::parse(given);
        let Ok(url) = parsed else {
            let remedy = match url::Url::parse(&format!("http://{given}")) {
                Ok(url) if url.has_host() => format!("try \"http://{given}\""),
                _ => "write it as \"http://127.0.0.1:8080\"".into(),
            };
            return Err(Problem::new(rule, remedy));
        };
        let tls = match url.scheme() {
            "http" => false,
            "https" => true,
            // `localhost:8080` parses as a URL of scheme `localhost`.
            _ if !url.has_host() => {
                return Err(Problem::new(rule, format!("try \"http://{given}\"")));
            }
            other => return Err(Problem::new(rule, format!("\"{other}\" cannot be proxied"))),
        };
        let host = match url.host() {
            Some(url::Host::Domain(name)) => name.to_owned(),
            Some(url::Host::Ipv4(address)) => address.to_string(),
            Some(url::Host::Ipv6(address)) => address.to_string(),
            None => return Err(Problem::new(rule, "name the host")),
        };
        let port = url.port_or_known_default().unwrap_or(80);
        let origin = Origin { tls, host, port };
        let bare = url.path() == "/" && url.query().is_none() && url.fragment().is_none();
        if !bare || !url.username().is_empty() || url.password().is_some() {
            return Err(Problem::new(rule, format!("try \"{origin}\"")));
        }
        if port == 0 {
            return Err(Problem::new(rule, "name a port of 1 to 65535"));
        }
        Ok(origin)
    }
}

/// Processor cores.
pub struct CoreList;

/// The kernel's own limit on processors is below this.
const CORES: usize = 8192;

impl Describe for CoreList {
    fn kind(&self) -> String {
        "cores".into()
    }

    fn range(&self) -> String {
        "all, a list in quotes such as 0,2-3, or an array".into()
    }
}

impl Rule<Cores> for CoreList {
    fn check(&self, raw: &Raw) -> Result<Cores, Problem> {
        let rule = "must be \"all\" or numbers of processor cores";
        let problem = || Problem::new(rule, "write \"all\", \"0,2-3\" or [0, 2, 3]");
        let mut list = match raw {
            Raw::Text(text) | Raw::Bare(text) if text == "all" => return Ok(Cores::All),
            Raw::Text(text) | Raw::Bare(text) => {
                crate::usage::parse_cpu_list(text).ok_or_else(problem)?
            }
            Raw::List(items) => whole_items(items).ok_or_else(problem)?,
            _ => return Err(problem()),
        };
        list.sort_unstable();
        list.dedup();
        if list.is_empty() || list.iter().any(|core| *core >= CORES) {
            return Err(problem());
        }
        Ok(Cores::List(list))
    }
}

fn whole_items<N: std::str::FromStr>(items: &[Raw]) -> Option<Vec<N>> {
    let read = |item: &Raw| match item {
        Raw::Number(digits) => digits.parse().ok(),
        _ => None,
    };
    items.iter().map(read).collect()
}

/// Process ids.
pub struct ProcessList;

/// The kernel's largest `pid_max`.
const PIDS: u32 = 4_194_304;

impl Describe for ProcessList {
    fn kind(&self) -> String {
        "word or process ids".into()
    }

    fn range(&self) -> String {
        "auto, none, or an array of process ids".into()
    }
}

impl Rule<Processes> for ProcessList {
    fn check(&self, raw: &Raw) -> Result<Processes, Problem> {
        let rule = "must be \"auto\", \"none\" or process ids";
        let problem = || Problem::new(rule, "write \"auto\", \"none\" or [1234]");
        let list: Vec<u32> = match raw {
            Raw::Text(text) | Raw::Bare(text) if text == "auto" => return Ok(Processes::Auto),
            Raw::Text(text) | Raw::Bare(text) if text == "none" => return Ok(Processes::None),
            Raw::List(items) => whole_items(items).ok_or_else(problem)?,
            _ => return Err(problem()),
        };
        if list.is_empty() || list.len() > 1024 || list.iter().any(|pid| !(1..=PIDS).contains(pid))
        {
            return Err(problem());
        }
        Ok(Processes::List(list))
    }
}

/// Host names and addresses.
pub struct Names;

impl Describe for Names {
    fn kind(&self) -> String {
        "list of names".into()
    }

    fn range(&self) -> String {
        "1 to 100 host names or IP addresses".into()
    }

    fn toml(&self, bare: &str) -> String {
        let quoted: Vec<_> = bare.split(',').map(|name| format!("{:?}", name.trim())).collect();
        format!("[{}]", quoted.join(", "))
    }
}

impl Rule<Vec<String>> for Names {
    fn check(&self, raw: &Raw) -> Result<Vec<String>, Problem> {
        let rule = "must be 1 to 100 host names or IP addresses";
        let problem = || Problem::new(rule, "write [\"localhost\", \"127.0.0.1\"]");
        let names: Vec<String> = match raw {
            Raw::Bare(text) => text.split(',').map(|name| name.trim().to_owned()).collect(),
            Raw::List(items) => {
                let read = |item: &Raw| match item {
                    Raw::Text(text) => Some(text.clone()),
                    _ => None,
                };
                items.iter().map(read).collect::<Option<_>>().ok_or_else(problem)?
            }
            _ => return Err(problem()),
        };
        let fine = |name: &String| {
            name.parse::<std::net::IpAddr>().is_ok()
                || rustls::pki_types::DnsName::try_from(name.as_str()).is_ok()
        };
        if names.is_empty() || names.len() > 100 {
            return Err(problem());
        }
        match names.iter().find(|name| !fine(name)) {
            Some(name) => Err(Problem::new(rule, format!("{name:?} is neither"))),
            None => Ok(names),
        }
    }
}

/// A filter of log levels.
pub struct Filter;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl Describe for Filter {
    fn kind(&self) -> String {
        "log filter".into()
    }

    fn range(&self) -> String {
        format!("{}; or target=level, several with commas", LEVELS.join(", "))
    }
}

impl Rule<String> for Filter {
    fn check(&self, raw: &Raw) -> Result<String, Problem> {
        let given = text(raw, "info")?;
        let rule = format!("must be {}", self.range());
        for part in given.split(',') {
            let (target, level) = part.split_once('=').unwrap_or(("", part));
            let named = target.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
            if !named || !LEVELS.contains(&level) || (target.is_empty() && part.contains('=')) {
                let remedy = match super::suggest::nearest(level, LEVELS) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "try \"info\"".into(),
                };
                return Err(Problem::new(rule, remedy));
            }
        }
        Ok(given.to_owned())
    }
}
