//! Why a message is refused. The log and the counters name the reason; the sender gets the
//! same answer for all of them.

/// The reason why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, thiserror::Error)]
pub enum Refused {
    /// The body is longer than [`Format::most_body`](crate::Format::most_body), or the payload
    /// than [`MOST_PAYLOAD`](crate::MOST_PAYLOAD).
    #[error("the message is too large")]
    TooLarge,
    /// The body did not arrive in time or broke off.
    #[error("the message did not arrive in full")]
    Incomplete,
    /// The Content-Type is not that of the format.
    #[error("the Content-Type is not that of the format")]
    MediaType,
    /// A header field occurs more than once.
    #[error("a header field occurs more than once")]
    RepeatedHeader,
    /// It is not what the format's only accepted form looks like.
    #[error("the message is malformed")]
    Malformed,
    /// It names another algorithm than the agreed one, or none.
    #[error("the algorithm is not the agreed one")]
    Algorithm,
    /// It has extensions that the receiver would have to understand.
    #[error("the message has critical headers")]
    Critical,
    /// It is compressed.
    #[error("the message is compressed")]
    Compressed,
    /// It does not decrypt: another key, or altered.
    #[error("the message does not decrypt")]
    Decryption,
    /// The signature is not that of the other party over this content.
    #[error("the signature is wrong")]
    Signature,
    /// The body is not the signed one.
    #[error("the body is not the signed one")]
    Digest,
    /// The signature does not cover what it must.
    #[error("the signature does not cover the message")]
    Coverage,
    /// It is from somebody else than the other party.
    #[error("the sender is another")]
    Sender,
    /// It is for somebody else.
    #[error("the recipient is another")]
    Recipient,
    /// It is older than the window.
    #[error("the message is too old")]
    Stale,
    /// It is from the future.
    #[error("the message is from the future")]
    Future,
    /// It was received before.
    #[error("the message was received before")]
    Replayed,
    /// No more identities can be kept, so that a replay could not be recognised.
    #[error("the store of received messages is full")]
    StoreFull,
    /// The answer belongs to another request, or a request claims to be an answer.
    #[error("the message answers another request")]
    Unbound,
}

impl Refused {
    /// All reasons.
    pub const ALL: [Self; 19] = [
        Self::TooLarge,
        Self::Incomplete,
        Self::MediaType,
        Self::RepeatedHeader,
        Self::Malformed,
        Self::Algorithm,
        Self::Critical,
        Self::Compressed,
        Self::Decryption,
        Self::Signature,
        Self::Digest,
        Self::Coverage,
        Self::Sender,
        Self::Recipient,
        Self::Stale,
        Self::Future,
        Self::Replayed,
        Self::StoreFull,
        Self::Unbound,
    ];

    /// The reason in counters: lower-case words with underscores.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Incomplete => "incomplete",
            Self::MediaType => "media_type",
            Self::RepeatedHeader => "repeated_header",
            Self::Malformed => "malformed",
            Self::Algorithm => "algorithm",
            Self::Critical => "critical",
            Self::Compressed => "compressed",
            Self::Decryption => "decryption",
            Self::Signature => "signature",
            Self::Digest => "digest",
            Self::Coverage => "coverage",
            Self::Sender => "sender",
            Self::Recipient => "recipient",
            Self::Stale => "stale",
            Self::Future => "future",
            Self::Replayed => "replayed",
            Self::StoreFull => "store_full",
            Self::Unbound => "unbound",
        }
    }

    /// Its place in [`ALL`](Self::ALL).
    pub(super) fn index(self) -> usize {
        Self::ALL.iter().position(|reason| *reason == self).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_a_label_of_its_own() {
        let labels: std::collections::BTreeSet<_> =
            Refused::ALL.iter().map(|reason| reason.label()).collect();
        assert_eq!(labels.len(), Refused::ALL.len());
        for (index, reason) in Refused::ALL.into_iter().enumerate() {
            assert_eq!(reason.index(), index);
        }
    }
}
