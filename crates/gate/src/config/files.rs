//! Reads the files that keys name, at the start and whenever they have changed.

use super::checked::Config;
use super::fields::Upstream;
use super::file_stamp::FileStamp;
use super::identity::{self, Identity, Wrong};
use super::revocation::Revocations;
use super::ticket_keys;
use crate::page_template::{self, Template};
use rustls::RootCertStore;
use rustls::pki_types::CertificateDer;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use tidegate_agent::Secret;
use tidegate_config::{Mistake, Mistakes, Problem};
use tidegate_fleet::{AccessFiles, FleetAccess};

/// What is made of the files that keys name.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Certificates for customers, the default one first; none: the gate makes a self-signed
    /// one (see [`Config::identities`]).
    pub identities: Vec<Arc<Identity>>,
    /// Certificates of `tls.client_ca`.
    pub client_roots: Option<Arc<Vec<CertificateDer<'static>>>>,
    /// Lists of `tls.client_crl`; none: no certificate of a client counts as revoked.
    pub client_revocations: Option<Arc<Revocations>>,
    /// Certificates of `upstream.ca`; none: the system's own.
    pub upstream_roots: Option<Arc<Vec<CertificateDer<'static>>>>,
    /// The secret of `upstream.agent_secret`.
    pub agent_secret: Option<Secret>,
    /// Servers, user and secret of `[fleet]`; none: the gate is alone.
    pub fleet: Option<FleetAccess>,
    /// The page of `admission.room_template`; none: the gate's own.
    pub room_template: Option<Template>,
    /// The files as they were before they were read.
    pub stamps: Vec<(PathBuf, Option<FileStamp>)>,
}

impl Config {
    /// The same configuration with the present content of its files.
    ///
    /// # Errors
    /// Every fault of the files.
    pub fn with_files_read_again(&self) -> Result<Self, Mistakes> {
        let mistakes = RefCell::new(Vec::new());
        let mut config = self.clone();
        config.read_files(&|_| true, &|key, path, problem| {
            mistakes.borrow_mut().push(mistake_of_file(&self.source, key, path, problem));
        });
        match mistakes.into_inner() {
            mistakes if mistakes.is_empty() => Ok(config),
            mistakes => Err(Mistakes(mistakes)),
        }
    }

    /// The files of certificates and secrets as they are now.
    pub fn stamps(&self) -> Vec<(PathBuf, Option<FileStamp>)> {
        let Upstream { ca, agent_secret, .. } = &self.upstream;
        let tls = &self.tls;
        let one = [&tls.certificate, &tls.key, &tls.client_ca, ca, agent_secret];
        let more = self.tls.certificates.iter().flatten();
        let more = more.flat_map(|files| [&files.certificate, &files.key]);
        let lists = self.tls.client_crl.iter().flatten();
        let template = self.admission.room_template.iter();
        let paths = one.into_iter().flatten().chain(more).chain(lists).chain(template);
        paths.map(|path| (path.clone(), FileStamp::of(path))).collect()
    }

    /// Reads the files of the keys that are `sound`, and reports what is `wrong` with them.
    pub(super) fn read_files(
        &mut self,
        sound: &dyn Fn(&str) -> bool,
        wrong: &dyn Fn(&str, &Path, Problem),
    ) {
        let mut files = Files { stamps: self.stamps(), ..Files::default() };
        let reader = FileReader { sound, wrong };
        let tls = &self.tls;
        let first = Place::new("tls");
        if let Some(identity) = reader.identity(&first, &tls.certificate, &tls.key, None) {
            files.identities.push(Arc::new(identity));
        }
        for more in tls.certificates.iter().flatten() {
            let place = Place::new(format!("tls.certificates[{}]", more.index));
            let (certificate, key) = (Some(more.certificate.clone()), Some(more.key.clone()));
            if let Some(identity) = reader.identity(&place, &certificate, &key, Some(&files)) {
                files.identities.push(Arc::new(identity));
            }
        }
        files.client_roots = reader.roots("tls.client_ca", &tls.client_ca);
        files.client_revocations = reader.revocations("tls.client_crl", &tls.client_crl);
        let upstream_roots = reader.certificates("upstream.ca", &self.upstream.ca);
        files.upstream_roots = upstream_roots.map(Arc::new);
        if let Some(path) = reader.sound("tls.ticket_keys", &tls.ticket_keys) {
            reader.noted("tls.ticket_keys", path, ticket_keys::check(path));
        }
        if let Some(path) = reader.sound("upstream.agent_secret", &self.upstream.agent_secret) {
            let secret = Secret::read(path);
            files.agent_secret = reader.noted("upstream.agent_secret", path, secret);
        }
        files.fleet = self.read_fleet(&reader);
        const TEMPLATE: &str = "admission.room_template";
        if let Some(path) = reader.sound(TEMPLATE, &self.admission.room_template) {
            files.room_template = reader.noted(TEMPLATE, path, read_template(path));
        }
        self.files = files;
    }
}

impl Config {
    /// Servers, user and secret of the fleet; `None` if the gate is alone or a file is wrong.
    fn read_fleet(&self, reader: &FileReader<'_>) -> Option<FleetAccess> {
        let fleet = &self.fleet;
        let servers = fleet.nats.clone().filter(|_| (reader.sound)("fleet.nats"))?;
        let file = |key, path| reader.sound(key, path).map(|path| (key, path.as_path()));
        let files = AccessFiles {
            secret: file("fleet.secret_file", &fleet.secret_file)?,
            credentials: file("fleet.credentials_file", &fleet.credentials_file),
            nkey: file("fleet.nkey_file", &fleet.nkey_file),
            authorities: file("fleet.ca_file", &fleet.ca_file),
        };
        let read = FleetAccess::read(servers, &fleet.name, files);
        read.map_err(|it| (reader.wrong)(it.named, it.path, it.problem)).ok()
    }
}

/// Reads the page of the waiting room.
fn read_template(path: &Path) -> Result<Template, Problem> {
    let text = tidegate_config::read_text(path, page_template::MOST_BYTES as u64);
    let text = text.map_err(|error| {
        Problem::new(format!("cannot be read: {error}"), "name a page in HTML of at most 64 KiB")
    })?;
    Template::read(&text).map_err(|name| {
        let known = page_template::PLACEHOLDERS.map(|name| format!("{{{{{name}}}}}"));
        let rule = format!("has the placeholder {name:?}, which the gate does not know");
        Problem::new(rule, format!("use {}", known.join(", ")))
    })
}

/// What is wrong with a file that a key of a configuration of this source names.
pub fn mistake_of_file(source: &str, key: &str, path: &Path, problem: Problem) -> Mistake {
    Mistake {
        place: source.into(),
        key: key.into(),
        value: format!("{:?}", path.display().to_string()),
        rule: problem.rule,
        remedy: problem.remedy,
    }
}

/// The keys of a certificate and its key.
struct Place {
    certificate: String,
    key: String,
}

impl Place {
    fn new(table: impl std::fmt::Display) -> Self {
        Self { certificate: format!("{table}.certificate"), key: format!("{table}.key") }
    }
}

struct FileReader<'a> {
    sound: &'a dyn Fn(&str) -> bool,
    wrong: &'a dyn Fn(&str, &Path, Problem),
}

impl FileReader<'_> {
    fn sound<'p>(&self, key: &str, path: &'p Option<PathBuf>) -> Option<&'p PathBuf> {
        path.as_ref().filter(|_| (self.sound)(key))
    }

    fn noted<T>(&self, key: &str, path: &Path, read: Result<T, Problem>) -> Option<T> {
        read.map_err(|problem| (self.wrong)(key, path, problem)).ok()
    }

    fn certificates(
        &self,
        key: &str,
        path: &Option<PathBuf>,
    ) -> Option<Vec<CertificateDer<'static>>> {
        let path = self.sound(key, path)?;
        self.noted(key, path, identity::read_certificates(path))
    }

    /// The certificates of authorities.
    fn roots(
        &self,
        key: &str,
        path: &Option<PathBuf>,
    ) -> Option<Arc<Vec<CertificateDer<'static>>>> {
        let roots = self.certificates(key, path)?;
        let mut store = RootCertStore::empty();
        let added = roots.iter().try_for_each(|root| store.add(root.clone()));
        let added = added.map_err(|error| {
            let rule = format!("has a certificate that cannot be an authority ({error})");
            Problem::new(rule, "name the certificates that sign those of the clients")
        });
        self.noted(key, path.as_deref()?, added)?;
        Some(Arc::new(roots))
    }

    /// The revocation lists of all files.
    fn revocations(&self, key: &str, paths: &Option<Vec<PathBuf>>) -> Option<Arc<Revocations>> {
        let paths = paths.as_ref().filter(|_| (self.sound)(key))?;
        let mut all = Revocations::default();
        let mut add = |path: &PathBuf| self.noted(key, path, all.add(path));
        let read: Vec<_> = paths.iter().map(&mut add).collect();
        read.iter().all(Option::is_some).then(|| Arc::new(all))
    }

    /// A certificate with its key. One that comes after `others` must have a name by which
    /// it is chosen.
    fn identity(
        &self,
        place: &Place,
        certificate: &Option<PathBuf>,
        key: &Option<PathBuf>,
        others: Option<&Files>,
    ) -> Option<Identity> {
        let chain = self.certificates(&place.certificate, certificate);
        let key_path = self.sound(&place.key, key);
        let read = |path: &PathBuf| self.noted(&place.key, path, identity::read_key(path));
        let (chain, der) = (chain, key_path.and_then(read));
        let (chain, der) = (chain?, der?);
        let identity = match identity::join(chain, der, &place.certificate) {
            Ok(identity) => identity,
            Err((Wrong::Key, problem)) => {
                (self.wrong)(&place.key, key.as_deref()?, problem);
                return None;
            }
            Err((Wrong::Certificate, problem)) => {
                (self.wrong)(&place.certificate, certificate.as_deref()?, problem);
                return None;
            }
        };
        let chosen = others.is_none_or(|others| others.identities.is_empty());
        if identity.names.is_empty() && !chosen {
            let problem = Problem::new(
                "has no DNS name, so no customer would get it",
                "make it with the names as subjectAltName, or name it as tls.certificate",
            );
            (self.wrong)(&place.certificate, certificate.as_deref()?, problem);
        }
        Some(identity)
    }
}
