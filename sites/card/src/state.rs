//! What may happen to a payment: pure arithmetic on its amounts.
//!
//! ```text
//! requires_card ──card──► processing ──► requires_capture ──capture──► captured
//!      │  ▲                  │  │            │                            │ refund
//!      │  └──declined, try───┘  │            │ cancel, expiry             ▼
//!      │     another            ▼            ▼             partially_refunded, refunded
//!      └───────cancel──────► declined    cancelled
//! ```
//!
//! Never is more captured than was authorised, nor more refunded than was captured.

use serde::{Deserialize, Serialize};
use tidegate_sitekit::numbered;

/// The phase of a payment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Phase {
    /// The customer has not typed a card yet.
    RequiresCard,
    /// The issuer was asked and has not answered.
    Processing,
    /// Authorised; more may be captured.
    Open,
    /// Captured, and no more will be.
    Closed,
    /// Nothing was captured, and nothing will be.
    Cancelled,
    /// The issuer has declined.
    Declined,
}

numbered!(Phase: RequiresCard = 0, Processing = 1, Open = 2, Closed = 3, Cancelled = 4, Declined = 5);

/// The status of a payment, as merchants see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Status {
    /// The customer has not typed a card yet.
    RequiresCard,
    /// The issuer was asked and has not answered.
    Processing,
    /// Authorised; the merchant may capture.
    RequiresCapture,
    /// Captured; nothing is refunded.
    Captured,
    /// A part of what was captured is refunded.
    PartiallyRefunded,
    /// All that was captured is refunded.
    Refunded,
    /// Nothing was captured, and nothing will be.
    Cancelled,
    /// The issuer has declined.
    Declined,
}

impl Status {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::RequiresCard => "requires_card",
            Self::Processing => "processing",
            Self::RequiresCapture => "requires_capture",
            Self::Captured => "captured",
            Self::PartiallyRefunded => "partially_refunded",
            Self::Refunded => "refunded",
            Self::Cancelled => "cancelled",
            Self::Declined => "declined",
        }
    }
}

/// The state of a payment. Amounts are minor units of its currency.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct State {
    /// What is or will be authorised.
    pub amount: i64,
    /// The phase.
    pub phase: Phase,
    /// Sum of what was captured.
    pub captured: i64,
    /// Sum of what was refunded.
    pub refunded: i64,
}

/// Why a step is not possible.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Impossible {
    /// Not in this status.
    Status(Status),
    /// The amount is more than this, which is left.
    Exceeds(i64),
}

impl State {
    /// A payment that was just created.
    pub fn new(amount: i64) -> Self {
        Self { amount, phase: Phase::RequiresCard, captured: 0, refunded: 0 }
    }

    /// As merchants see it.
    pub fn status(&self) -> Status {
        match self.phase {
            Phase::RequiresCard => Status::RequiresCard,
            Phase::Processing => Status::Processing,
            Phase::Open => Status::RequiresCapture,
            Phase::Cancelled => Status::Cancelled,
            Phase::Declined => Status::Declined,
            Phase::Closed if self.refunded == 0 => Status::Captured,
            Phase::Closed if self.refunded < self.captured => Status::PartiallyRefunded,
            Phase::Closed => Status::Refunded,
        }
    }

    /// What may still be captured.
    pub fn capturable(&self) -> i64 {
        if self.phase == Phase::Open { self.amount - self.captured } else { 0 }
    }

    /// What may still be refunded.
    pub fn refundable(&self) -> i64 {
        self.captured - self.refunded
    }

    /// The issuer is asked.
    ///
    /// # Errors
    /// It was asked before, or the payment has ended.
    pub fn submit(self) -> Result<Self, Impossible> {
        self.only(Phase::RequiresCard)?;
        Ok(Self { phase: Phase::Processing, ..self })
    }

    /// The issuer has authorised.
    ///
    /// # Errors
    /// It was not asked.
    pub fn authorise(self) -> Result<Self, Impossible> {
        self.only(Phase::Processing)?;
        Ok(Self { phase: Phase::Open, ..self })
    }

    /// The issuer has declined; the customer may try another card, or not.
    ///
    /// # Errors
    /// It was not asked.
    pub fn decline(self, try_another: bool) -> Result<Self, Impossible> {
        self.only(Phase::Processing)?;
        let phase = if try_another { Phase::RequiresCard } else { Phase::Declined };
        Ok(Self { phase, ..self })
    }

    /// Captures an amount, or all that is left. After the last capture, and after one of all
    /// that is left, no more is possible.
    ///
    /// # Errors
    /// Nothing is authorised, or less than this amount.
    pub fn capture(self, amount: Option<i64>, last: bool) -> Result<(Self, i64), Impossible> {
        self.only(Phase::Open)?;
        let amount = within(amount, self.capturable())?;
        let captured = self.captured + amount;
        let phase = if last || captured == self.amount { Phase::Closed } else { Phase::Open };
        Ok((Self { phase, captured, ..self }, amount))
    }

    /// Gives up what is not captured. A payment of which something is captured stays captured.
    ///
    /// # Errors
    /// The issuer is being asked, or there is nothing to give up.
    pub fn cancel(self) -> Result<Self, Impossible> {
        let phase = match self.phase {
            Phase::RequiresCard => Phase::Cancelled,
            Phase::Open if self.captured == 0 => Phase::Cancelled,
            Phase::Open => Phase::Closed,
            _ => return Err(Impossible::Status(self.status())),
        };
        Ok(Self { phase, ..self })
    }

    /// Refunds an amount, or all that is left.
    ///
    /// # Errors
    /// Nothing is captured, or less than this amount is left.
    pub fn refund(self, amount: Option<i64>) -> Result<(Self, i64), Impossible> {
        if self.refundable() == 0 {
            return Err(Impossible::Status(self.status()));
        }
        let amount = within(amount, self.refundable())?;
        Ok((Self { refunded: self.refunded + amount, ..self }, amount))
    }

    fn only(&self, phase: Phase) -> Result<(), Impossible> {
        if self.phase == phase { Ok(()) } else { Err(Impossible::Status(self.status())) }
    }
}

fn within(amount: Option<i64>, left: i64) -> Result<i64, Impossible> {
    let amount = amount.unwrap_or(left);
    if (1..=left).contains(&amount) { Ok(amount) } else { Err(Impossible::Exceeds(left)) }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn open(amount: i64) -> State {
        State::new(amount).submit().unwrap().authorise().unwrap()
    }

    #[test]
    fn a_payment_is_captured_in_parts_and_refunded_in_parts() {
        let state = open(1000);
        assert_eq!(state.status(), Status::RequiresCapture);
        let (state, _) = state.capture(Some(300), false).unwrap();
        assert_eq!((state.status(), state.capturable()), (Status::RequiresCapture, 700));
        assert_eq!(state.capture(Some(701), false), Err(Impossible::Exceeds(700)));
        let (state, amount) = state.capture(None, false).unwrap();
        assert_eq!((state.status(), amount, state.capturable()), (Status::Captured, 700, 0));
        let (state, _) = state.refund(Some(999)).unwrap();
        assert_eq!(state.status(), Status::PartiallyRefunded);
        assert_eq!(state.refund(Some(2)), Err(Impossible::Exceeds(1)));
        let (state, amount) = state.refund(None).unwrap();
        assert_eq!((state.status(), amount), (Status::Refunded, 1));
        assert_eq!(state.refund(None), Err(Impossible::Status(Status::Refunded)));
    }

    #[test]
    fn the_last_capture_gives_up_the_rest_and_so_does_a_cancellation() {
        let (state, _) = open(1000).capture(Some(400), true).unwrap();
        assert_eq!((state.status(), state.capturable()), (Status::Captured, 0));
        let (state, _) = open(1000).capture(Some(400), false).unwrap();
        let state = state.cancel().unwrap();
        assert_eq!((state.status(), state.captured), (Status::Captured, 400));
        assert_eq!(open(1000).cancel().unwrap().status(), Status::Cancelled);
        assert_eq!(State::new(1000).cancel().unwrap().status(), Status::Cancelled);
    }

    #[test]
    fn steps_out_of_turn_are_impossible_and_change_nothing() {
        let new = State::new(1000);
        let processing = new.submit().unwrap();
        let is = |status| Impossible::Status(status);
        assert_eq!(new.capture(None, true), Err(is(Status::RequiresCard)));
        assert_eq!(processing.cancel(), Err(is(Status::Processing)));
        assert_eq!(processing.submit(), Err(is(Status::Processing)));
        assert_eq!(processing.decline(true).unwrap(), new);
        let declined = processing.decline(false).unwrap();
        assert_eq!(declined.capture(None, true), Err(is(Status::Declined)));
        assert_eq!(declined.cancel(), Err(is(Status::Declined)));
        assert_eq!(open(1000).refund(None), Err(is(Status::RequiresCapture)));
        for amount in [0, -1, i64::MIN, 1001, i64::MAX] {
            let left = Err(Impossible::Exceeds(1000));
            assert_eq!(open(1000).capture(Some(amount), true), left);
        }
    }

    #[derive(Clone, Debug)]
    enum Step {
        Submit,
        Authorise,
        Decline(bool),
        Capture(Option<i64>, bool),
        Cancel,
        Refund(Option<i64>),
    }

    fn step() -> impl Strategy<Value = Step> {
        let amount = || proptest::option::of(prop_oneof![-2..=12_i64, Just(i64::MAX)]);
        prop_oneof![
            Just(Step::Submit),
            Just(Step::Authorise),
            any::<bool>().prop_map(Step::Decline),
            (amount(), any::<bool>()).prop_map(|(amount, last)| Step::Capture(amount, last)),
            Just(Step::Cancel),
            amount().prop_map(Step::Refund),
        ]
    }

    proptest! {
        #[test]
        fn captures_stay_within_the_authorisation_and_refunds_within_the_captures(
            amount in 1..=10_i64,
            steps in proptest::collection::vec(step(), 0..40),
        ) {
            let mut state = State::new(amount);
            let (mut captures, mut refunds) = (0, 0);
            for step in steps {
                let before = state;
                let next = match step {
                    Step::Submit => state.submit(),
                    Step::Authorise => state.authorise(),
                    Step::Decline(again) => state.decline(again),
                    Step::Cancel => state.cancel(),
                    Step::Capture(amount, last) => state.capture(amount, last).map(|(next, moved)| {
                        captures += moved;
                        next
                    }),
                    Step::Refund(amount) => state.refund(amount).map(|(next, moved)| {
                        refunds += moved;
                        next
                    }),
                };
                state = next.unwrap_or(before);
                prop_assert_eq!((state.captured, state.refunded), (captures, refunds));
                prop_assert!(0 <= refunds && refunds <= captures && captures <= amount);
                prop_assert!(captures == 0 || matches!(state.phase, Phase::Open | Phase::Closed));
                prop_assert!(state.phase != Phase::Closed || captures > 0);
            }
        }
    }
}
