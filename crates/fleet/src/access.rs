//! Which servers of NATS are used, and who the client is there.

use crate::seal::Secret;
use rustls::RootCertStore;
use rustls::pki_types::{CertificateDer, pem::PemObject as _};
use std::path::Path;
use std::sync::Arc;
use tidegate_config::Problem;
use url::Url;
use zeroize::Zeroizing;

/// Largest file of credentials, in bytes.
const MOST_CREDENTIALS: usize = 64 << 10;
/// Most servers.
pub const MOST_SERVERS: usize = 16;

/// Servers of NATS, and who the client is there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Access {
    pub(crate) servers: Vec<Url>,
    pub(crate) user: User,
    pub(crate) authorities: Option<Vec<CertificateDer<'static>>>,
}

/// Servers and user of a fleet, and its secret.
#[derive(Clone, Debug, PartialEq)]
pub struct FleetAccess {
    /// Servers and user.
    pub access: Access,
    /// The operator's secret, with the name of the fleet.
    pub secret: Secret,
}

/// The files that an operator names for a fleet, each with the key or the flag that names it.
#[derive(Clone, Copy, Debug)]
pub struct AccessFiles<'a> {
    /// The fleet's secret.
    pub secret: (&'a str, &'a Path),
    /// See [`Access::with_credentials`].
    pub credentials: Option<(&'a str, &'a Path)>,
    /// See [`Access::with_nkey`].
    pub nkey: Option<(&'a str, &'a Path)>,
    /// See [`Access::with_authorities`].
    pub authorities: Option<(&'a str, &'a Path)>,
}

/// A file that cannot be used.
#[derive(Debug)]
pub struct WrongFile<'a> {
    /// The key or the flag that names it.
    pub named: &'a str,
    /// Its path.
    pub path: &'a Path,
    /// What is wrong, with a remedy.
    pub problem: Problem,
}

impl FleetAccess {
    /// Reads the files of a fleet of this name at these servers.
    ///
    /// # Errors
    /// The first file that cannot be used.
    pub fn read<'a>(
        servers: Vec<Url>,
        fleet: &str,
        files: AccessFiles<'a>,
    ) -> Result<Self, WrongFile<'a>> {
        type With = fn(Access, &Path) -> Result<Access, Problem>;
        let with: [(_, With); 3] = [
            (files.credentials, Access::with_credentials),
            (files.nkey, Access::with_nkey),
            (files.authorities, Access::with_authorities),
        ];
        let wrong = |named, path| move |problem| WrongFile { named, path, problem };
        let mut access = Access::new(servers);
        for (file, with) in with {
            if let Some((named, path)) = file {
                access = with(access, path).map_err(wrong(named, path))?;
            }
        }
        let (named, path) = files.secret;
        let secret = Secret::read(path, fleet).map_err(wrong(named, path))?;
        Ok(Self { access, secret })
    }
}

/// Who the client is.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum User {
    /// Who the URL names, or nobody.
    OfUrl,
    /// The text of a `.creds` file: a user JWT and its nkey seed.
    Credentials(Arc<Zeroizing<String>>),
    /// The seed of an nkey.
    Nkey(Arc<Zeroizing<String>>),
}

impl std::fmt::Debug for User {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::OfUrl => "OfUrl",
            Self::Credentials(_) => "Credentials",
            Self::Nkey(_) => "Nkey",
        })
    }
}

impl Access {
    /// Whether the connection is by TLS.
    pub(crate) fn uses_tls(&self) -> bool {
        self.authorities.is_some() || self.servers.iter().any(|url| url.scheme() == "tls")
    }

    /// These servers, with the user of their URLs; TLS by the system's authorities where a URL is
    /// `tls://`. See [`read_server`].
    pub fn new(servers: Vec<Url>) -> Self {
        Self { servers, user: User::OfUrl, authorities: None }
    }

    /// With the user of a file of credentials (`.creds`).
    ///
    /// # Errors
    /// It cannot be used, with a remedy.
    pub fn with_credentials(mut self, path: &Path) -> Result<Self, Problem> {
        const MADE: &str = "nsc generate creds writes one";
        let text = private_text(path, MADE)?;
        async_nats::ConnectOptions::with_credentials(&text)
            .map_err(|error| Problem::new(format!("is no file of credentials ({error})"), MADE))?;
        self.user = User::Credentials(Arc::new(text));
        Ok(self)
    }

    /// With the user whose nkey seed is in a file.
    ///
    /// # Errors
    /// It cannot be used, with a remedy.
    pub fn with_nkey(mut self, path: &Path) -> Result<Self, Problem> {
        const MADE: &str = "nk -gen user writes one";
        let text = private_text(path, MADE)?;
        let seed = text.lines().map(str::trim).find(|line| !line.is_empty()).unwrap_or("");
        let pair = nkeys::KeyPair::from_seed(seed);
        if !pair.is_ok_and(|pair| pair.key_pair_type() == nkeys::KeyPairType::User) {
            return Err(Problem::new("has no seed of a user (SU…) in its first line", MADE));
        }
        self.user = User::Nkey(Arc::new(Zeroizing::new(seed.to_owned())));
        Ok(self)
    }

    /// With TLS, by these authorities alone.
    ///
    /// # Errors
    /// The file has no certificate that can be an authority, with a remedy.
    pub fn with_authorities(mut self, path: &Path) -> Result<Self, Problem> {
        const REMEDY: &str =
            "name the PEM file of the authority that signed the server's certificate";
        let wrong =
            |why: String| Problem::new(format!("has no usable certificates ({why})"), REMEDY);
        let certificates =
            CertificateDer::pem_file_iter(path).map_err(|error| wrong(error.to_string()))?;
        let certificates: Result<Vec<_>, _> = certificates.collect();
        let certificates = certificates.map_err(|error| wrong(error.to_string()))?;
        let mut store = RootCertStore::empty();
        for certificate in &certificates {
            store.add(certificate.clone()).map_err(|error| wrong(error.to_string()))?;
        }
        if store.is_empty() {
            return Err(wrong("there is none".into()));
        }
        self.authorities = Some(certificates);
        Ok(self)
    }

    /// The servers without passwords, for people.
    pub fn shown(&self) -> String {
        let shown = self.servers.iter().map(|url| {
            let port = url.port().map(|port| format!(":{port}")).unwrap_or_default();
            format!("{}://{}{port}", url.scheme(), url.host_str().unwrap_or_default())
        });
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn private_text(path: &Path, made: &str) -> Result<Zeroizing<String>, Problem> {
    let bytes = tidegate_config::read_private(path, MOST_CREDENTIALS, made)?;
    let text = std::str::from_utf8(&bytes).map_err(|_| Problem::new("is not text", made))?;
    Ok(Zeroizing::new(text.to_owned()))
}

/// Reads the URL of a server: `nats://host:port`, or `tls://host:port` for TLS. Without a port it is
/// that of NATS, 4222.
///
/// # Errors
/// It is none, with a remedy.
pub fn read_server(text: &str) -> Result<Url, Problem> {
    const RULE: &str = "must be a server of NATS: nats://host:port, or tls://host:port";
    const REMEDY: &str = "try \"nats://127.0.0.1:4222\"";
    let wrong = || Problem::new(RULE, REMEDY);
    let url = Url::parse(text).map_err(|_| wrong())?;
    let plain = url.path().trim_matches('/').is_empty() && url.query().is_none();
    let named = url.host_str().is_some_and(|host| !host.is_empty());
    if matches!(url.scheme(), "nats" | "tls") && named && plain && url.fragment().is_none() {
        Ok(url)
    } else {
        Err(wrong())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt as _;

    /// A seed from the documentation of nkeys, of nobody.
    const SEED: &str = "SUACSSL3UAHUDXKFSNVUZRF5UHPMWZ6BFDTJ7M6USDXIEDNPPQYYYCU3VY";

    fn file(content: &str, mode: u32) -> (tempfile::TempDir, std::path::PathBuf) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, content).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
        (folder, path)
    }

    #[test]
    fn only_urls_of_nats_are_servers_and_no_password_is_shown() {
        let urls =
            ["nats://user:secret@a:4222", "tls://[::1]:1"].map(|url| read_server(url).unwrap());
        assert_eq!(Access::new(urls.to_vec()).shown(), "nats://a:4222, tls://[::1]:1");
        for other in ["", "a:4222", "http://a", "nats://", "nats://a/path", "nats://a?x", "ws://a"]
        {
            assert!(read_server(other).is_err(), "{other}");
        }
    }

    #[test]
    fn files_that_are_no_keys_or_that_others_may_read_are_refused_with_a_remedy() {
        let access = || Access::new(Vec::new());
        let (_kept, seed) = file(&format!("{SEED}\n"), 0o600);
        assert!(access().with_nkey(&seed).is_ok());
        let problem = access().with_credentials(&seed).unwrap_err();
        assert!(problem.rule.starts_with("is no file of credentials"), "{problem:?}");
        assert!(access().with_authorities(&seed).unwrap_err().rule.contains("there is none"));
        let (_kept, open) = file(SEED, 0o644);
        assert_eq!(
            access().with_nkey(&open).unwrap_err().rule,
            "can be used by others (mode 0644)"
        );
        let (_kept, other) = file("SAAB\n", 0o600);
        let problem = access().with_nkey(&other).unwrap_err();
        assert_eq!(problem.rule, "has no seed of a user (SU…) in its first line");
    }
}
