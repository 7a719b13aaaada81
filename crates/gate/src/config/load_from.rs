//! Where the gate learns the CPU capacity and use of an upstream: `load_from`.

use super::fields::Upstream;
use super::origin::Origin;
use std::fmt;
use tidegate_config::{Problem, Rule, Value};

/// Where CPU capacity and use of an upstream come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadFrom {
    /// From the clocks of its processes or control group on this host.
    Host,
    /// From `endpoint-load-metrics` in its responses (ORCA).
    Orca,
    /// From these sources, whose capacities and uses are added up; never empty.
    Sources(Vec<LoadSource>),
}

/// What tells the load of a machine or of a service on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LoadSource {
    /// `tidegate agent`, at `host:port`.
    Agent(String),
    /// A page of node_exporter.
    Page {
        /// Scheme, host and port.
        origin: Origin,
        /// Path and query.
        path: String,
    },
}

impl fmt::Display for LoadSource {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Agent(address) => write!(f, "agent://{address}"),
            Self::Page { origin, path } => write!(f, "{origin}{path}"),
        }
    }
}

impl Upstream {
    /// Whether its load comes from agents, at least in part.
    pub fn asks_agents(&self) -> bool {
        let LoadFrom::Sources(sources) = &self.load_from else { return false };
        sources.iter().any(|source| matches!(source, LoadSource::Agent(_)))
    }
}

/// Sources of load.
#[derive(Debug)]
pub struct LoadSources;

/// Most sources of an upstream; each has a thread.
const MOST: usize = 16;
/// The port of an agent where none is given.
const AGENT_PORT: u16 = 9444;

const RULE: &str = "must be \"host\", \"orca\", or agents and pages of node_exporter";

impl Rule for LoadSources {
    type Read<'r> = LoadFrom;

    fn read(&self, value: &Value<'_>) -> Result<LoadFrom, Problem> {
        let example = "write \"agent://10.0.0.7:9444\" or \"http://10.0.0.7:9100/metrics\"";
        let problem = |remedy: &str| Problem::new(RULE, remedy);
        let given = match value.text() {
            Some("host") => return Ok(LoadFrom::Host),
            Some("orca") => return Ok(LoadFrom::Orca),
            Some(one) => vec![one],
            None => value.texts().ok_or_else(|| problem(example))?,
        };
        if given.is_empty() || given.len() > MOST {
            return Err(problem(&format!("name 1 to {MOST} sources, or leave it out")));
        }
        let mut sources: Vec<LoadSource> = Vec::new();
        for text in given {
            let source = source(text).map_err(|remedy| problem(&remedy))?;
            if sources.contains(&source) {
                return Err(problem(&format!("{source} occurs twice: leave one of them out")));
            }
            sources.push(source);
        }
        Ok(LoadFrom::Sources(sources))
    }

    fn kind(&self) -> String {
        "word, URL or list of URLs".into()
    }

    fn range(&self) -> String {
        format!("host, orca, or 1 to {MOST} of agent://host:port and http://host:port/metrics")
    }
}

/// Reads a source.
///
/// # Errors
/// The remedy.
fn source(text: &str) -> Result<LoadSource, String> {
    if text == "host" || text == "orca" {
        return Err(format!("\"{text}\" stands alone: leave out the other sources"));
    }
    let url = url::Url::parse(text);
    let Some(url) = url.ok().filter(url::Url::has_host) else {
        return Err(format!("try \"agent://{text}\", or an http:// URL of a page"));
    };
    let host = match url.host() {
        Some(url::Host::Ipv6(address)) => address.to_string(),
        Some(host) => host.to_string(),
        None => return Err("name the host".into()),
    };
    if url.port() == Some(0) {
        return Err("name a port of 1 to 65535".into());
    }
    if !url.username().is_empty() || url.password().is_some() || url.fragment().is_some() {
        return Err("leave out user, password and fragment".into());
    }
    let bare = matches!(url.path(), "" | "/");
    match url.scheme() {
        "agent" if bare && url.query().is_none() => {
            let port = url.port().unwrap_or(AGENT_PORT);
            Ok(LoadSource::Agent(Origin { tls: false, host, port, socket: None }.authority()))
        }
        "agent" => Err("an agent has no path: leave it out".into()),
        "http" => {
            let origin = Origin {
                tls: false,
                host,
                port: url.port_or_known_default().unwrap_or(80),
                socket: None,
            };
            let path = if bare { "/metrics" } else { url.path() };
            let query = url.query().map(|query| format!("?{query}")).unwrap_or_default();
            Ok(LoadSource::Page { origin, path: format!("{path}{query}") })
        }
        "https" => Err("pages are read over http:// only, on a network that you trust".into()),
        other => Err(format!("\"{other}\" is neither agent nor http")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn agents_and_pages_have_default_ports_and_paths() {
        let shown = |text: &str| source(text).unwrap().to_string();
        assert_eq!(shown("agent://shop.internal"), "agent://shop.internal:9444");
        assert_eq!(shown("agent://[::1]:99"), "agent://[::1]:99");
        assert_eq!(shown("http://10.0.0.7:9100"), "http://10.0.0.7:9100/metrics");
        let filtered = "http://10.0.0.7:9100/metrics?collect[]=cpu";
        assert_eq!(shown(filtered), filtered);
    }

    #[test]
    fn what_is_no_source_is_refused_with_a_remedy() {
        for (text, remedy) in [
            ("10.0.0.7:9444", "try \"agent://10.0.0.7:9444\", or an http:// URL of a page"),
            ("agent://h:1/x", "an agent has no path: leave it out"),
            ("agent://h:0", "name a port of 1 to 65535"),
            ("https://h/metrics", "pages are read over http:// only, on a network that you trust"),
            ("http://u:p@h/metrics", "leave out user, password and fragment"),
            ("ftp://h", "\"ftp\" is neither agent nor http"),
            ("orca", "\"orca\" stands alone: leave out the other sources"),
        ] {
            assert_eq!(source(text).unwrap_err(), remedy, "{text}");
        }
    }
}
