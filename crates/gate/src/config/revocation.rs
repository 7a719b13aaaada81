//! Lists of revoked certificates of clients.

use super::identity;
use aws_lc_rs::digest::{Context, SHA256};
use rustls::pki_types::CertificateRevocationListDer;
use rustls::pki_types::pem::PemObject;
use std::path::Path;
use tidegate_config::Problem;
use x509_parser::prelude::{CertificateRevocationList, FromDer};

/// The revocation lists of the files that `tls.client_crl` names.
#[derive(Clone, Debug, Default)]
pub struct Revocations {
    /// The lists.
    pub lists: Vec<CertificateRevocationListDer<'static>>,
    /// What is revoked, in the order of the files: issuers and serial numbers. A list that was
    /// only signed again has the same.
    pub content: Vec<u8>,
    /// When the first of them expires, in seconds since 1970.
    pub expires: Option<i64>,
}

impl Revocations {
    /// Adds the lists of a PEM file; at least one.
    ///
    /// # Errors
    /// The fault of the file, and a remedy.
    pub fn add(&mut self, path: &Path) -> Result<(), Problem> {
        let pem = identity::read(path)?;
        let lists: Result<Vec<_>, _> = CertificateRevocationListDer::pem_slice_iter(&pem).collect();
        let lists = lists.map_err(|error| identity::unreadable_pem(&error))?;
        if lists.is_empty() {
            return Err(Problem::new(
                "holds no revocation list",
                "a PEM list begins with -----BEGIN X509 CRL-----; convert DER: openssl crl \
                 -inform der -in FILE -out crl.pem",
            ));
        }
        for list in lists {
            self.add_list(&list).ok_or_else(|| {
                Problem::new("has a revocation list that cannot be read", "get it again")
            })?;
            self.lists.push(list);
        }
        Ok(())
    }

    fn add_list(&mut self, list: &[u8]) -> Option<()> {
        let (_, list) = CertificateRevocationList::from_der(list).ok()?;
        let mut revoked: Vec<_> =
            list.iter_revoked_certificates().map(|one| one.raw_serial().to_vec()).collect();
        revoked.sort_unstable();
        let mut hash = Context::new(&SHA256);
        for part in [list.issuer().as_raw().to_vec()].iter().chain(&revoked) {
            hash.update(&(part.len() as u64).to_be_bytes());
            hash.update(part);
        }
        self.content.extend(hash.finish().as_ref());
        let expires = list.next_update().map(|at| at.timestamp());
        self.expires = [self.expires, expires].into_iter().flatten().min();
        Some(())
    }
}
