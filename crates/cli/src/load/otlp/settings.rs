//! Settings of the exporter: the flag and OpenTelemetry's environment variables.
//!
//! Source: OpenTelemetry specification, "OpenTelemetry Protocol Exporter" and
//! "Environment Variable Specification".
//! Deviation: the default interval is 5 s, not 60 s, because many runs are shorter.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use http::{HeaderMap, HeaderName, HeaderValue, Uri};
use percent_encoding::percent_decode_str;
use url::Url;

/// Path appended to the address of a collector.
const PATH: &str = "/v1/metrics";
/// Default address.
const DEFAULT: &str = "http://localhost:4318";
/// Default interval between exports in milliseconds.
const INTERVAL_MS: u64 = 5000;
/// Longest interval in milliseconds: a day, the longest run.
const LONGEST_MS: u64 = 86_400_000;

/// Checked settings of the exporter.
#[derive(Debug)]
pub struct Settings {
    /// URL of the exports, path included.
    pub uri: Uri,
    /// Additional header fields of each request.
    pub headers: HeaderMap,
    /// Certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// Interval between exports.
    pub interval: Duration,
    /// Attributes of the resource.
    pub attributes: BTreeMap<String, String>,
}

impl Settings {
    /// `flag` is the address, or empty.
    ///
    /// # Errors
    /// What is invalid, where, and the remedy.
    pub fn from_environment(flag: &str) -> Result<Self, String> {
        Self::new(flag, |name| Some(std::env::var_os(name)?.to_string_lossy().into_owned()))
    }

    fn new(flag: &str, variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        // An empty variable counts as unset.
        let set = |name: &str| variable(name).filter(|text| !text.is_empty());
        let of_exporter = |what: &str| {
            let names = ["OTEL_EXPORTER_OTLP_METRICS_", "OTEL_EXPORTER_OTLP_"];
            names.iter().map(|name| format!("{name}{what}")).find_map(|name| {
                let text = set(&name)?;
                Some((name, text))
            })
        };
        let uri = match of_exporter("ENDPOINT") {
            _ if !flag.is_empty() => below("--otlp", flag)?,
            Some((name, text)) if name.contains("METRICS") => uri(&address(&name, &text)?)?,
            Some((name, text)) => below(&name, &text)?,
            None => below("--otlp", DEFAULT)?,
        };
        let headers = of_exporter("HEADERS").map(|(name, text)| headers(&name, &text));
        let mut attributes = own_attributes();
        let name = "OTEL_RESOURCE_ATTRIBUTES";
        attributes
            .extend(set(name).map(|text| pairs(name, &text)).transpose()?.unwrap_or_default());
        attributes.extend(set("OTEL_SERVICE_NAME").map(|name| (SERVICE_NAME.to_owned(), name)));
        Ok(Self {
            uri,
            headers: headers.transpose()?.unwrap_or_default(),
            ca: of_exporter("CERTIFICATE").map(|(_, file)| file.into()),
            interval: interval(set("OTEL_METRIC_EXPORT_INTERVAL"))?,
            attributes,
        })
    }
}

const SERVICE_NAME: &str = "service.name";

/// Default attributes. The instance id distinguishes the shards of one test.
fn own_attributes() -> BTreeMap<String, String> {
    let host = std::fs::read_to_string("/proc/sys/kernel/hostname").unwrap_or_default();
    let host = host.trim();
    let attributes = [
        (SERVICE_NAME, "tidegate-load".to_owned()),
        ("service.version", env!("CARGO_PKG_VERSION").to_owned()),
        ("service.instance.id", format!("{host}:{}", std::process::id())),
        ("host.name", host.to_owned()),
    ];
    attributes.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// The URL for metrics below the address of a collector.
fn below(name: &str, text: &str) -> Result<Uri, String> {
    let mut url = address(name, text)?;
    if url.query().is_some() {
        return Err(format!("{name} {text}: leave out the query (`?` and what follows)"));
    }
    let base = url.path().trim_end_matches('/');
    if base.ends_with(PATH) {
        return Err(format!("{name} {text}: leave out {PATH}, which is appended"));
    }
    url.set_path(&format!("{base}{PATH}"));
    uri(&url)
}

fn address(name: &str, text: &str) -> Result<Url, String> {
    let url = Url::parse(text).ok().filter(|url| matches!(url.scheme(), "http" | "https"));
    let Some(url) = url.filter(|url| url.fragment().is_none()) else {
        return Err(format!(
            "{name} {text}: must be the address of a collector, such as http://127.0.0.1:4318"
        ));
    };
    if !url.username().is_empty() || url.password().is_some() {
        // The URL is not shown because it contains a password.
        return Err(format!(
            "{name}: has a user or password; give them in OTEL_EXPORTER_OTLP_HEADERS, such as \
             authorization=Basic%20..."
        ));
    }
    Ok(url)
}

fn uri(url: &Url) -> Result<Uri, String> {
    url.as_str().parse().map_err(|error| format!("{url}: {error}"))
}

/// Header fields. Values may be secret and are not shown.
fn headers(name: &str, text: &str) -> Result<HeaderMap, String> {
    let field = |(key, value): (String, String)| {
        let wrong = |what| format!("{name}: the {what} of `{key}` cannot be in a header field");
        let header = HeaderName::try_from(&key).map_err(|_| wrong("name"))?;
        let mut value = HeaderValue::try_from(value).map_err(|_| wrong("value"))?;
        value.set_sensitive(true);
        Ok((header, value))
    };
    pairs(name, text)?.into_iter().map(field).collect()
}

/// `key=value,key=value`, values percent-encoded.
fn pairs(name: &str, text: &str) -> Result<Vec<(String, String)>, String> {
    let entries = text.split(',').map(str::trim).filter(|entry| !entry.is_empty());
    let pair = |(number, entry): (usize, &str)| {
        let wrong = |what| format!("{name}: entry {number} {what}; write key=value,key=value");
        let (key, value) = entry.split_once('=').ok_or_else(|| wrong("has no `=`"))?;
        let value = percent_decode_str(value.trim()).decode_utf8();
        let value = value.map_err(|_| wrong("has a value that is not UTF-8"))?;
        match key.trim() {
            "" => Err(wrong("has no key")),
            key => Ok((key.to_owned(), value.into_owned())),
        }
    };
    (1..).zip(entries).map(pair).collect()
}

fn interval(text: Option<String>) -> Result<Duration, String> {
    let Some(text) = text else { return Ok(Duration::from_millis(INTERVAL_MS)) };
    match text.trim().parse() {
        Ok(ms) if (1..=LONGEST_MS).contains(&ms) => Ok(Duration::from_millis(ms)),
        _ => Err(format!(
            "OTEL_METRIC_EXPORT_INTERVAL {text}: must be 1 to {LONGEST_MS} (milliseconds)"
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(flag: &str, variables: &[(&str, &str)]) -> Result<Settings, String> {
        Settings::new(flag, |name| {
            let (_, value) = variables.iter().find(|(key, _)| *key == name)?;
            Some((*value).to_owned())
        })
    }

    fn uri_of(flag: &str, variables: &[(&str, &str)]) -> String {
        read(flag, variables).unwrap().uri.to_string()
    }

    #[test]
    fn the_path_is_appended_to_the_general_endpoint_only() {
        let all = ("OTEL_EXPORTER_OTLP_ENDPOINT", "https://otel.example/base/");
        let own = ("OTEL_EXPORTER_OTLP_METRICS_ENDPOINT", "http://other:9/in?key=1");
        assert_eq!(uri_of("", &[]), "http://localhost:4318/v1/metrics");
        assert_eq!(uri_of("", &[all]), "https://otel.example/base/v1/metrics");
        assert_eq!(uri_of("", &[all, own]), "http://other:9/in?key=1");
        assert_eq!(uri_of("http://[::1]:4318", &[all, own]), "http://[::1]:4318/v1/metrics");
        assert_eq!(uri_of("", &[(all.0, "")]), "http://localhost:4318/v1/metrics");
    }

    #[test]
    fn an_invalid_address_is_reported_with_a_remedy_and_without_a_secret() {
        for (flag, rule) in [
            ("localhost:4318", "such as http://127.0.0.1:4318"),
            ("127.0.0.1:4318", "such as http://127.0.0.1:4318"),
            ("http://", "such as http://127.0.0.1:4318"),
            ("http://h/#x", "such as http://127.0.0.1:4318"),
            ("http://h:4318/v1/metrics", "leave out /v1/metrics"),
            ("http://h/?x", "leave out the query"),
            ("http://me:secret@h", "give them in OTEL_EXPORTER_OTLP_HEADERS"),
        ] {
            let told = read(flag, &[]).unwrap_err();
            assert!(told.starts_with("--otlp") && told.contains(rule), "{flag}: {told}");
            assert!(!told.contains("secret"), "{told}");
        }
        let told = read("", &[("OTEL_EXPORTER_OTLP_ENDPOINT", "h:4317")]).unwrap_err();
        assert!(told.starts_with("OTEL_EXPORTER_OTLP_ENDPOINT h:4317: must be"), "{told}");
    }

    #[test]
    fn headers_are_decoded_and_those_for_metrics_take_precedence() {
        let all = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YQ==, x-tenant = one ,");
        let headers = read("", &[all]).unwrap().headers;
        assert_eq!([&headers["authorization"], &headers["x-tenant"]], ["Basic YQ==", "one"]);
        let own = ("OTEL_EXPORTER_OTLP_METRICS_HEADERS", "x-tenant=two");
        let headers = read("", &[all, own]).unwrap().headers;
        assert_eq!(headers.len(), 1);
        assert_eq!(headers["x-tenant"], "two");
        for (text, rule) in [
            ("a=1,secret", "entry 2 has no `=`"),
            ("=secret", "entry 1 has no key"),
            ("a=%ffsecret", "entry 1 has a value that is not UTF-8"),
            ("a b=secret", "the name of `a b` cannot"),
            ("a=secret%0a", "the value of `a` cannot"),
        ] {
            let told = read("", &[("OTEL_EXPORTER_OTLP_HEADERS", text)]).unwrap_err();
            assert!(told.contains(rule) && !told.contains("secret"), "{told}");
        }
    }

    #[test]
    fn the_environment_adds_attributes_and_names_the_service() {
        let attributes = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=b,team=a%2Cb,host.name=h");
        let of = |variables: &[_]| read("", variables).unwrap().attributes;
        let own = of(&[]);
        assert_eq!(own[SERVICE_NAME], "tidegate-load");
        assert_eq!(own["service.version"], env!("CARGO_PKG_VERSION"));
        assert_eq!(
            own["service.instance.id"],
            format!("{}:{}", own["host.name"], std::process::id())
        );
        let given = of(&[attributes]);
        assert_eq!([&given[SERVICE_NAME], &given["team"], &given["host.name"]], ["b", "a,b", "h"]);
        assert_eq!(of(&[attributes, ("OTEL_SERVICE_NAME", "c")])[SERVICE_NAME], "c");
        assert!(read("", &[("OTEL_RESOURCE_ATTRIBUTES", "x")]).unwrap_err().contains("entry 1"));
    }

    #[test]
    fn the_interval_is_five_seconds_unless_it_is_given_in_milliseconds() {
        let of = |text| read("", &[("OTEL_METRIC_EXPORT_INTERVAL", text)]);
        assert_eq!(read("", &[]).unwrap().interval, Duration::from_secs(5));
        assert_eq!(of("250").unwrap().interval, Duration::from_millis(250));
        for wrong in ["0", "-1", "1s", "86400001"] {
            assert!(of(wrong).unwrap_err().contains("must be 1 to 86400000"), "{wrong}");
        }
    }
}
