//! Where the processor is, and how a merchant calls it.

use std::path::PathBuf;

use url::Url;
use zeroize::Zeroizing;

use crate::address::read as read_url;
use tidegate_sitekit::{Error, Result, private_file};

/// Most bytes of a file with an API key.
const MOST_KEY: u64 = 1024;

/// The processor of a merchant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardOptions {
    /// Its URL, without a path.
    pub url: String,
    /// The file of the API key.
    pub key_file: PathBuf,
    /// PEM file of the certificates that it may show; without one, those of the system.
    pub ca: Option<PathBuf>,
    /// URL under which customers reach the merchant, without a path.
    pub public_url: String,
}

impl CardOptions {
    /// The API key of this merchant.
    ///
    /// # Errors
    /// The file is missing, can be read by others, or does not hold one line: errors for the
    /// operator.
    pub fn key(&self, merchant: &str) -> Result<Zeroizing<String>> {
        let path = self.key_file.display();
        let wrong = |text: String| Error::Operator(format!("--card-key-file {path}: {text}"));
        let make =
            format!("write it with `(umask 077; tidegate site card --make-key {merchant} > FILE)`");
        let bytes = private_file::read_at_most(MOST_KEY, &self.key_file).map_err(|reason| {
            wrong(if self.key_file.exists() { reason } else { format!("{reason}; {make}") })
        })?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong(format!("must hold an API key and nothing else; {make}")));
        }
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Where customers come back to, at this path of the merchant's.
    ///
    /// # Errors
    /// Those of [`return_url`].
    pub fn return_url(&self, path: &str) -> Result<Url> {
        return_url(&self.public_url, path)
    }
}

/// Where customers come back to from the card form: the processor has to know it.
///
/// # Errors
/// The public URL is invalid, or has a path: an error for the operator.
pub fn return_url(public_url: &str, path: &str) -> Result<Url> {
    let wrong = |text: &str| Error::Operator(format!("--public-url {public_url}: {text}"));
    let mut url = read_url(public_url).map_err(wrong)?;
    if url.path() != "/" || url.query().is_some() {
        return Err(wrong("must have no path and no query, such as https://shop.example"));
    }
    url.set_path(path);
    Ok(url)
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn options(key: &std::path::Path, public_url: &str) -> CardOptions {
        CardOptions {
            url: "https://card.example".into(),
            key_file: key.to_owned(),
            ca: None,
            public_url: public_url.into(),
        }
    }

    #[test]
    fn mistakes_name_the_flag_and_the_remedy() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("key");
        let error = |mode: u32, text: &str| {
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            options(&path, "https://shop.example").key("shop").map(drop).unwrap_err().to_string()
        };
        assert!(error(0o644, "sk_1").contains("chmod 600"));
        for text in ["", "\n", "two words", "sk_1\nsk_2"] {
            let error = error(0o600, text);
            assert!(error.contains("--card-key-file") && error.contains("--make-key"), "{error}");
        }
        let missing = options(&folder.path().join("none"), "").key("shop").unwrap_err().to_string();
        assert!(missing.contains("--make-key"), "{missing}");
        std::fs::write(&path, "sk_1\n").unwrap();
        assert_eq!(*options(&path, "").key("shop").unwrap(), "sk_1");
    }

    #[test]
    fn customers_come_back_to_the_page_that_the_merchant_names() {
        let url = |text: &str| options("key".as_ref(), text).return_url("/paid");
        assert_eq!(url("https://shop.example").unwrap().path(), "/paid");
        for text in ["", "http://shop.example", "https://shop.example/x", "https://a/?b"] {
            assert!(url(text).unwrap_err().to_string().contains("--public-url"), "{text}");
        }
    }
}
