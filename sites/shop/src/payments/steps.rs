//! Carries the steps of payments out at the card processor, and stores what becomes of them.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Notify, Semaphore};
use tokio::time::{sleep, timeout};
use url::Url;

use super::RETURNED;
use super::seen::seen;
use crate::store::orders::{Reason, State};
use crate::store::outcome::{fail, note};
use crate::store::queue::{self, Due, QUEUE, Step};
use tidegate_card::client::{
    CardOptions, Client, Entry as Wanted, Form, Outcome, Patience, Step as Wish, perform,
};
use tidegate_card::{Currency, Payment};
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::queue::{Entry, Retry, Worker, work_off};
use tidegate_sitekit::{Result, log_once, when};

/// The shop's name at the processor.
pub const MERCHANT: &str = "shop";
/// What the card form shows the customer.
const DESCRIPTION: &str = "Your order";
/// The shop's name for the one capture of a payment.
const CAPTURE: &str = "all";
/// Steps that are worked on at once: a processor that is slow holds up no more.
const AT_ONCE: usize = 16;
/// Steps that customers wait for at once, beside those.
const QUICK_AT_ONCE: usize = 32;
/// Deadline of a call, and of one that a customer waits for.
const ATTEMPT: Duration = Duration::from_secs(8);
const QUICK: Duration = Duration::from_millis(1300);
/// How long a customer waits for a step.
const PATIENCE: Duration = Duration::from_secs(3);
/// Pauses after an attempt without an answer.
const UNANSWERED: Backoff =
    Backoff { first: Duration::from_secs(1), longest: Duration::from_secs(60) };
/// Pauses between looks at a payment that waits for its customer.
const LOOKS: Backoff =
    Backoff { first: Duration::from_secs(600), longest: Duration::from_secs(3600) };
/// Whether a step is given up follows from its order, not from its age.
const EVER: Duration = Duration::from_secs(100 * 365 * 24 * 3600);
/// After so many seconds without an answer an order is cancelled whose customer has never seen a
/// card form.
const GIVE_UP: i64 = 3600;
/// After so many seconds a payment that the processor does not know is given up: a card form is
/// open for a day.
const UNKNOWN: i64 = 2 * 24 * 3600;

/// The card processor as one core calls it.
#[derive(Clone)]
pub struct Payments {
    card: Client,
    url: String,
    return_url: Url,
    database: Database,
    shared: Arc<Shared>,
}

tidegate_sitekit::printed_by!(Payments: url);

/// What all cores of a process share.
pub struct Shared {
    wake: Notify,
    quick: Semaphore,
}

impl Default for Shared {
    fn default() -> Self {
        Self { wake: Notify::new(), quick: Semaphore::new(QUICK_AT_ONCE) }
    }
}

impl Payments {
    /// The processor with these options, for one runtime.
    ///
    /// # Errors
    /// The key, the certificates or a URL cannot be used: errors for the operator.
    pub fn new(options: &CardOptions, database: Database, shared: Arc<Shared>) -> Result<Self> {
        let return_url = options.return_url(RETURNED)?;
        let patience = Patience { attempt: ATTEMPT, call: ATTEMPT, ..Patience::default() };
        let key = options.key(MERCHANT)?;
        let card = Client::new(&options.url, &key, options.ca.as_deref(), patience)?;
        Ok(Self { card, url: options.url.clone(), return_url, database, shared })
    }

    /// Works the queue off until it is dropped.
    pub async fn run(self) {
        work_off(self, AT_ONCE).await;
    }

    /// Does what is to be done for an order while its customer waits, unless many others do.
    ///
    /// # Errors
    /// An error of the database: the steps are still in the queue.
    pub async fn work_quickly(&self, order: i64) -> Result<()> {
        let Ok(_place) = self.shared.quick.try_acquire() else { return Ok(()) };
        let patience = Patience { attempt: QUICK, call: QUICK, ..Patience::default() };
        let quick = Self { card: self.card.with_patience(patience), ..self.clone() };
        // It is authorised, and then captured.
        for _ in 0..2 {
            let steps = queue::of_order(&self.database, order).await?;
            if steps.is_empty() {
                break;
            }
            for step in steps {
                if timeout(PATIENCE, quick.work_on(&step)).await.is_err() {
                    // Somebody may try it again at once.
                    self.end(&step, false, UNANSWERED).await?;
                    return Ok(());
                }
            }
        }
        Ok(())
    }

    /// Does a step, and stores what becomes of it.
    async fn work_on(&self, entry: &Entry<Due>) -> Result<()> {
        let due = &entry.content;
        let step = match due.step {
            Step::Look => return self.look(entry).await,
            Step::Create => Wish::Create(self.form(due)),
            Step::Capture => Wish::Capture { reference: CAPTURE.into(), amount: None, last: true },
        };
        let wanted = Wanted { reference: due.reference.clone(), step };
        match perform(&self.card, &wanted).await {
            Ok(Outcome::Done(payment)) => self.found(entry, &payment).await,
            Ok(Outcome::Refused(error)) => {
                let why = format!("it refuses with {}: {}", error.code, error.message);
                self.refused(entry, &error.code, &why).await
            }
            Err(why) => self.unanswered(entry, &why).await,
        }
    }

    /// The payment of an order. It is the same at each attempt.
    fn form(&self, due: &Due) -> Form {
        let mut return_url = self.return_url.clone();
        return_url.set_query(Some(&format!("order={}", due.order)));
        Form {
            amount: due.amount.0,
            currency: Currency::USD,
            reference: due.reference.clone(),
            description: DESCRIPTION.into(),
            return_url: return_url.into(),
        }
    }

    /// Asks what has become of the payment.
    async fn look(&self, entry: &Entry<Due>) -> Result<()> {
        let due = &entry.content;
        match self.card.by_reference(&due.reference).await {
            Ok(Some(payment)) => self.found(entry, &payment).await,
            Ok(None) => {
                self.log("it does not know a payment that it was asked for");
                // What may have been captured is never given up.
                if due.step == Step::Look && when::now() - due.placed > UNKNOWN {
                    fail(&self.database, due.order, Reason::NoAnswer).await?;
                    return self.end(entry, true, LOOKS).await;
                }
                self.end(entry, false, LOOKS).await
            }
            Err(error) => self.unanswered(entry, &error.to_string()).await,
        }
    }

    /// Stores what a payment says; a step that it does not settle is tried again.
    async fn found(&self, entry: &Entry<Due>, payment: &Payment) -> Result<()> {
        let due = &entry.content;
        let stage = match seen(payment, due.amount) {
            Ok(stage) => stage,
            Err(why) => {
                self.log(&why);
                return self.end(entry, false, LOOKS).await;
            }
        };
        let state = note(&self.database, due.order, &stage, payment.version).await?;
        let done = match due.step {
            Step::Create => state != State::Asked,
            Step::Look => state != State::Form && state != State::Asked,
            Step::Capture => !state.is_open(),
        };
        self.end(entry, done, if due.step == Step::Look { LOOKS } else { UNANSWERED }).await?;
        if state == State::Authorised {
            self.shared.wake.notify_one();
        }
        Ok(())
    }

    /// The processor refuses. An order whose payment was never created is cancelled; what may
    /// have been authorised is looked at, and tried again.
    async fn refused(&self, entry: &Entry<Due>, code: &str, why: &str) -> Result<()> {
        self.log(why);
        // The operator's mistake, which they mend: what is wanted stays wanted.
        let of_key = ["unauthenticated", "wrong_api_key"].contains(&code);
        match entry.content.step {
            _ if of_key => self.unanswered(entry, why).await,
            Step::Create => {
                fail(&self.database, entry.content.order, Reason::Refused).await?;
                self.end(entry, true, UNANSWERED).await
            }
            Step::Capture | Step::Look => self.look(entry).await,
        }
    }

    /// There was no answer that is certain.
    async fn unanswered(&self, entry: &Entry<Due>, why: &str) -> Result<()> {
        self.log(why);
        let due = &entry.content;
        if due.step == Step::Create && when::now() - due.placed > GIVE_UP {
            fail(&self.database, due.order, Reason::NoAnswer).await?;
            return self.end(entry, true, UNANSWERED).await;
        }
        self.end(entry, false, UNANSWERED).await
    }

    async fn end(&self, entry: &Entry<Due>, done: bool, backoff: Backoff) -> Result<()> {
        let retry = Retry { backoff, tried: EVER };
        QUEUE.end(&self.database, entry, done, queue::now(), retry).await.map(drop)
    }

    fn log(&self, why: &str) {
        let cause = format!("card processor at {}: {why}", self.url);
        log_once!(warn by &cause, cause, "payments wait and are tried again");
    }
}

impl Worker for Payments {
    type Entry = Entry<Due>;

    fn number(entry: &Self::Entry) -> i64 {
        entry.id
    }

    async fn due(&mut self, free: usize) -> Vec<Self::Entry> {
        if free == 0 {
            return Vec::new();
        }
        let most = i64::try_from(free).expect("a small number");
        queue::due(&self.database, most).await.unwrap_or_else(|error| {
            log_once!(warn by &error.to_string(), %error, "payments wait for the database");
            Vec::new()
        })
    }

    async fn work(&self, entry: Self::Entry) {
        if let Err(error) = self.work_on(&entry).await {
            log_once!(warn by &error.to_string(), %error, "payments wait for the database");
            // It is due still: the processor is not asked over and over.
            sleep(Duration::from_secs(1)).await;
        }
    }

    async fn woken(&self) {
        self.shared.wake.notified().await;
    }
}
