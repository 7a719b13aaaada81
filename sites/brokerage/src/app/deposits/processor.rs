//! Carries entries of the outbox out at the card processor, and stores what becomes of them.

use std::sync::Arc;
use std::time::Duration;
use tidegate_sitekit::log_once;

use tokio::sync::{Notify, Semaphore};
use tokio::time::timeout;
use url::Url;

use super::RETURNED;
use super::payment::seen;
use crate::error::{Error, Result};
use crate::protocol::deposits::back::{
    DepositStep, FailDeposit, NotePayment, PaymentNoted, PostponeWish, Wish,
};
use crate::protocol::{DepositReason, DepositState};
use crate::rpc::call;
use tidegate_card::client::{
    CardOptions, Client as CardClient, Entry, Form, Outcome, Patience, Step, perform,
};
use tidegate_card::{Currency, Payment};
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::link::Client;
use tidegate_sitekit::when;

/// Deadline of a call of the worker.
const ATTEMPT: Duration = Duration::from_secs(8);
/// Deadline of a call that a customer waits for. A step is one of them, and another where the
/// first was not certain.
const QUICK: Duration = Duration::from_millis(1300);
/// How long a customer waits for a step.
const PATIENCE: Duration = Duration::from_secs(3);
/// Steps that customers wait for at once, beside those of the worker: whoever asks over and over
/// costs the processor no more.
const QUICK_AT_ONCE: usize = 16;
/// What the card form shows the customer.
const DESCRIPTION: &str = "Deposit into your brokerage account";
/// The brokerage's name for the one capture of a payment.
const CAPTURE: &str = "all";
/// Pauses after an attempt without an answer.
const UNANSWERED: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Pauses between looks at a payment that waits for its customer.
const LOOKS: Backoff =
    Backoff { first: Duration::from_secs(20), longest: Duration::from_secs(600) };
/// After so many seconds without an answer a deposit is given up: its customer has never seen
/// a card form.
const GIVE_UP: i64 = 3600;
/// After so many seconds a payment that the processor does not know is given up: a card form is
/// open for a day.
const UNKNOWN: i64 = 2 * 24 * 3600;

/// The card processor as one core calls it.
#[derive(Clone)]
pub struct Processor {
    card: CardClient,
    url: String,
    return_url: Url,
    /// The data tier.
    data: Client,
    shared: Arc<Shared>,
}

/// What all cores of a process share.
pub struct Shared {
    /// Tells the worker that something is due.
    wake: Notify,
    /// Places of the steps that customers wait for.
    quick: Semaphore,
}

impl Default for Shared {
    fn default() -> Self {
        Self { wake: Notify::new(), quick: Semaphore::new(QUICK_AT_ONCE) }
    }
}

impl Processor {
    /// The processor with these options, for one runtime.
    ///
    /// # Errors
    /// The key, the certificates or a URL cannot be used: errors for the operator.
    pub fn new(
        options: &CardOptions,
        data: Client,
        shared: Arc<Shared>,
    ) -> tidegate_sitekit::Result<Self> {
        let return_url = options.return_url(RETURNED)?;
        let patience = Patience { attempt: ATTEMPT, call: ATTEMPT, ..Patience::default() };
        let card = CardClient::new(
            &options.url,
            &options.key("brokerage")?,
            options.ca.as_deref(),
            patience,
        )?;
        Ok(Self { card, url: options.url.clone(), return_url, data, shared })
    }

    /// Tells the worker that something is due.
    pub fn wake(&self) {
        self.shared.wake.notify_one();
    }

    /// When something is due.
    pub async fn woken(&self) {
        self.shared.wake.notified().await;
    }

    /// Does what an entry says while a customer waits, for 3 s at most. It is left to the worker
    /// while [`QUICK_AT_ONCE`] are under way: whether it was done.
    ///
    /// # Errors
    /// The data tier failed: the entry is still there.
    pub async fn work_quickly(&self, wish: &Wish) -> Result<bool> {
        let Ok(_place) = self.shared.quick.try_acquire() else { return Ok(false) };
        let patience = Patience { attempt: QUICK, call: QUICK, ..Patience::default() };
        let quick = Self { card: self.card.with_patience(patience), ..self.clone() };
        match timeout(PATIENCE, quick.work(wish)).await {
            Ok(result) => result?,
            Err(_) => self.unanswered(wish, "no answer within 3 s").await?,
        }
        Ok(true)
    }

    /// Does what an entry says and stores what becomes of it, or when it is tried again.
    ///
    /// # Errors
    /// The data tier failed: the entry is still there.
    pub async fn work(&self, wish: &Wish) -> Result<()> {
        let step = match wish.step {
            DepositStep::Look => return self.look(wish).await,
            DepositStep::Create => Step::Create(self.form(wish)),
            DepositStep::Capture => {
                Step::Capture { reference: CAPTURE.into(), amount: None, last: true }
            }
        };
        let entry = Entry { reference: wish.reference.clone(), step };
        match perform(&self.card, &entry).await {
            Ok(Outcome::Done(payment)) => self.found(wish, &payment).await,
            Ok(Outcome::Refused(error)) => self.refused(wish, &error.code, &error.message).await,
            Err(why) => self.unanswered(wish, &why).await,
        }
    }

    /// The payment of a deposit. It is the same at each attempt.
    fn form(&self, wish: &Wish) -> Form {
        let mut return_url = self.return_url.clone();
        return_url.set_query(Some(&format!("deposit={}", wish.number)));
        Form {
            amount: wish.amount.0,
            currency: Currency::USD,
            reference: wish.reference.clone(),
            description: DESCRIPTION.into(),
            return_url: return_url.into(),
        }
    }

    /// Asks what has become of the payment.
    async fn look(&self, wish: &Wish) -> Result<()> {
        match self.card.by_reference(&wish.reference).await {
            Ok(Some(payment)) => self.found(wish, &payment).await,
            // What may have been captured is never given up: it may be another processor's key
            // or database that does not know it.
            Ok(None) if wish.step == DepositStep::Look && when::now() - wish.created > UNKNOWN => {
                self.log_refused("it does not know a payment that it was asked for");
                self.fail(wish, DepositReason::NoAnswer).await
            }
            Ok(None) => {
                self.log_refused("it does not know a payment that it was asked for");
                self.postpone(wish, LOOKS).await
            }
            Err(error) => self.unanswered(wish, &error.to_string()).await,
        }
    }

    /// Stores what a payment tells; an entry that it does not settle is put off.
    async fn found(&self, wish: &Wish, payment: &Payment) -> Result<()> {
        let noted = match seen(payment) {
            Ok(payment) => {
                let request = NotePayment { payment, event: None };
                match call(&self.data, &request).await {
                    Ok(PaymentNoted { state, .. }) => state,
                    Err(Error::Refused(problem)) => {
                        self.log_refused(&problem.why.join(" "));
                        None
                    }
                    Err(error) => return Err(error),
                }
            }
            Err(why) => {
                self.log_refused(&why);
                None
            }
        };
        match (wish.step, noted) {
            (DepositStep::Create | DepositStep::Look, Some(DepositState::Authorised)) => {
                self.wake();
                Ok(())
            }
            (DepositStep::Look, Some(DepositState::Form)) => self.postpone(wish, LOOKS).await,
            (DepositStep::Create, Some(DepositState::Form)) => Ok(()),
            (_, Some(state)) if !state.is_open() => Ok(()),
            _ => self.postpone(wish, UNANSWERED).await,
        }
    }

    /// The processor refuses. A deposit whose payment was never created ends; what may have been
    /// authorised is looked at, and tried again.
    async fn refused(&self, wish: &Wish, code: &str, message: &str) -> Result<()> {
        let why = format!("it refuses with {code}: {message}");
        self.log_refused(&why);
        // The operator's mistake, which they mend: what is wanted stays wanted.
        let of_key = ["unauthenticated", "wrong_api_key"].contains(&code);
        match wish.step {
            _ if of_key => self.unanswered(wish, &why).await,
            DepositStep::Create => self.fail(wish, DepositReason::Refused).await,
            DepositStep::Capture | DepositStep::Look => self.look(wish).await,
        }
    }

    /// There was no answer that is certain.
    async fn unanswered(&self, wish: &Wish, why: &str) -> Result<()> {
        let cause = format!("card processor at {}: {why}", self.url);
        log_once!(warn by &cause, cause, "deposits wait and are tried again");
        if wish.step == DepositStep::Create && when::now() - wish.created > GIVE_UP {
            return self.fail(wish, DepositReason::NoAnswer).await;
        }
        self.postpone(wish, UNANSWERED).await
    }

    async fn fail(&self, wish: &Wish, reason: DepositReason) -> Result<()> {
        let request = FailDeposit { number: wish.number, step: wish.step, reason };
        call(&self.data, &request).await.map(drop)
    }

    async fn postpone(&self, wish: &Wish, pauses: Backoff) -> Result<()> {
        let failed = u32::try_from(wish.attempts).unwrap_or(u32::MAX).saturating_add(1);
        let for_ms = u64::try_from(pauses.pause(failed).as_millis()).unwrap_or(u64::MAX);
        let request = PostponeWish { number: wish.number, step: wish.step, for_ms };
        call(&self.data, &request).await.map(drop)
    }

    fn log_refused(&self, why: &str) {
        let cause = format!("card processor at {}: {why}", self.url);
        log_once!(error by &cause, cause, "a deposit is not taken as it should be");
    }
}
