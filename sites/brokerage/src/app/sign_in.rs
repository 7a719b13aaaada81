//! Signing in.

use std::time::Instant;

use super::service::App;
use crate::error::Result;
use crate::protocol::SessionToken;
use crate::protocol::back::{Credentials, GetCredentials, OpenSession, RenewPassword};
use crate::protocol::front::{SignIn, SignedIn};
use crate::rpc::call;
use tidegate_sitekit::Problem;
use tidegate_sitekit::login_limit::too_many;
use tidegate_sitekit::password::PasswordCheck;

/// Most characters of a name and of a password.
const LONGEST: [usize; 2] = [32, 128];

impl App {
    /// Signs a customer in whose name and password belong together.
    ///
    /// # Errors
    /// They do not; the message does not say which is wrong. Too many logins have failed
    /// from this address or for this account. The data tier failed.
    pub async fn sign_in(&self, request: SignIn) -> Result<SignedIn> {
        let SignIn { user, password, client, replaces } = request;
        let lengths = [user.chars().count(), password.chars().count()];
        let too_long = lengths.iter().zip(LONGEST).any(|(length, most)| *length > most);
        // Nobody has such a name, and not every database can be asked for it.
        if too_long || user.contains(char::is_control) {
            return Err(wrong().into());
        }
        let login = self.login_limit.login(client, &user);
        let limited = |wait| {
            self.audit.limited(client);
            too_many(wait, "try again")
        };
        self.login_limit.check(login, Instant::now()).map_err(limited)?;
        let found = call(&self.client, &GetCredentials { user: user.clone() }).await?;
        let turn = self.hasher.turn().await;
        let guess = self.login_limit.guess(login).await.map_err(limited)?;
        let known = found.is_some();
        let stored = found.as_ref().map(|found| found.hash.clone());
        let verdict = turn.verify(password, stored).await?;
        let (
            Some(Credentials { customer, hash }),
            PasswordCheck::Right | PasswordCheck::RightRenew(_),
        ) = (found, &verdict)
        else {
            guess.wrong();
            self.audit.failed(client, known.then_some(user.as_str()));
            return Err(wrong().into());
        };
        guess.right();
        if let PasswordCheck::RightRenew(new) = verdict {
            call(&self.client, &RenewPassword { customer, old: hash, new }).await?;
        }
        self.audit.signed_in(client, &user);
        let session = SessionToken::random()?;
        let open = OpenSession { customer, session: session.key(), replaces };
        Ok(SignedIn { overview: call(&self.client, &open).await?, session })
    }
}

fn wrong() -> Problem {
    Problem::new(
        // Not 403: a link means that it refuses the tier.
        401,
        "You could not be signed in",
        "User name and password do not belong together.",
        "Check both and try again; mind capital letters.",
    )
}
