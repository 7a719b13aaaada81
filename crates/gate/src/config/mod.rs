//! The gate's configuration: read from a file, from flags or both, checked as a
//! whole, with every mistake reported at once. Nothing downstream validates.
//!
//! The settings themselves are declared in `fields.rs`, once.

mod choices;
mod document;
mod fields;
mod identity;
mod mistake;
mod origin;
mod reader;
mod reference;
mod rule;
mod settings;
mod suggest;
mod together;
mod units;

pub use choices::{
    Cores, Forwarded, Host, LogFormat, MinimumVersion, Policy, Processes, Refusal, SelfSigned,
};
pub use fields::{Admin, Admission, Limits, Listen, Log, Tls, Upstream, sections};
pub use identity::Identity;
pub use mistake::{Mistake, Mistakes};
pub use origin::Origin;
pub use reference::reference;
pub use settings::{Preset, Row, Section};

use document::Document;
use reader::Reader;
use rustls::pki_types::CertificateDer;
use settings::Settings;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A checked configuration: every value is in its range, every file was read.
#[derive(Clone, Debug)]
pub struct Config {
    /// Where customers connect.
    pub listen: Listen,
    /// Certificate and tickets.
    pub tls: Tls,
    /// The service behind the gate.
    pub upstream: Upstream,
    /// Who is let in.
    pub admission: Admission,
    /// Deadlines and caps.
    pub limits: Limits,
    /// Where the operator looks.
    pub admin: Admin,
    /// What is logged.
    pub log: Log,
    /// Certificate and key as read from the files of `tls`; none: the gate makes
    /// a self-signed one (see [`Config::identity`]).
    pub given_identity: Option<Arc<Identity>>,
    /// Certificates read from `upstream.ca`; none: the system's own.
    pub upstream_roots: Option<Arc<Vec<CertificateDer<'static>>>>,
    /// What it was read from: the file's name, or `command line`.
    pub source: String,
}

/// Values of command line flags, as typed; none where a flag was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--upstream URL`
    pub upstream: Option<String>,
    /// `--listen ADDR`
    pub listen: Option<String>,
    /// `--clear ADDR`
    pub clear: Option<String>,
    /// `--cert FILE`
    pub cert: Option<String>,
    /// `--key FILE`
    pub key: Option<String>,
    /// `--admin ADDR`
    pub admin: Option<String>,
    /// `--policy off|static|eac|tide`
    pub policy: Option<String>,
    /// `--rate N`, for the policy `static`
    pub rate: Option<String>,
    /// `--cores LIST`
    pub cores: Option<String>,
    /// `--log FILTER`
    pub log: Option<String>,
}

/// A flag with the setting that it stands for and its value.
struct FlagRow {
    flag: &'static str,
    section: &'static str,
    key: &'static str,
    value: fn(&Flags) -> Option<&str>,
}

/// Every flag, in the order of the help text.
const FLAGS: [FlagRow; 10] = {
    const fn row(
        flag: &'static str,
        section: &'static str,
        key: &'static str,
        value: fn(&Flags) -> Option<&str>,
    ) -> FlagRow {
        FlagRow { flag, section, key, value }
    }
    [
        row("--upstream", "upstream", "url", |flags| flags.upstream.as_deref()),
        row("--listen", "listen", "address", |flags| flags.listen.as_deref()),
        row("--clear", "listen", "clear", |flags| flags.clear.as_deref()),
        row("--cores", "listen", "cores", |flags| flags.cores.as_deref()),
        row("--cert", "tls", "certificate", |flags| flags.cert.as_deref()),
        row("--key", "tls", "key", |flags| flags.key.as_deref()),
        row("--admin", "admin", "address", |flags| flags.admin.as_deref()),
        row("--policy", "admission", "policy", |flags| flags.policy.as_deref()),
        row("--rate", "admission", "rate", |flags| flags.rate.as_deref()),
        row("--log", "log", "level", |flags| flags.log.as_deref()),
    ]
};

/// Where a configuration without a file comes from.
const COMMAND_LINE: &str = "command line";

/// Largest configuration file that is read.
const FILE_BYTES: u64 = 1 << 20;

impl Config {
    /// Reads a file.
    ///
    /// # Errors
    /// Every mistake, in the order of the file.
    pub fn from_file(path: &Path) -> Result<Self, Mistakes> {
        Self::from_file_and_flags(path, &Flags::default())
    }

    /// Reads a file; flags go before what it says.
    ///
    /// # Errors
    /// Every mistake, in the order of the file, then those of the flags.
    pub fn from_file_and_flags(path: &Path, flags: &Flags) -> Result<Self, Mistakes> {
        let text = read_text(path)?;
        Self::assemble(Some((&text, &path.display().to_string())), flags)
    }

    /// Reads the text of a file; `name` is used in messages, and relative paths
    /// of other files start in its folder.
    ///
    /// # Errors
    /// Every mistake, in the order of the text.
    pub fn from_toml(text: &str, name: &str) -> Result<Self, Mistakes> {
        Self::assemble(Some((text, name)), &Flags::default())
    }

    /// Makes a configuration of flags alone.
    ///
    /// # Errors
    /// Every mistake.
    pub fn from_flags(flags: &Flags) -> Result<Self, Mistakes> {
        Self::assemble(None, flags)
    }

    fn assemble(file: Option<(&str, &str)>, flags: &Flags) -> Result<Self, Mistakes> {
        let source = file.map_or(COMMAND_LINE, |(_, name)| name);
        let mut reader = Reader::new(source);
        if let Some((text, name)) = file {
            reader.add_document(Document::parse(text, &document::one_line(name)), &sections());
        }
        for row in &FLAGS {
            if let Some(value) = (row.value)(flags) {
                reader.add_flag(row.section, row.key, row.flag, value);
            }
        }
        let mut config = Self {
            listen: Listen::read(&mut reader),
            tls: Tls::read(&mut reader),
            upstream: Upstream::read(&mut reader),
            admission: Admission::read(&mut reader),
            limits: Limits::read(&mut reader),
            admin: Admin::read(&mut reader),
            log: Log::read(&mut reader),
            given_identity: None,
            upstream_roots: None,
            source: source.to_owned(),
        };
        config.place_paths(&reader);
        together::check(&config, &mut reader);
        config.read_files(&mut reader);
        let mistakes = reader.into_mistakes();
        if mistakes.is_empty() { Ok(config) } else { Err(Mistakes(mistakes)) }
    }

    /// Certificate and key to serve: the given ones, or a new self-signed pair
    /// (another at every call).
    ///
    /// # Errors
    /// The pair could not be made.
    pub fn identity(&self) -> Result<Arc<Identity>, crate::tls::selfsigned::Error> {
        match &self.given_identity {
            Some(identity) => Ok(identity.clone()),
            None => {
                let names = &self.tls.self_signed_names;
                Ok(Arc::new(crate::tls::selfsigned::make(self.tls.self_signed, names)?))
            }
        }
    }

    /// What an operator should know though nothing is wrong, a sentence each.
    pub fn warnings(&self) -> Vec<String> {
        together::warnings(self)
    }

    /// Lets relative paths of a file start in that file's folder.
    fn place_paths(&mut self, reader: &Reader) {
        let folder = Path::new(&self.source).parent().unwrap_or(Path::new("")).to_owned();
        let place = |section: &str, key: &str, path: &mut Option<PathBuf>| {
            if let Some(path) = path.as_mut().filter(|_| reader.is_from_file(section, key)) {
                *path = folder.join(&*path);
            }
        };
        place("tls", "certificate", &mut self.tls.certificate);
        place("tls", "key", &mut self.tls.key);
        place("upstream", "ca", &mut self.upstream.ca);
    }

    /// Reads the files that settings name.
    fn read_files(&mut self, reader: &mut Reader) {
        let mut load = |section: &str, key: &str, path: &Option<PathBuf>| {
            let path = path.as_deref().filter(|_| reader.are_sound(&[(section, key)]))?;
            let result = identity::read_certificates(path);
            result.map_err(|problem| reader.mistake(section, key, problem)).ok()
        };
        let chain = load("tls", "certificate", &self.tls.certificate);
        self.upstream_roots = load("upstream", "ca", &self.upstream.ca).map(Arc::new);
        let path = self.tls.key.as_deref();
        let key = path.filter(|_| reader.are_sound(&[("tls", "key")])).and_then(|path| {
            let result = identity::read_key(path);
            result.map_err(|problem| reader.mistake("tls", "key", problem)).ok()
        });
        if let (Some(chain), Some(key)) = (chain, key) {
            match identity::join(chain, key) {
                Ok(identity) => self.given_identity = Some(Arc::new(identity)),
                Err((setting, problem)) => reader.mistake("tls", setting, problem),
            }
        }
    }
}

/// Reads a configuration file as text.
fn read_text(path: &Path) -> Result<String, Mistakes> {
    let name = path.display().to_string();
    let mistake = |rule: String, remedy: &str| {
        Mistakes(vec![Mistake {
            place: name.clone(),
            key: String::new(),
            value: String::new(),
            rule,
            remedy: remedy.into(),
        }])
    };
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(FILE_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| mistake(format!("cannot be read ({error})"), "name a readable file"))?;
    if bytes.len() as u64 > FILE_BYTES {
        return Err(mistake("is larger than 1 MiB".into(), "name a configuration file"));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let line = 1 + error.as_bytes()[..at].iter().filter(|byte| **byte == b'\n').count();
        mistake(format!("line {line} is not UTF-8"), "save the file as UTF-8 text")
    })
}
