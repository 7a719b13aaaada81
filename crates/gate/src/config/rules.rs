//! Rules of the gate's own values: processor cores, processes, host names, log
//! filters, control groups, beginnings of paths.

use super::choices::{Cores, Processes};
use crate::path::PathPrefix;
use http::{HeaderName, HeaderValue};
use jiff::Timestamp;
use std::path::PathBuf;
use tidegate_config::{FilePath, Problem, Rule, Value, did_you_mean, text_of};

/// Processor cores.
pub struct CoreList;

/// The kernel's own limit on processors is below this.
const CORES: usize = 8192;

impl Rule for CoreList {
    type Read<'r> = Cores;

    fn read(&self, value: &Value<'_>) -> Result<Cores, Problem> {
        let rule = "must be \"all\" or numbers of processor cores";
        let problem = || Problem::new(rule, "write \"all\", \"0,2-3\" or [0, 2, 3]");
        let list = match value.text() {
            Some("all") => return Ok(Cores::All),
            Some(text) => {
                text.parse::<tidegate_host::Cores>().ok().map(|cores| cores.list().to_vec())
            }
            None => value.whole_numbers(),
        };
        let mut list = list.ok_or_else(problem)?;
        list.sort_unstable();
        list.dedup();
        if list.is_empty() || list.iter().any(|core| *core >= CORES) {
            return Err(problem());
        }
        Ok(Cores::List(list))
    }

    fn kind(&self) -> String {
        "cores".into()
    }

    fn range(&self) -> String {
        "all, a list in quotes such as 0,2-3, or an array".into()
    }
}

/// Process ids.
#[derive(Debug)]
pub struct ProcessList;

/// The kernel's largest `pid_max`.
const PIDS: u32 = 4_194_304;
/// Most process ids of a list.
const PROCESSES: usize = 1024;

impl Rule for ProcessList {
    type Read<'r> = Processes;

    fn read(&self, value: &Value<'_>) -> Result<Processes, Problem> {
        let rule = "must be \"auto\", \"none\" or process ids";
        let problem = || Problem::new(rule, "write \"auto\", \"none\" or [1234]");
        let list: Vec<u32> = match value.text() {
            Some("auto") => return Ok(Processes::Auto),
            Some("none") => return Ok(Processes::None),
            Some(_) => return Err(problem()),
            None => value.whole_numbers().ok_or_else(problem)?,
        };
        let known = |pid: &u32| (1..=PIDS).contains(pid);
        if list.is_empty() || list.len() > PROCESSES || !list.iter().all(known) {
            return Err(problem());
        }
        Ok(Processes::List(list))
    }

    fn kind(&self) -> String {
        "word or process ids".into()
    }

    fn range(&self) -> String {
        "auto, none, or an array of process ids".into()
    }
}

/// Host names and addresses.
pub struct Names;

impl Rule for Names {
    type Read<'r> = Vec<String>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<String>, Problem> {
        let rule = "must be 1 to 100 host names or IP addresses";
        let problem = || Problem::new(rule, "write [\"localhost\", \"127.0.0.1\"]");
        let names = value.texts().ok_or_else(problem)?;
        if names.is_empty() || names.len() > 100 {
            return Err(problem());
        }
        let is_name = |name: &str| {
            name.parse::<std::net::IpAddr>().is_ok()
                || rustls::pki_types::DnsName::try_from(name).is_ok()
        };
        match names.iter().find(|name| !is_name(name)) {
            Some(name) => Err(Problem::new(rule, format!("{name:?} is neither"))),
            None => Ok(names.into_iter().map(str::to_owned).collect()),
        }
    }

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

/// Some of these words, each once; their order counts. Case does not matter.
pub struct Preference<T: 'static> {
    /// All that there are.
    pub all: &'static [T],
    /// The word of each.
    pub name: fn(T) -> &'static str,
}

impl<T: Copy + PartialEq> Preference<T> {
    fn words(&self) -> String {
        self.all.iter().map(|one| (self.name)(*one)).collect::<Vec<_>>().join(", ")
    }
}

impl<T: Copy + PartialEq> Rule for Preference<T> {
    type Read<'r> = Vec<T>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<T>, Problem> {
        let problem = |remedy| Problem::new(format!("must be some of {}", self.words()), remedy);
        let first = self.all.first().map_or("", |first| (self.name)(*first));
        let given = value.texts().or_else(|| value.text().map(|word| vec![word]));
        let given = given.filter(|given| !given.is_empty());
        let given = given.ok_or_else(|| problem(format!("write [{first:?}]")))?;
        let mut read = Vec::new();
        for word in given {
            let is_meant = |one: &&T| (self.name)(**one).eq_ignore_ascii_case(word);
            let Some(one) = self.all.iter().find(is_meant) else {
                return Err(problem(format!("{word:?} is none of them")));
            };
            if read.contains(one) {
                return Err(problem(format!("leave out one {word:?}")));
            }
            read.push(*one);
        }
        Ok(read)
    }

    fn kind(&self) -> String {
        "list of words".into()
    }

    fn range(&self) -> String {
        let words = self.all.iter().map(|one| format!("`\"{}\"`", (self.name)(*one)));
        words.collect::<Vec<_>>().join(", ")
    }

    fn toml(&self, bare: &str) -> String {
        Names.toml(bare)
    }
}

/// Content types without parameters.
#[derive(Debug)]
pub struct MediaTypes;

/// Most content types of a list.
const MEDIA_TYPES: usize = 20;

impl Rule for MediaTypes {
    type Read<'r> = Vec<String>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<String>, Problem> {
        let rule = format!("must be at most {MEDIA_TYPES} content types without parameters");
        let problem = |remedy: String| Problem::new(rule.clone(), remedy);
        let example = "write [\"text/event-stream\"]";
        let types = value.texts().ok_or_else(|| problem(example.into()))?;
        if types.len() > MEDIA_TYPES {
            return Err(problem(format!("leave out {}", types.len() - MEDIA_TYPES)));
        }
        match types.iter().find(|given| !is_media_type(given)) {
            Some(given) => match given.split_once(';') {
                Some((bare, _)) if is_media_type(bare.trim()) => {
                    Err(problem(format!("write {:?}", bare.trim())))
                }
                _ => Err(problem(format!("{given:?} is none; {example}"))),
            },
            None => Ok(types.into_iter().map(str::to_owned).collect()),
        }
    }

    fn kind(&self) -> String {
        "list of content types".into()
    }

    fn range(&self) -> String {
        format!("at most {MEDIA_TYPES}, such as text/event-stream")
    }

    fn toml(&self, bare: &str) -> String {
        Names.toml(bare)
    }
}

/// Source: RFC 9110, sections 5.6.2 and 8.3.1.
fn is_media_type(text: &str) -> bool {
    let is_token = |part: &str| {
        let token = |byte: u8| byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte);
        !part.is_empty() && part.bytes().all(token)
    };
    text.split_once('/').is_some_and(|(kind, subtype)| is_token(kind) && is_token(subtype))
}

/// A filter of log levels.
pub struct Filter;

const LEVELS: [&str; 6] = ["off", "error", "warn", "info", "debug", "trace"];

impl Rule for Filter {
    type Read<'r> = String;

    fn read(&self, value: &Value<'_>) -> Result<String, Problem> {
        let given = text_of(value, "info")?;
        for part in given.split(',') {
            let (target, level) = part.split_once('=').unwrap_or(("", part));
            let named = target.chars().all(|c| c.is_ascii_alphanumeric() || "_:-".contains(c));
            if !named || !LEVELS.contains(&level) || (target.is_empty() && part.contains('=')) {
                let remedy = did_you_mean(level, &LEVELS);
                return Err(Problem::new(
                    format!("must be {}", self.range()),
                    remedy.unwrap_or_else(|| "try \"info\"".into()),
                ));
            }
        }
        Ok(given.to_owned())
    }

    fn kind(&self) -> String {
        "log filter".into()
    }

    fn range(&self) -> String {
        format!("{}; or target=level, several with commas", LEVELS.join(", "))
    }
}

/// A file to log to, or `-`.
#[derive(Clone, Copy, Debug)]
pub struct LogFile;

impl Rule for LogFile {
    type Read<'r> = PathBuf;

    fn read(&self, value: &Value<'_>) -> Result<PathBuf, Problem> {
        match text_of(value, "-") {
            Ok("-") => Ok("-".into()),
            _ => FilePath.read(value),
        }
    }

    fn kind(&self) -> String {
        FilePath.kind()
    }

    fn range(&self) -> String {
        format!("`-`, or {}", FilePath.range())
    }
}

/// The name of a header field of our own.
pub struct FieldName;

/// Fields that say where a message goes, ends or comes from: none of them is free.
const TAKEN: [&str; 12] = [
    "connection",
    "content-length",
    "content-type",
    "cookie",
    "expect",
    "host",
    "keep-alive",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
    "via",
];

impl Rule for FieldName {
    type Read<'r> = HeaderName;

    fn read(&self, value: &Value<'_>) -> Result<HeaderName, Problem> {
        const EXAMPLE: &str = "X-Client-Subject";
        let given = text_of(value, EXAMPLE)?;
        let remedy = format!("try \"{EXAMPLE}\"");
        let problem = |rule: &str| Problem::new(rule, remedy.clone());
        let name = HeaderName::from_bytes(given.as_bytes())
            .map_err(|_| problem("must be the name of a header field"))?;
        let text = name.as_str();
        if TAKEN.contains(&text) || text.starts_with("x-forwarded-") || text.contains('_') {
            return Err(problem("must be a field that has no other use, without underscores"));
        }
        Ok(name)
    }

    fn kind(&self) -> String {
        "field name".into()
    }

    fn range(&self) -> String {
        "one without another use".into()
    }
}

/// The beginning of paths.
#[derive(Debug)]
pub struct PathBeginning;

impl Rule for PathBeginning {
    type Read<'r> = PathPrefix;

    fn read(&self, value: &Value<'_>) -> Result<PathPrefix, Problem> {
        const EXAMPLE: &str = "/products/";
        let given = text_of(value, EXAMPLE)?;
        let rule = "must be a path from the root, decoded, without query and dot segments";
        PathPrefix::new(given).ok_or_else(|| {
            let rooted = format!("/{given}");
            let proposed = if PathPrefix::new(&rooted).is_some() { &rooted } else { EXAMPLE };
            Problem::new(rule, format!("try {proposed:?}"))
        })
    }

    fn kind(&self) -> String {
        "path of URLs".into()
    }

    fn range(&self) -> String {
        "from the root, decoded".into()
    }
}

/// A moment.
#[derive(Debug)]
pub struct Moment;

impl Rule for Moment {
    type Read<'r> = Timestamp;

    fn read(&self, value: &Value<'_>) -> Result<Timestamp, Problem> {
        const EXAMPLE: &str = "2026-12-01T18:00:00Z";
        let given = text_of(value, EXAMPLE)?;
        let rule = "must be a date and time with its zone";
        given.parse().map_err(|_| Problem::new(rule, format!("write it as {EXAMPLE:?}")))
    }

    fn kind(&self) -> String {
        "date and time".into()
    }

    fn range(&self) -> String {
        "with `Z`, or an offset such as `+02:00`".into()
    }
}

/// The name of a cookie.
#[derive(Debug)]
pub struct CookieName;

impl Rule for CookieName {
    type Read<'r> = String;

    fn read(&self, value: &Value<'_>) -> Result<String, Problem> {
        let given = text_of(value, "zone")?;
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
        if given.is_empty() || given.len() > 64 || !given.bytes().all(fits) {
            let rule = "must be the name of a cookie: at most 64 letters, digits, - and _";
            return Err(Problem::new(rule, "try \"zone\""));
        }
        Ok(given.to_owned())
    }

    fn kind(&self) -> String {
        "cookie name".into()
    }

    fn range(&self) -> String {
        "letters, digits, `-` and `_`".into()
    }
}

/// The value of a header field.
#[derive(Debug)]
pub struct FieldText;

impl Rule for FieldText {
    type Read<'r> = HeaderValue;

    fn read(&self, value: &Value<'_>) -> Result<HeaderValue, Problem> {
        let given = text_of(value, "max-age=60")?;
        let printable = given.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        let read = HeaderValue::from_str(given).ok();
        let fits = printable && !given.is_empty() && given.len() <= 1024 && given.trim() == given;
        read.filter(|_| fits).ok_or_else(|| {
            let rule = "must be the value of a header field: at most 1024 printable letters";
            Problem::new(rule, "try \"max-age=60\"")
        })
    }

    fn kind(&self) -> String {
        "field value".into()
    }

    fn range(&self) -> String {
        "printable ASCII".into()
    }
}

/// A control group.
#[derive(Debug)]
pub struct GroupPath;

impl Rule for GroupPath {
    type Read<'r> = PathBuf;

    fn read(&self, value: &Value<'_>) -> Result<PathBuf, Problem> {
        let given = text_of(value, "/shop.slice")?;
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

    fn kind(&self) -> String {
        "path".into()
    }

    fn range(&self) -> String {
        "absolute, below the cgroup mount".into()
    }
}
