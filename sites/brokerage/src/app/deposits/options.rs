//! Where the card processor is, and how it is called.

use std::path::PathBuf;

use url::Url;
use zeroize::Zeroizing;

use tidegate_card::read_url;
use tidegate_sitekit::{Error, Result, private_file};

/// Where customers come back to from the card form, on the web tier.
const RETURNED: &str = "/deposits/returned";
/// Most bytes of a file with an API key.
const MOST_KEY: u64 = 1024;

/// A card processor.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CardOptions {
    /// Its URL, without a path.
    pub url: String,
    /// The file of the API key.
    pub key_file: PathBuf,
    /// PEM file of the certificates that it may show; without one, those of the system.
    pub ca: Option<PathBuf>,
    /// URL under which customers reach the brokerage, without a path.
    pub public_url: String,
}

impl CardOptions {
    /// Where customers come back to: the processor has to know it.
    ///
    /// # Errors
    /// The public URL is invalid, or has a path: an error for the operator.
    pub fn returns_to(public_url: &str) -> Result<String> {
        return_url(public_url).map(String::from)
    }

    /// The API key.
    ///
    /// # Errors
    /// The file is missing, can be read by others, or does not hold one line: errors for the
    /// operator.
    pub(super) fn key(&self) -> Result<Zeroizing<String>> {
        let path = self.key_file.display();
        let wrong = |text: String| Error::Operator(format!("--card-key-file {path}: {text}"));
        let make = "write it with `(umask 077; tidegate site card --make-key brokerage > FILE)`";
        let bytes = private_file::read_at_most(MOST_KEY, &self.key_file).map_err(|reason| {
            wrong(if self.key_file.exists() { reason } else { format!("{reason}; {make}") })
        })?;
        let text = std::str::from_utf8(&bytes).unwrap_or_default().trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err(wrong(format!("must hold an API key and nothing else; {make}")));
        }
        Ok(Zeroizing::new(text.to_owned()))
    }

    /// Where customers come back to.
    ///
    /// # Errors
    /// The public URL is invalid, or has a path: an error for the operator.
    pub(super) fn return_url(&self) -> Result<Url> {
        return_url(&self.public_url)
    }
}

fn return_url(public_url: &str) -> Result<Url> {
    let wrong = |text: &str| Error::Operator(format!("--public-url {public_url}: {text}"));
    let mut url = read_url(public_url).map_err(wrong)?;
    if url.path() != "/" || url.query().is_some() {
        return Err(wrong("must have no path and no query, such as https://broker.example"));
    }
    url.set_path(RETURNED);
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
            options(&path, "https://broker.example").key().map(drop).unwrap_err().to_string()
        };
        assert!(error(0o644, "sk_1").contains("chmod 600"));
        for text in ["", "\n", "two words", "sk_1\nsk_2"] {
            let error = error(0o600, text);
            assert!(error.contains("--card-key-file") && error.contains("--make-key"), "{error}");
        }
        let missing = options(&folder.path().join("none"), "").key().unwrap_err().to_string();
        assert!(missing.contains("--make-key"), "{missing}");
        std::fs::write(&path, "sk_1\n").unwrap();
        assert_eq!(*options(&path, "").key().unwrap(), "sk_1");
    }

    #[test]
    fn customers_come_back_to_the_page_of_their_deposit() {
        let url = |text: &str| options("key".as_ref(), text).return_url();
        assert_eq!(url("https://broker.example").unwrap().path(), RETURNED);
        for text in ["", "http://broker.example", "https://broker.example/x", "https://a/?b"] {
            assert!(url(text).unwrap_err().to_string().contains("--public-url"), "{text}");
        }
    }
}
