//! Changing a password.

use std::time::Instant;

use super::audit::Audit;
use super::service::App;
use crate::error::{Error, Result};
use crate::protocol::back::{ReadAccount, ReplacePassword};
use crate::protocol::front::ChangePassword;
use crate::protocol::{Done, Mistake, Problem};
use crate::rpc::call;
use tidegate_sitekit::login_limit::too_many;
use tidegate_sitekit::password::PasswordCheck;

/// Characters of a new password.
const LENGTH: std::ops::RangeInclusive<usize> = 8..=128;
/// A new password takes at least so many guesses of a guesser who begins with the most common
/// ones. The 30,000 most common passwords, and plain changes to them, take fewer.
const LEAST_GUESSES: u64 = 1_000_000;
/// Words of this site, which a guesser tries first.
const OWN_WORDS: [&str; 4] = ["breakwater", "brokerage", "broker", "customer"];

impl App {
    /// Replaces the password of a customer who shows that they know it. A change that was made
    /// before, by a server whose answer was lost, succeeds again and changes nothing.
    ///
    /// # Errors
    /// The session is over, the password is wrong, or the new one is too short, too long or
    /// easily guessed. Too many wrong ones were tried from this address or for this account.
    /// The data tier failed.
    pub async fn change_password(&self, request: ChangePassword) -> Result<Done> {
        let ChangePassword { session, next, password, new, client } = request;
        let account = match call(&self.client, &ReadAccount { session: session.clone() }).await {
            Err(Error::Refused(problem)) if problem.status == 401 => {
                // The change itself has ended the session, if the one that it opens is there:
                // nothing else opens a session of this name.
                let changed = call(&self.client, &ReadAccount { session: next }).await?;
                Audit::changed(client, &changed.user);
                return Ok(Done {});
            }
            account => account?,
        };
        let login = self.login_limit.login(client, &account.user);
        let limited = |wait| {
            self.audit.limited(client);
            too_many(wait, "try again")
        };
        self.login_limit.check(login, Instant::now()).map_err(limited)?;
        let turn = self.hasher.turn().await;
        let guess = self.login_limit.guess(login).await.map_err(limited)?;
        // A longer one is nobody's, and is not hashed.
        let known = password.chars().count() <= *LENGTH.end();
        let verdict = match known {
            true => turn.verify(password, Some(account.hash.clone())).await?,
            false => PasswordCheck::Wrong,
        };
        if verdict == PasswordCheck::Wrong {
            guess.wrong();
            self.audit.failed(client, Some(&account.user));
            return Err(mistake("password", "Password: this is not your password.").into());
        }
        guess.right();
        if let Some(why) = weak(&new, &account.user) {
            return Err(mistake("new", why).into());
        }
        let new = self.hasher.hash(new).await?;
        let replace = ReplacePassword { session, next, old: account.hash, new };
        call(&self.client, &replace).await?;
        Audit::changed(client, &account.user);
        Ok(Done {})
    }
}

/// Why a password is not good enough. Characters of every kind count the same.
fn weak(password: &str, user: &str) -> Option<&'static str> {
    if !LENGTH.contains(&password.chars().count()) {
        return Some("New password: must be 8 to 128 characters long.");
    }
    let words = [&OWN_WORDS[..], &[user]].concat();
    (zxcvbn::zxcvbn(password, &words).guesses() < LEAST_GUESSES).then_some(
        "New password: is easily guessed. Take a longer one, such as a few words that do not \
         belong together.",
    )
}

fn mistake(field: &str, text: &str) -> Problem {
    let remedy = "Correct the fields that are marked, and send the form again.";
    Problem::of_form("The password was not changed", remedy, vec![Mistake::new(field, text)])
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn common_passwords_and_plain_changes_to_them_are_weak() {
        for password in [
            "password1",
            "12345678",
            "qwertyuiop",
            "iloveyou",
            "P@ssw0rd",
            "drowssap",
            "Sunshine1",
            "football",
            "aaaaaaaaaaaa",
            "abcdefghijk",
            "breakwater",
            "brokerage1",
            "customer17",
        ] {
            assert!(weak(password, "customer17").is_some(), "{password}");
        }
    }

    #[test]
    fn length_is_the_only_rule_beside_that() {
        let long = "correct horse battery staple".repeat(4);
        for password in [
            "vdkqmzhw",
            "lower case words only",
            "8462907153846",
            "ÄÖÜ äöü ß",
            " ~!@#$%^&* ",
            &long,
        ] {
            assert_eq!(weak(password, "customer1"), None, "{password}");
        }
        for password in ["", "7chars!", &"x7#".repeat(50)] {
            assert!(weak(password, "customer1").unwrap().contains("8 to 128"), "{password}");
        }
    }
}
