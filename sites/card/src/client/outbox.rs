//! The merchant's outbox: what it wants is stored before it is asked for.

use super::connection::Client;
use super::error::Error;
use super::request::Key;
use crate::resource::{Form, Movement, Payment, is_reference};
use tidegate_sitekit::problem::ApiError;

/// What a merchant wants, as it is stored. It holds no card.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// The merchant's own name for the payment.
    pub reference: String,
    /// What is wanted.
    pub step: Step,
}

/// A step of a payment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step {
    /// A new payment, whose card the customer types into the processor's form. Its reference
    /// is that of the entry.
    Create(Form),
    /// A capture.
    Capture {
        /// The merchant's own name for it, unique among the captures of the payment.
        reference: String,
        /// How much; `None`: all that is left.
        amount: Option<i64>,
        /// Nothing more will be captured.
        last: bool,
    },
    /// A refund.
    Refund {
        /// The merchant's own name for it, unique among the refunds of the payment.
        reference: String,
        /// How much; `None`: all that is left.
        amount: Option<i64>,
    },
}

/// The certain outcome of an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The step was carried out, and this is the payment now.
    Done(Box<Payment>),
    /// The processor refuses the step, which has changed nothing.
    Refused(ApiError),
}

/// A name for a payment that is unique for ever, and for all merchants of the processor. Its
/// groups are short: the processor refuses a name in which 13 digits or more follow each other
/// as those of a card number do, which some random names would have.
pub fn reference(of: &str, random: u128) -> String {
    let [a, b, c, d] = [96, 64, 32, 0].map(|shift| (random >> shift) as u32);
    format!("{of}-{a:08x}.{b:08x}.{c:08x}.{d:08x}")
}

impl Entry {
    /// The idempotency key of this entry: the same whenever it is tried.
    pub fn key(&self) -> Key {
        let of = &self.reference;
        // References have no bar in them, so different entries have different keys.
        Key::of_text(match &self.step {
            Step::Create(_) => format!("create|{of}"),
            Step::Capture { reference, .. } => format!("capture|{of}|{reference}"),
            Step::Refund { reference, .. } => format!("refund|{of}|{reference}"),
        })
    }

    fn has_references(&self) -> bool {
        let own = match &self.step {
            Step::Capture { reference, .. } | Step::Refund { reference, .. } => reference,
            Step::Create(_) => &self.reference,
        };
        is_reference(&self.reference) && is_reference(own)
    }
}

/// Carries out an entry, or finds out what has become of it.
///
/// # Errors
/// The outcome is unknown: why.
pub async fn perform(client: &Client, entry: &Entry) -> Result<Outcome, String> {
    if !entry.has_references() {
        return Ok(refused(
            "reference_invalid",
            "A reference is 1 to 64 letters, digits, - _ . : /",
        ));
    }
    let key = entry.key();
    if let Step::Create(form) = &entry.step {
        let form = Form { reference: entry.reference.clone(), ..form.clone() };
        return settled(client.create(&key, &form).await, client, entry).await;
    }
    let found = client.by_reference(&entry.reference).await;
    let Some(payment) = found.map_err(|error| error.to_string())? else {
        return Ok(refused("payment_not_found", "There is no payment of this reference."));
    };
    // A key is forgotten after a day; the reference tells for ever.
    if is_done(&entry.step, &payment) {
        return Ok(Outcome::Done(Box::new(payment)));
    }
    let id = &payment.id;
    let answer = match &entry.step {
        Step::Create(_) => Ok(payment),
        Step::Capture { reference, amount, last } => {
            client.capture(&key, id, *amount, Some(reference), *last).await
        }
        Step::Refund { reference, amount } => {
            client.refund(&key, id, *amount, Some(reference)).await
        }
    };
    settled(answer, client, entry).await
}

fn refused(code: &str, message: &str) -> Outcome {
    let (code, message) = (code.to_owned(), message.to_owned());
    Outcome::Refused(ApiError { code, message, field: None })
}

/// The outcome that an answer tells, or that the payment itself tells.
async fn settled(
    answer: Result<Payment, Error>,
    client: &Client,
    entry: &Entry,
) -> Result<Outcome, String> {
    let error = match answer {
        Ok(payment) => return Ok(Outcome::Done(Box::new(payment))),
        Err(error) => error,
    };
    // This merchant has done it, under a key that was forgotten, or with a body that another
    // version of it has written.
    let codes = ["reference_exists", "idempotency_key_reused"];
    let done_before = error.refusal_code().is_some_and(|code| codes.contains(&code));
    if let (false, Error::Refused { error, .. }) = (done_before, &error) {
        return Ok(Outcome::Refused(error.clone()));
    }
    match client.by_reference(&entry.reference).await {
        Ok(Some(payment)) if is_done(&entry.step, &payment) => Ok(Outcome::Done(Box::new(payment))),
        _ => Err(error.to_string()),
    }
}

/// Whether a payment shows that a step was carried out.
fn is_done(step: &Step, payment: &Payment) -> bool {
    let among = |moved: &[Movement], name: &str| moved.iter().any(|it| it.reference == name);
    match step {
        Step::Create(_) => true,
        Step::Capture { reference, .. } => among(&payment.captures, reference),
        Step::Refund { reference, .. } => among(&payment.refunds, reference),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::looks_like_card;

    fn of(random: u128) -> String {
        reference("deposit", random)
    }

    #[test]
    fn no_reference_looks_like_a_card_number() {
        let card = 0x4242_4242_4242_4242_u128;
        for random in [card, card << 64, card << 32, card.rotate_right(32), u128::MAX, 0] {
            assert!(is_reference(&of(random)) && !looks_like_card(&of(random)), "{random:x}");
        }
    }

    #[test]
    fn no_reference_has_as_many_digits_in_a_row_as_a_card_number() {
        let card = 0x4242_4242_4242_4242;
        assert_eq!(of(card), "deposit-00000000.00000000.42424242.42424242");
        for random in [card, card << 64, card << 32, u128::MAX, 0, 0x1234_5678_9012 << 80] {
            let reference = of(random);
            let mut rows = reference.split(|c: char| !c.is_ascii_digit() && c != '-');
            assert!(rows.all(|row| row.len() <= "-12345678".len()), "{reference}");
        }
        assert_ne!(of(1), of(1 << 32));
    }

    #[test]
    fn entries_that_differ_have_keys_that_differ() {
        let entry = |reference: &str, step| Entry { reference: reference.into(), step };
        let capture = |reference: &str| Step::Capture {
            reference: reference.into(),
            amount: None,
            last: true,
        };
        let refund = Step::Refund { reference: "b".into(), amount: None };
        let entries = [
            entry("a", capture("b")),
            entry("a/b", capture("")),
            entry("a", capture("b/c")),
            entry("a/b", capture("c")),
            entry("a", refund),
            entry(&"a".repeat(64), capture(&"b".repeat(64))),
        ];
        let keys: std::collections::HashSet<_> =
            entries.iter().map(|entry| entry.key().as_str().to_owned()).collect();
        assert_eq!(keys.len(), entries.len());
    }
}
