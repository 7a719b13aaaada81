//! The transcript of handshakes with an unusable server name.
//!
//! rustls rejects a hello whose server name is no host name, such as one with a port, which
//! nginx serves with its default certificate. So the extension is given to rustls under
//! another type, which it skips. Both sides sign and authenticate the hello as it was sent:
//! the hash functions of the cipher suites put the type back.

use crate::admission::handshake_context::HandshakeContext;
use rustls::crypto::CryptoProvider;
use rustls::crypto::hash::{Context, Hash, HashAlgorithm, Output};
use rustls::{CipherSuiteCommon, SupportedCipherSuite, Tls12CipherSuite, Tls13CipherSuite};
use std::sync::LazyLock;
use tidegate_hello::UnusableName;

/// The provider with hash functions that know of names which are hidden from it.
pub fn with_names_as_sent(provider: &CryptoProvider) -> CryptoProvider {
    CryptoProvider { cipher_suites: SUITES.clone(), ..provider.clone() }
}

/// Made once, as rustls keeps references to suites for ever.
static SUITES: LazyLock<Vec<SupportedCipherSuite>> = LazyLock::new(|| {
    let suites = rustls::crypto::aws_lc_rs::default_provider().cipher_suites;
    suites.into_iter().map(restoring).collect()
});

fn restoring(suite: SupportedCipherSuite) -> SupportedCipherSuite {
    let common = |common: &CipherSuiteCommon| CipherSuiteCommon {
        hash_provider: Box::leak(Box::new(Restoring(common.hash_provider))),
        ..*common
    };
    match suite {
        SupportedCipherSuite::Tls12(suite) => {
            let restoring = Tls12CipherSuite { common: common(&suite.common), ..*suite };
            SupportedCipherSuite::Tls12(Box::leak(Box::new(restoring)))
        }
        SupportedCipherSuite::Tls13(suite) => {
            let restoring = Tls13CipherSuite { common: common(&suite.common), ..*suite };
            SupportedCipherSuite::Tls13(Box::leak(Box::new(restoring)))
        }
    }
}

/// A hash function for transcripts.
struct Restoring(&'static dyn Hash);

impl Hash for Restoring {
    fn start(&self) -> Box<dyn Context> {
        let context = self.0.start();
        match HandshakeContext::of_this_thread().and_then(|handshake| handshake.unusable_name) {
            None => context,
            Some(name) => Box::new(RestoringContext { context, name, empty: true }),
        }
    }

    fn hash(&self, data: &[u8]) -> Output {
        self.0.hash(data)
    }

    fn output_len(&self) -> usize {
        self.0.output_len()
    }

    fn algorithm(&self) -> HashAlgorithm {
        self.0.algorithm()
    }

    fn fips(&self) -> bool {
        self.0.fips()
    }
}

/// A transcript that begins with a hello whose server name is hidden.
struct RestoringContext {
    context: Box<dyn Context>,
    name: UnusableName,
    /// The hello is still to come.
    empty: bool,
}

impl Context for RestoringContext {
    fn fork_finish(&self) -> Output {
        self.context.fork_finish()
    }

    fn fork(&self) -> Box<dyn Context> {
        Box::new(Self { context: self.context.fork(), ..*self })
    }

    fn finish(self: Box<Self>) -> Output {
        self.context.finish()
    }

    fn update(&mut self, data: &[u8]) {
        let empty = self.empty && data.is_empty();
        let first = std::mem::replace(&mut self.empty, empty);
        let UnusableName { at, stand_in } = self.name;
        let hidden = first && data.get(at..at + 2) == Some(&stand_in.to_be_bytes());
        if !hidden {
            return self.context.update(data);
        }
        self.context.update(&data[..at]);
        self.context.update(&UnusableName::TYPE.to_be_bytes());
        self.context.update(&data[at + 2..]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::admission::negotiation::Agreement;
    use crate::admission::tickets::{Holder, Terms};
    use tidegate_hello::negotiate::Choice;

    fn handshake(unusable_name: Option<UnusableName>) -> HandshakeContext {
        let terms = Terms { version: 0x0304, suite: 0x1301, extended_master_secret: false };
        let choice = Choice { version: 0x0304, suite: 0x1301, group: 29, retry: false };
        let agreed = Agreement { choice, certificate: 0 };
        HandshakeContext {
            holder: Holder::Session,
            session: [1; 16],
            began: 0,
            uses: 0,
            agreed,
            terms,
            server_name: 0,
            unusable_name,
        }
    }

    #[test]
    fn the_first_message_is_hashed_as_it_was_sent() {
        let name = UnusableName { at: 3, stand_in: 0x1a1a };
        let (sent, hidden) = (b"\x01abc"[..3].to_vec(), [0x1a, 0x1a]);
        let hello = |kind: [u8; 2]| [&sent[..], &kind, b"rest"].concat();
        for suite in SUITES.iter() {
            let hash = match suite {
                SupportedCipherSuite::Tls12(suite) => suite.common.hash_provider,
                SupportedCipherSuite::Tls13(suite) => suite.common.hash_provider,
            };
            let digest = |unusable, parts: &[&[u8]]| {
                handshake(unusable).scope(|| {
                    let mut context = hash.start();
                    parts.iter().for_each(|part| context.update(part));
                    assert_eq!(context.fork().finish().as_ref(), context.fork_finish().as_ref());
                    context.finish().as_ref().to_vec()
                })
            };
            let (hidden, sent) = (hello(hidden), hello([0, 0]));
            let expected = hash.hash(&[&sent[..], b"more"].concat());
            assert_eq!(digest(Some(name), &[b"", &hidden, b"more"]), expected.as_ref());
            // Only the first message is a hello, and only one with the name there.
            let later = digest(Some(name), &[b"x", &hidden]);
            assert_eq!(later, hash.hash(&[b"x", &hidden[..]].concat()).as_ref());
            assert_eq!(digest(Some(name), &[&sent]), hash.hash(&sent).as_ref());
            assert_eq!(digest(None, &[&hidden]), hash.hash(&hidden).as_ref());
        }
    }
}
