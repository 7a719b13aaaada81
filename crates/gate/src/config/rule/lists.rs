//! Rules of lists: processors, processes, names, log filters.

use super::{Describe, Problem, Raw, Rule, text};
use crate::config::choices::{Cores, Processes};
use crate::config::suggest::nearest;

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
                let cores = text.parse::<tidegate_host::Cores>().map_err(|_| problem())?;
                cores.list().to_vec()
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
                let remedy = match nearest(level, LEVELS) {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => "try \"info\"".into(),
                };
                return Err(Problem::new(rule, remedy));
            }
        }
        Ok(given.to_owned())
    }
}
