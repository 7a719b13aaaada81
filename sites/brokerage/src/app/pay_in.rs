//! Deposits as customers make and see them, and what webhooks tell of them.

use std::time::Duration;
use tidegate_sitekit::log_seldom;

use super::deposits::{Processor, seen};
use super::service::App;
use crate::error::Result;
use crate::protocol::deposits::back::{
    BeginDeposit, DepositStep, NotePayment, ReadDeposit, ReadDeposits, Wish,
};
use crate::protocol::deposits::front::{
    CreateDeposit, DepositCreated, Deposits, GetDeposit, GetDeposits, TakeEvent,
};
use crate::protocol::{Deposit, DepositState, Done, Mistake, Problem, SessionKey};
use crate::rpc::call;
use tidegate_card::client::reference as new_reference;
use tidegate_card::{Currency, is_reference};
use tidegate_sitekit::money::Cents;

/// Least and most of a deposit.
const LEAST: Cents = Cents(100);
const MOST: Cents = Cents(1_000_000);
/// Deposits on a page.
const PAGE: i64 = 20;
/// After how long the worker takes up what a customer waits for.
const DUE_IN: Duration = Duration::from_secs(4);

impl App {
    /// The customer's deposits.
    ///
    /// # Errors
    /// The session is over; the data tier failed.
    pub async fn deposits(&self, request: GetDeposits) -> Result<Deposits> {
        let GetDeposits { session, before } = request;
        let found = call(&self.client, &ReadDeposits { session, before, most: PAGE }).await?;
        Ok(Deposits {
            deposits: found.deposits,
            more: found.more,
            available: found.available,
            set_up: self.cards.is_some(),
        })
    }

    /// Makes a deposit, once for each name that a customer gives, and asks the processor for its
    /// card form. If that takes long the customer has the deposit without a form.
    ///
    /// # Errors
    /// There is no processor; the amount is out of range; the session is over, or too many
    /// deposits are open; the data tier failed.
    pub async fn create_deposit(&self, request: CreateDeposit) -> Result<DepositCreated> {
        let processor = self.processor()?;
        let CreateDeposit { session, id, amount } = request;
        valid(amount)?;
        let reference = new_reference("deposit", rand::random());
        let begin = BeginDeposit {
            session: session.clone(),
            id,
            reference: reference.clone(),
            amount,
            due_in_ms: u64::try_from(DUE_IN.as_millis()).expect("a few seconds"),
        };
        let begun = call(&self.client, &begin).await?;
        let differs = begun.repeated && begun.deposit.amount != amount;
        if begun.repeated {
            return Ok(DepositCreated { deposit: begun.deposit, differs });
        }
        let (number, created) = (begun.deposit.number, begun.deposit.created);
        let step = DepositStep::Create;
        let wish = Wish { number, reference, amount, step, attempts: 0, created };
        // Cut off anywhere, it is in the outbox still.
        let deposit = match processor.work_quickly(&wish).await {
            Ok(true) => self.read(&session, number).await.map(|(deposit, _)| deposit).ok(),
            Ok(false) | Err(_) => None,
        };
        // It is stored; its page says how far it has come.
        let deposit = deposit.unwrap_or(begun.deposit);
        Ok(DepositCreated { deposit, differs })
    }

    /// A deposit of the customer. Who has just come back from the card form sees what the
    /// processor says of it, unless many others ask at the same time.
    ///
    /// # Errors
    /// The session is over, or the customer has no such deposit; the data tier failed.
    pub async fn deposit(&self, request: GetDeposit) -> Result<Deposit> {
        let GetDeposit { session, number, look } = request;
        let (mut deposit, mut wish) = self.read(&session, number).await?;
        let Some(processor) = self.cards.as_ref().filter(|_| look) else { return Ok(deposit) };
        // It is authorised, and then captured.
        for _ in 0..2 {
            let Some(step) = wish else { break };
            if !matches!(processor.work_quickly(&step).await, Ok(true)) {
                break;
            }
            (deposit, wish) = self.read(&session, number).await?;
            // What has not changed is tried again later.
            wish = wish.filter(|wish| wish.step != step.step);
        }
        Ok(deposit)
    }

    /// Takes an event that the web tier has verified.
    ///
    /// # Errors
    /// It is not of a deposit; the data tier failed, and the event can be sent again.
    pub async fn take_event(&self, request: TakeEvent) -> Result<Done> {
        let event = request.event;
        if event.payment.currency != Currency::USD {
            foreign(&event.payment.reference);
            return Ok(Done {});
        }
        let unusable = |why: String| {
            let remedy = "Look at the payment at the card processor.";
            Problem::new(422, "An event cannot be used", why, remedy)
        };
        if !is_reference(&event.id) {
            return Err(unusable("its id is none of the card processor's".into()).into());
        }
        let payment = seen(&event.payment).map_err(unusable)?;
        let reference = payment.reference.clone();
        let noted = call(&self.client, &NotePayment { payment, event: Some(event.id) }).await?;
        match (noted.state, &self.cards) {
            (Some(DepositState::Authorised), Some(processor)) => processor.wake(),
            (None, _) if !noted.repeated => foreign(&reference),
            _ => {}
        }
        Ok(Done {})
    }

    fn processor(&self) -> std::result::Result<&Processor, Problem> {
        self.cards.as_ref().ok_or_else(|| {
            let why = "This brokerage has no card processor.";
            let remedy = "Ask the brokerage how else you can pay in.";
            Problem::new(404, "Deposits by card are not set up", why, remedy)
        })
    }

    async fn read(&self, session: &SessionKey, number: i64) -> Result<(Deposit, Option<Wish>)> {
        let found = call(&self.client, &ReadDeposit { session: session.clone(), number }).await?;
        Ok((found.deposit, found.wish))
    }
}

/// Other sites may have the same account at the processor.
fn foreign(reference: &str) {
    log_seldom!(info, reference, "an event tells of no deposit of ours");
}

fn valid(amount: Cents) -> std::result::Result<(), Problem> {
    if (LEAST..=MOST).contains(&amount) {
        return Ok(());
    }
    let why = "Its amount is not one that can be paid in.";
    let remedy = "Correct the field that is marked, and send the form again.";
    let text = format!("Amount: must be an amount such as 250.00, from {LEAST} to {MOST}.");
    let mistakes = vec![Mistake::new("amount", text)];
    Err(Problem { mistakes, ..Problem::new(422, "Please correct the deposit", why, remedy) })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn amounts_out_of_range_are_named_with_their_field() {
        for amount in [LEAST, MOST, Cents(12_345)] {
            assert_eq!(valid(amount), Ok(()));
        }
        for amount in [0, -100, 99, MOST.0 + 1, i64::MAX, i64::MIN] {
            let problem = valid(Cents(amount)).unwrap_err();
            assert_eq!((problem.status, problem.mistakes[0].field.as_str()), (422, "amount"));
            assert!(problem.mistakes[0].text.contains("$1.00 to $10,000.00"), "{problem:?}");
        }
    }
}
