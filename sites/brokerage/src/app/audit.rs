//! Lines of the log that tell of signing in. They hold no password, no session, and no name
//! that is nobody's: people type passwords into the wrong field.

use std::net::IpAddr;
use std::time::Instant;

use tidegate_sitekit::throttle::Throttle;

/// What was logged. Of each kind there is a line in a second, with the number of those before
/// that were left out.
#[derive(Debug, Default)]
pub struct Audit {
    failed: Throttle,
    limited: Throttle,
    signed_in: Throttle,
}

impl Audit {
    /// A name and a password did not belong together; `user` is a name that somebody has.
    pub fn failed(&self, client: IpAddr, user: Option<&str>) {
        if let Some(left_out) = self.failed.allows(Instant::now()) {
            let user = user.unwrap_or("(nobody has this name)");
            tracing::warn!(%client, user, left_out, "a password was wrong");
        }
    }

    /// The password was not looked at: too many were wrong.
    pub fn limited(&self, client: IpAddr) {
        if let Some(left_out) = self.limited.allows(Instant::now()) {
            tracing::warn!(%client, left_out, "an attempt to sign in is refused: too many failed");
        }
    }

    /// A customer has signed in.
    // With thousands in a second a line of each would cost more than they do.
    pub fn signed_in(&self, client: IpAddr, user: &str) {
        if let Some(left_out) = self.signed_in.allows(Instant::now()) {
            tracing::info!(%client, user, left_out, "a customer has signed in");
        }
    }

    /// A customer has another password.
    pub fn changed(client: IpAddr, user: &str) {
        tracing::info!(%client, user, "a password was changed; the customer's other sessions ended");
    }
}
