//! The issuers of test cards, simulated: what each card does. Other cards are refused, so
//! that nobody pays with a real one.

use std::time::Duration;
use tidegate_sitekit::named;

use serde::{Deserialize, Serialize};

use crate::details::{Card, Expiry};

/// A test card.
#[derive(Debug)]
pub struct TestCard {
    /// Its number.
    pub number: &'static str,
    /// What its issuer does.
    pub behaviour: Behaviour,
}

/// What an issuer does with a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Authorises.
    Approve,
    /// Declines.
    Decline(DeclineCode),
    /// Declines with [`DeclineCode::IncorrectCvc`] unless the security code is 123.
    CheckCvc,
    /// Fails once, and authorises when it is asked again.
    FailOnce,
    /// Authorises after the time of slow cards.
    Slow,
}

/// Why a card is declined.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum DeclineCode {
    /// The issuer gives no reason.
    GenericDecline,
    /// The account does not hold the amount.
    InsufficientFunds,
    /// The card is no longer valid.
    ExpiredCard,
    /// The card is reported stolen.
    StolenCard,
    /// The security code is not that of the card.
    IncorrectCvc,
}

named!(DeclineCode: GenericDecline = "generic_decline", InsufficientFunds = "insufficient_funds",
    ExpiredCard = "expired_card", StolenCard = "stolen_card", IncorrectCvc = "incorrect_cvc");

impl DeclineCode {
    /// What the customer is told. Who holds a stolen card is told no more than that it is
    /// declined.
    pub fn message(self) -> &'static str {
        match self {
            Self::GenericDecline | Self::StolenCard => {
                "The card was declined by its issuer; try another card."
            }
            Self::InsufficientFunds => {
                "The card was declined: its account does not hold the amount; try another card."
            }
            Self::ExpiredCard => "The card has expired; try another card.",
            Self::IncorrectCvc => {
                "The security code is not that of the card; compare it with the card."
            }
        }
    }

    /// The field of the card that is at fault.
    pub fn field(self) -> &'static str {
        match self {
            Self::IncorrectCvc => "cvc",
            Self::ExpiredCard => "expiry",
            _ => "number",
        }
    }
}

/// An issuer's answer to a request for an authorisation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Answer {
    /// Authorised at once.
    Approved,
    /// Declined at once.
    Declined(DeclineCode),
    /// Authorised after the time of slow cards.
    Later,
}

/// Why there is no answer; then the issuer has done nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoAnswer {
    /// The issuer could not be reached; the same request may be sent again.
    Failed,
    /// No issuer knows the card.
    NoTestCard,
}

/// All test cards.
pub static TEST_CARDS: [TestCard; 11] = [
    TestCard { number: "4242424242424242", behaviour: Behaviour::Approve },
    TestCard { number: "5555555555554444", behaviour: Behaviour::Approve },
    TestCard { number: "6011111111111117", behaviour: Behaviour::Approve },
    TestCard { number: "378282246310005", behaviour: Behaviour::Approve },
    decline("4000000000000002", DeclineCode::GenericDecline),
    decline("4000000000009995", DeclineCode::InsufficientFunds),
    decline("4000000000000069", DeclineCode::ExpiredCard),
    decline("4000000000009979", DeclineCode::StolenCard),
    TestCard { number: "4000000000000127", behaviour: Behaviour::CheckCvc },
    TestCard { number: "4000000000000119", behaviour: Behaviour::FailOnce },
    TestCard { number: "4000000000005043", behaviour: Behaviour::Slow },
];

const fn decline(number: &'static str, code: DeclineCode) -> TestCard {
    TestCard { number, behaviour: Behaviour::Decline(code) }
}

/// The right security code of a card that checks it.
const RIGHT_CVC: &str = "123";
/// What a customer is told of a card that is no test card. No answer holds a whole number,
/// not even that of a test card.
pub const TEST_CARDS_ONLY: &str = "This is a simulated processor, which takes test cards only: \
     the number that always works is 4242, four times.";

/// What the issuer of a card answers at `now_ms`, to the `attempt`th request (from 1) for
/// one payment.
///
/// # Errors
/// There is no answer.
pub fn ask(card: &Card, attempt: i64, now_ms: i64) -> Result<Answer, NoAnswer> {
    let found = TEST_CARDS.iter().find(|test| card.number.is(test.number));
    let found = found.ok_or(NoAnswer::NoTestCard)?;
    if card.expiry < Expiry::of_time(now_ms) {
        return Ok(Answer::Declined(DeclineCode::ExpiredCard));
    }
    match found.behaviour {
        Behaviour::Approve => Ok(Answer::Approved),
        Behaviour::Decline(code) => Ok(Answer::Declined(code)),
        Behaviour::CheckCvc if card.cvc.is(RIGHT_CVC) => Ok(Answer::Approved),
        Behaviour::CheckCvc => Ok(Answer::Declined(DeclineCode::IncorrectCvc)),
        Behaviour::FailOnce if attempt > 1 => Ok(Answer::Approved),
        Behaviour::FailOnce => Err(NoAnswer::Failed),
        Behaviour::Slow => Ok(Answer::Later),
    }
}

/// How long a slow card takes unless the operator says otherwise: longer than merchants
/// usually wait for an answer.
pub const SLOW: Duration = Duration::from_secs(20);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::details::Cvc;
    use crate::number::CardNumber;

    const NOW: i64 = 1_777_593_600_000;

    fn card(number: &str, cvc: &str) -> Card {
        let Ok(number) = CardNumber::parse(number) else { panic!("{number} is no number") };
        let Ok(cvc) = Cvc::parse(cvc, number.brand()) else { panic!("{cvc} is no code") };
        Card { number, expiry: Expiry { year: 2099, month: 1 }, cvc }
    }

    #[test]
    fn every_test_card_has_a_number_of_its_own_with_a_right_check_digit() {
        let numbers: std::collections::HashSet<_> =
            TEST_CARDS.iter().map(|test| test.number).collect();
        assert_eq!(numbers.len(), TEST_CARDS.len());
        for test in &TEST_CARDS {
            assert!(CardNumber::parse(test.number).is_ok(), "{}", test.number);
        }
    }

    #[test]
    fn cards_do_what_their_table_says() {
        let ask = |number, cvc, attempt| ask(&card(number, cvc), attempt, NOW);
        assert_eq!(ask("4242424242424242", "111", 1), Ok(Answer::Approved));
        assert_eq!(ask("378282246310005", "1111", 1), Ok(Answer::Approved));
        let declined = Ok(Answer::Declined(DeclineCode::StolenCard));
        assert_eq!(ask("4000000000009979", "111", 1), declined);
        let wrong = Ok(Answer::Declined(DeclineCode::IncorrectCvc));
        assert_eq!(ask("4000000000000127", "111", 1), wrong);
        assert_eq!(ask("4000000000000127", "123", 1), Ok(Answer::Approved));
        assert_eq!(ask("4000000000000119", "111", 1), Err(NoAnswer::Failed));
        assert_eq!(ask("4000000000000119", "111", 2), Ok(Answer::Approved));
        assert_eq!(ask("4000000000005043", "111", 1), Ok(Answer::Later));
    }

    #[test]
    fn an_expired_card_is_declined_and_another_than_a_test_card_is_not_taken() {
        let mut expired = card("4242424242424242", "111");
        expired.expiry = Expiry { year: 2026, month: 4 };
        let declined = Ok(Answer::Declined(DeclineCode::ExpiredCard));
        assert_eq!(ask(&expired, 1, NOW), declined);
        expired.expiry.month = 5;
        assert_eq!(ask(&expired, 1, NOW), Ok(Answer::Approved));
        assert_eq!(ask(&card("4111111111111111", "111"), 1, NOW), Err(NoAnswer::NoTestCard));
    }

    #[test]
    fn a_thief_is_not_told_that_the_card_is_known_as_stolen() {
        assert!(!DeclineCode::StolenCard.message().contains("stolen"));
        for code in DeclineCode::ALL {
            assert_eq!(DeclineCode::of_name(code.name()), Some(*code));
        }
    }
}
