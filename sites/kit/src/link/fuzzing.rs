//! Both ends of a link with sealed messages, for the fuzz target.

use std::sync::Arc;

use super::sealed::{Cipher, KeyRing, Opener, Refused, Sealer};
use crate::{Result, when};

/// Where the messages are sent to.
const PATH: &str = "/create-order";
const ADDRESS: &str = "127.0.0.1:9001";

/// The two ends.
pub struct Ends {
    sealer: Sealer,
    opener: Opener,
}

impl Ends {
    /// Ends with a new key.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn new() -> Result<Self> {
        let ring = Arc::new(KeyRing::generate("one", Cipher::Aes256Gcm)?);
        let opener = Opener::new(Arc::clone(&ring), when::now_ms())?;
        Ok(Self { sealer: Sealer::new(ring)?, opener })
    }

    /// A message that opens once.
    pub fn seal(&self, body: &[u8]) -> Vec<u8> {
        self.sealer.seal(PATH, ADDRESS, body, when::now_ms()).0
    }

    /// What a request contains.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open(&self, message: &[u8]) -> std::result::Result<Vec<u8>, String> {
        let opened = self.opener.open(PATH, &[ADDRESS], message, when::now_ms());
        opened.map(|(body, _)| body).map_err(|why: Refused| why.to_string())
    }

    /// What an answer to a new request contains, if it opens.
    pub fn open_answer(&self, answer: &[u8]) -> Option<Vec<u8>> {
        let (_, request) = self.sealer.seal(PATH, ADDRESS, b"{}", when::now_ms());
        self.sealer.open(PATH, 200, request, answer)
    }
}
