//! Sessions: the token is the customer's, its key is what a site knows it by.

use std::fmt;

use aws_lc_rs::digest::{SHA256, digest};
use aws_lc_rs::hmac;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};

use crate::{Result, random};

/// Bytes of a token and of a key.
const BYTES: usize = 32;
/// What the token of a form is made for.
const FORM: &[u8] = b"form";

/// What a customer's browser shows to be signed in: 32 random bytes in base64. It is kept in a
/// [`cookie`](crate::web::cookie) and nowhere else: a site stores its key.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionToken(String);

/// The SHA-256 of a token: who can read the database cannot use the sessions in it.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct SessionKey(String);

impl SessionToken {
    /// A new one.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn random() -> Result<Self> {
        Ok(Self(URL_SAFE_NO_PAD.encode(random::bytes::<BYTES>()?)))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key of the session.
    pub fn key(&self) -> SessionKey {
        SessionKey::of_text(&self.0)
    }

    /// What a form of this session carries, so that no other site can send it: an HMAC
    /// whose key is the token. Every process that serves the session makes the same.
    pub fn form(&self) -> String {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        URL_SAFE_NO_PAD.encode(hmac::sign(&key, FORM))
    }

    /// Whether a form carries what this session's forms carry.
    pub fn has_form(&self, carried: &str) -> bool {
        let key = hmac::Key::new(hmac::HMAC_SHA256, self.0.as_bytes());
        URL_SAFE_NO_PAD
            .decode(carried)
            .is_ok_and(|carried| hmac::verify(&key, FORM, &carried).is_ok())
    }
}

impl SessionKey {
    /// The key of a token that need not be random: of one that a population has.
    pub fn of_text(token: &str) -> Self {
        Self(URL_SAFE_NO_PAD.encode(digest(&SHA256, token.as_bytes())))
    }

    /// As text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

fn checked(text: String) -> Result<String, &'static str> {
    let decoded = URL_SAFE_NO_PAD.decode(&text).ok().filter(|bytes| bytes.len() == BYTES);
    decoded.map(|_| text).ok_or("a session is named by 32 bytes in base64")
}

impl TryFrom<String> for SessionToken {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        checked(text).map(Self)
    }
}

impl TryFrom<String> for SessionKey {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, &'static str> {
        checked(text).map(Self)
    }
}

impl From<SessionToken> for String {
    fn from(token: SessionToken) -> Self {
        token.0
    }
}

impl From<SessionKey> for String {
    fn from(key: SessionKey) -> Self {
        key.0
    }
}

impl fmt::Debug for SessionToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionToken(…)")
    }
}

impl fmt::Debug for SessionKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SessionKey(…)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_form_belongs_to_one_session() {
        let (one, two) = (SessionToken::random().unwrap(), SessionToken::random().unwrap());
        assert!(one.has_form(&one.form()));
        for carried in [two.form(), String::new(), "x".into(), one.key().as_str().into()] {
            assert!(!one.has_form(&carried), "{carried}");
        }
    }

    #[test]
    fn sessions_are_32_random_bytes_and_no_two_are_alike() {
        let tokens: Vec<String> =
            (0..1000).map(|_| SessionToken::random().unwrap().as_str().to_owned()).collect();
        let mut ones = 0;
        for token in &tokens {
            let bytes = URL_SAFE_NO_PAD.decode(token).unwrap();
            assert_eq!(bytes.len(), 32);
            ones += bytes.iter().map(|byte| byte.count_ones()).sum::<u32>();
        }
        // 256,000 fair bits: 128,000 give or take 253; ten deviations are no chance.
        assert!((125_470..130_530).contains(&ones), "{ones}");
        let different: std::collections::HashSet<_> = tokens.iter().collect();
        assert_eq!(different.len(), tokens.len());
    }

    #[test]
    fn a_session_is_shown_nowhere_and_what_is_none_is_not_read() {
        let token = SessionToken::random().unwrap();
        assert!(!format!("{token:?} {:?}", token.key()).contains(token.as_str()));
        assert_ne!(token.as_str(), token.key().as_str());
        let read = |text: String| SessionToken::try_from(text).is_ok();
        assert!(read(token.as_str().into()));
        for text in ["".into(), "x".into(), "=".repeat(43), token.as_str()[1..].into()] {
            assert!(!read(text));
        }
    }
}
