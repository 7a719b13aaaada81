//! Rules of values of upstreams and routes: names of hosts and pools, active checks.

use crate::host::HostPattern;
use http::uri::PathAndQuery;
use tidegate_config::{Problem, Rule, Value, text_of};

/// The host of requests.
#[derive(Debug)]
pub struct HostName;

impl Rule for HostName {
    type Read<'r> = HostPattern;

    fn read(&self, value: &Value<'_>) -> Result<HostPattern, Problem> {
        const EXAMPLE: &str = "shop.example.com";
        let given = text_of(value, EXAMPLE)?;
        HostPattern::new(given).ok_or_else(|| {
            let rule = "must be a host name without a port, or *. and a name";
            let bare = given.split("://").last().unwrap_or(given);
            let bare = bare.split([':', '/']).next().unwrap_or(bare);
            let proposed = if HostPattern::new(bare).is_some() { bare } else { EXAMPLE };
            Problem::new(rule, format!("try {proposed:?}"))
        })
    }

    fn kind(&self) -> String {
        "host name".into()
    }

    fn range(&self) -> String {
        "a name, an IP address, or `*.` and a name".into()
    }
}

/// The name of a pool.
#[derive(Debug)]
pub struct PoolName;

impl Rule for PoolName {
    type Read<'r> = String;

    fn read(&self, value: &Value<'_>) -> Result<String, Problem> {
        let given = text_of(value, "checkout")?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if given.is_empty() || given.len() > 64 || !given.bytes().all(fits) {
            let rule = "must be a name: at most 64 letters, digits, - and _";
            return Err(Problem::new(rule, "try \"checkout\""));
        }
        if given == super::pools::MAIN {
            let rule = "must not be the name of [upstream]";
            return Err(Problem::new(rule, "choose another"));
        }
        Ok(given.to_owned())
    }

    fn kind(&self) -> String {
        "name".into()
    }

    fn range(&self) -> String {
        "letters, digits, `-` and `_`".into()
    }
}

/// The target of an active check.
#[derive(Debug)]
pub struct CheckPath;

impl Rule for CheckPath {
    type Read<'r> = PathAndQuery;

    fn read(&self, value: &Value<'_>) -> Result<PathAndQuery, Problem> {
        const EXAMPLE: &str = "/healthz";
        let given = text_of(value, EXAMPLE)?;
        let read = given.parse::<PathAndQuery>().ok();
        let sound = read.filter(|_| given.starts_with('/') && !given.contains('#'));
        sound.ok_or_else(|| {
            let rule = "must be the path of a request, with its query if it has one";
            Problem::new(rule, format!("try {EXAMPLE:?}"))
        })
    }

    fn kind(&self) -> String {
        "path of a request".into()
    }

    fn range(&self) -> String {
        "from the root".into()
    }
}

/// Status codes: one, or a range.
#[derive(Debug)]
pub struct Statuses;

impl Rule for Statuses {
    type Read<'r> = (u16, u16);

    fn read(&self, value: &Value<'_>) -> Result<(u16, u16), Problem> {
        let problem = || {
            let rule = "must be a status code or a range of them, 100 to 599";
            Problem::new(rule, "write \"200\" or \"200-399\"")
        };
        let digits = value.digits().filter(|_| value.is_integer());
        let given = digits.as_deref().or_else(|| value.text()).ok_or_else(problem)?;
        let (first, last) = given.split_once('-').unwrap_or((given, given));
        let code = |text: &str| {
            let code = text.trim().parse().ok();
            code.filter(|code| (100..600).contains(code)).ok_or_else(problem)
        };
        match (code(first)?, code(last)?) {
            (first, last) if first <= last => Ok((first, last)),
            _ => Err(problem()),
        }
    }

    fn kind(&self) -> String {
        "status codes".into()
    }

    fn range(&self) -> String {
        "100 to 599, one or a range".into()
    }
}
