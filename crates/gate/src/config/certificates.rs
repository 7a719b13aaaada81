//! Further certificates of the TLS listener: the tables `[[tls.certificates]]`.

use std::path::PathBuf;
use tidegate_config::Preset::Required;
use tidegate_config::{FilePath, Keys, List, Problem, Rule, Subtable, Table, Value, keys};

/// The files of a further certificate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CertificateFiles {
    /// Its place among the tables of the file, from 0.
    pub index: usize,
    /// PEM file with the certificate chain.
    pub certificate: PathBuf,
    /// PEM file with its private key.
    pub key: PathBuf,
}

keys! {
    /// A further certificate, in a table `[[tls.certificates]]` of its own. A customer gets it
    /// who asks for one of its DNS names, exactly or by a wildcard.
    static CERTIFICATE: CertificateKeys {
        /// PEM file with the certificate chain, the server's own certificate first.
        certificate: FilePath = Required("cert.pem");
        /// PEM file with the private key of the certificate: PKCS#8, PKCS#1 or SEC1.
        key: FilePath = Required("key.pem");
    }
}

/// The keys of a further certificate, for the reference page.
pub fn table() -> Table {
    Table { name: "[tls.certificates]", ..CERTIFICATE.table() }
}

/// The tables of further certificates.
pub struct CertificateTables;

/// Most further certificates.
const MOST: usize = 1_000;

impl Rule for CertificateTables {
    type Read<'r> = Vec<CertificateFiles>;

    fn read(&self, value: &Value<'_>) -> Result<Vec<CertificateFiles>, Problem> {
        let rule = "must be tables [[tls.certificates]]";
        let problem = || Problem::new(rule, "write [[tls.certificates]] and its two keys below");
        let tables = List(Subtable).read(value).map_err(|_| problem())?;
        if tables.len() > MOST {
            return Err(Problem::new(format!("must be at most {MOST} tables"), ""));
        }
        let files = tables.iter().enumerate().filter_map(|(index, table)| {
            table.known(&CERTIFICATE);
            let certificate = table.read(&CERTIFICATE.certificate);
            let key = table.read(&CERTIFICATE.key);
            Some(CertificateFiles { index, certificate: certificate?, key: key? })
        });
        Ok(files.collect())
    }

    fn kind(&self) -> String {
        "tables".into()
    }

    fn range(&self) -> String {
        format!("at most {MOST}, see below")
    }
}
