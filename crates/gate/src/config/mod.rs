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
mod rule;
mod settings;
mod suggest;
mod units;

pub use choices::{
    Cores, Forwarded, Host, LogFormat, MinimumVersion, Policy, Processes, Refusal, SelfSigned,
};
pub use fields::{Admin, Admission, Limits, Listen, Log, Tls, Upstream, sections};
pub use identity::Identity;
pub use mistake::{Mistake, Mistakes};
pub use origin::Origin;
pub use settings::{Preset, Row, Section};

use document::Document;
use reader::Reader;
use rule::Problem;
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
    /// What it was read from: the file's name, or `flags`.
    pub source: String,
}

/// Values of command line flags, as typed; none where a flag was not given.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Flags {
    /// `--upstream URL`
    pub upstream: Option<String>,
    /// `--listen ADDR`
    pub listen: Option<String>,
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
    /// `--self-signed ecdsa-p256|rsa-2048`
    pub self_signed: Option<String>,
    /// `--log FILTER`
    pub log: Option<String>,
}

impl Flags {
    /// Each flag with the setting that it stands for, and its value.
    fn settings(&self) -> [(&'static str, &'static str, &'static str, Option<&str>); 10] {
        let text = Option::<String>::as_deref;
        [
            ("--upstream", "upstream", "url", text(&self.upstream)),
            ("--listen", "listen", "address", text(&self.listen)),
            ("--cert", "tls", "certificate", text(&self.cert)),
            ("--key", "tls", "key", text(&self.key)),
            ("--admin", "admin", "address", text(&self.admin)),
            ("--policy", "admission", "policy", text(&self.policy)),
            ("--rate", "admission", "rate", text(&self.rate)),
            ("--cores", "listen", "cores", text(&self.cores)),
            ("--self-signed", "tls", "self_signed", text(&self.self_signed)),
            ("--log", "log", "level", text(&self.log)),
        ]
    }
}

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
        let source = file.map_or("flags", |(_, name)| name);
        let mut reader = Reader::new(source);
        if let Some((text, name)) = file {
            reader.add_document(Document::parse(text, &document::one_line(name)), &sections());
        }
        for (flag, section, key, value) in flags.settings() {
            if let Some(value) = value {
                reader.add_flag(section, key, flag, value);
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
        config.check_together(&mut reader);
        config.read_files(&mut reader);
        let mistakes = reader.into_mistakes();
        if mistakes.is_empty() { Ok(config) } else { Err(Mistakes(mistakes)) }
    }

    /// Certificate and key to serve: the given ones, or a new self-signed pair
    /// (another at every call).
    ///
    /// # Errors
    /// The pair could not be made.
    pub fn identity(&self) -> Result<Arc<Identity>, crate::selfsigned::Error> {
        match &self.given_identity {
            Some(identity) => Ok(identity.clone()),
            None => {
                let names = &self.tls.self_signed_names;
                Ok(Arc::new(crate::selfsigned::make(self.tls.self_signed, names)?))
            }
        }
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

    /// Rules between settings.
    fn check_together(&self, reader: &mut Reader) {
        let mut rule = |paths: &[(&str, &str)], broken: bool, problem: &dyn Fn() -> Problem| {
            if broken && reader.are_sound(paths) {
                let (section, key) = paths[0];
                reader.mistake(section, key, problem());
            }
        };
        let (tls, admission) = (&self.tls, &self.admission);
        rule(
            &[("tls", "certificate"), ("tls", "key")],
            tls.certificate.is_some() && tls.key.is_none(),
            &|| Problem::new("needs its private key", "add key = \"key.pem\" under [tls], or --key"),
        );
        rule(
            &[("tls", "key"), ("tls", "certificate")],
            tls.key.is_some() && tls.certificate.is_none(),
            &|| {
                let remedy = "add certificate = \"cert.pem\" under [tls], or --cert";
                Problem::new("needs its certificate", remedy)
            },
        );
    }

    /// Reads the files that settings name.
    fn read_files(&mut self, reader: &mut Reader) {
        let _ = reader;
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
