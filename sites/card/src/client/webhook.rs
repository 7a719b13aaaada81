//! Webhooks as the merchant receives them.

use std::path::Path;
use std::time::Duration;

use crate::resource::Event;
use crate::signature::{Rejected, WebhookSecret, read_secrets, verify};

/// How far the time of a signature may be from now.
pub const TOLERANCE: Duration = Duration::from_secs(300);

/// Verifies webhooks.
///
/// A webhook is delivered at least once: the merchant stores [`Event::id`] in the transaction
/// of what it does about the event, and ignores ids that it has stored. The tolerance bounds
/// how long an id could be replayed that was not stored.
#[derive(Clone, Debug)]
pub struct Verifier {
    secrets: Vec<WebhookSecret>,
    tolerance: Duration,
}

impl Verifier {
    /// Accepts signatures by any of these secrets: the new one and the one before, while they
    /// are replaced.
    pub fn new(secrets: Vec<WebhookSecret>) -> Self {
        Self { secrets, tolerance: TOLERANCE }
    }

    /// The same for the secrets of a file, one a line.
    ///
    /// # Errors
    /// It is missing, can be read by others, or holds something else: errors for the operator.
    pub fn read(path: &Path) -> tidegate_sitekit::Result<Self> {
        read_secrets(path).map(Self::new)
    }

    /// The event of a webhook. `header` is the value of `tidegate-signature`, `body` the bytes
    /// as they arrived, `now_ms` the time in milliseconds since 1970.
    ///
    /// # Errors
    /// Why the webhook is rejected: answer 400 and do nothing.
    pub fn verify(&self, header: &str, body: &[u8], now_ms: i64) -> Result<Event, Rejected> {
        let seconds = verify(&self.secrets, header, body)?;
        let apart = seconds.abs_diff(now_ms.div_euclid(1000));
        if apart > self.tolerance.as_secs() {
            return Err(Rejected::Time);
        }
        serde_json::from_slice(body).map_err(|_| Rejected::Body)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::signature::sign;

    const BODY: &[u8] = br#"{"id":"evt_1","sequence":1,"type":"payment.captured","created_ms":1,
        "later":"a field of a later version","payment":{"id":"pay_1","reference":"d-1",
        "amount":5,"currency":"USD","status":"captured","amount_capturable":0,
        "amount_captured":5,"amount_refunded":0,"capture":"manual","captures":[],"refunds":[],
        "version":3,"created_ms":1}}"#;

    #[test]
    fn a_webhook_is_accepted_within_the_tolerance() {
        let secret = WebhookSecret::from_text("0123456789abcdef").unwrap();
        let verifier = Verifier::new(vec![secret.clone()]);
        let header = sign(std::slice::from_ref(&secret), 1_000_000, BODY);
        for (now_ms, expected) in [
            (1_000_000_000, Ok("evt_1")),
            (1_000_300_999, Ok("evt_1")),
            (999_700_000, Ok("evt_1")),
            (1_000_301_000, Err(Rejected::Time)),
            (999_699_999, Err(Rejected::Time)),
        ] {
            let verified = verifier.verify(&header, BODY, now_ms).map(|event| event.id);
            assert_eq!(verified.as_deref().map_err(|error| *error), expected, "{now_ms}");
        }
        let header = sign(&[secret], 1_000_000, b"{}");
        assert_eq!(verifier.verify(&header, b"{}", 1_000_000_000), Err(Rejected::Body));
    }
}
