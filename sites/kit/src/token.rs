//! Signed tokens: the site sends one in a hidden field and trusts it when it
//! returns with a valid signature.
//!
//! A token is `claims.expiry.signature`, the signature an HMAC-SHA-256 over all
//! before it. A site keeps its key beside its data, so that the forms that users
//! have open outlive a restart, and processes on one database accept each other's.

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::{hmac, rand::SecureRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

/// Longest token that is read, bytes.
const LONGEST: usize = 256;

/// Length of a key, bytes.
const KEY: usize = 32;

/// A new random key, as text.
///
/// # Panics
/// The system has no random bytes.
pub fn new_key() -> String {
    let mut key = [0; KEY];
    SystemRandom::new().fill(&mut key).expect("the system provides random bytes");
    URL_SAFE_NO_PAD.encode(key)
}

/// Signs a site's tokens.
#[derive(Clone, Debug)]
pub struct Signer {
    key: hmac::Key,
}

/// Why a token is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenError {
    /// Not signed by this key: forged, damaged, or of another site.
    Invalid,
    /// Signed by this key, and too old.
    Expired,
}

impl Signer {
    /// A signer with this key, as [`new_key`] makes it; `None` if it is not one.
    pub fn from_key(key: &str) -> Option<Self> {
        let key = URL_SAFE_NO_PAD.decode(key).ok().filter(|key| key.len() == KEY)?;
        Some(Self { key: hmac::Key::new(hmac::HMAC_SHA256, &key) })
    }

    /// Signs `claims`, any numbers, valid until `expiry` (seconds since 1970).
    pub fn sign(&self, claims: &[i64], expiry: i64) -> String {
        let mut token = String::with_capacity(96);
        for claim in claims.iter().chain([&expiry]) {
            token.push_str(&claim.to_string());
            token.push('.');
        }
        let tag = hmac::sign(&self.key, token.as_bytes());
        URL_SAFE_NO_PAD.encode_string(tag.as_ref(), &mut token);
        token
    }

    /// The claims and the expiry of a token that this key signed and that has not
    /// expired at `now`.
    ///
    /// # Errors
    /// Why the token is rejected.
    pub fn open<const N: usize>(
        &self,
        token: &str,
        now: i64,
    ) -> Result<([i64; N], i64), TokenError> {
        if token.len() > LONGEST {
            return Err(TokenError::Invalid);
        }
        let end = token.rfind('.').ok_or(TokenError::Invalid)? + 1;
        let (signed, tag) = token.split_at(end);
        let tag = URL_SAFE_NO_PAD.decode(tag).map_err(|_| TokenError::Invalid)?;
        hmac::verify(&self.key, signed.as_bytes(), &tag).map_err(|_| TokenError::Invalid)?;

        let mut numbers = signed[..end - 1].split('.').map(str::parse::<i64>);
        let mut claims = [0; N];
        for claim in &mut claims {
            *claim = numbers.next().and_then(Result::ok).ok_or(TokenError::Invalid)?;
        }
        match (numbers.next(), numbers.next()) {
            (Some(Ok(expiry)), None) if now < expiry => Ok((claims, expiry)),
            (Some(Ok(_)), None) => Err(TokenError::Expired),
            _ => Err(TokenError::Invalid),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn random() -> Signer {
        Signer::from_key(&new_key()).unwrap()
    }

    #[test]
    fn two_signers_of_one_key_open_each_others_tokens_and_no_other_text_is_a_key() {
        let key = new_key();
        let [one, two] = [(); 2].map(|()| Signer::from_key(&key).unwrap());
        assert_eq!(two.open(&one.sign(&[7], 100), 0), Ok(([7], 100)));
        for text in ["", "x", &key[1..], &format!("{key}A"), "ä"] {
            assert!(Signer::from_key(text).is_none(), "{text}");
        }
    }

    #[test]
    fn a_token_returns_its_claims_until_it_expires() {
        let signer = random();
        let token = signer.sign(&[3, -1], 100);
        assert_eq!(signer.open(&token, 99), Ok(([3, -1], 100)));
        assert_eq!(signer.open::<2>(&token, 100), Err(TokenError::Expired));
    }

    #[test]
    fn a_token_of_another_key_or_shape_is_invalid() {
        let token = random().sign(&[3], 100);
        let signer = random();
        assert_eq!(signer.open::<1>(&token, 0), Err(TokenError::Invalid));
        let ours = signer.sign(&[3], 100);
        assert_eq!(signer.open::<2>(&ours, 0), Err(TokenError::Invalid));
        assert_eq!(signer.open::<0>(&ours, 0), Err(TokenError::Invalid));
    }

    proptest! {
        #[test]
        fn one_changed_byte_makes_a_token_invalid(at in 0usize..60, to in 33u8..127) {
            let signer = random();
            let token = signer.sign(&[12345, 678], 1_000_000_000);
            let mut bytes = token.clone().into_bytes();
            let at = at % bytes.len();
            prop_assume!(bytes[at] != to);
            bytes[at] = to;
            let changed = String::from_utf8(bytes).unwrap();
            prop_assert!(signer.open::<2>(&changed, 0) == Err(TokenError::Invalid));
        }

        #[test]
        fn junk_never_panics(junk in "\\PC{0,300}") {
            prop_assert!(random().open::<2>(&junk, 0).is_err());
        }
    }
}
