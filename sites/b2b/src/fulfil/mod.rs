//! What follows from an order: a partner validates it, its goods are taken from stock and
//! shipped, and stock is filled up.
//!
//! Each step is an entry of a durable queue, written in the transaction of the change that it
//! follows from. A step calls a partner under a key that is the same whenever it is tried, and
//! stores the outcome together with the next step; an order whose state has gone on is left
//! alone. So any process may be killed anywhere, and entries may come twice: an order is shipped
//! once, and pieces are counted once.

mod options;
mod partner;
mod queues;
mod report;
mod shipping;
mod state;
mod stock;
#[cfg(test)]
mod tests;

use std::sync::Arc;
use std::time::Duration;

use tidegate_partners::client::Partners;
use tidegate_sitekit::attempts::Patience;
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::queue::{Health, Nats, Place, Retry, Settings, run};
use tidegate_sitekit::{Result, log_once};
use tokio::sync::Notify;

pub use options::FulfilOptions;
use partner::Partner;
pub use queues::{INDEXES, TABLES, TEXT};
pub use report::Report;
use shipping::Shipping;
pub use state::OrderState;
use stock::Stock;

/// What was claimed is tried again after so long: longer than a call of a partner may take.
/// Entries of each task that are worked on at once: a partner that is slow holds up no more.
const SETTINGS: Settings = Settings { at_once: 16, claim: Duration::from_secs(20) };
/// A call of a partner beside the requests: once, since the queue repeats it.
const PATIENT: Patience = Patience {
    attempt: Duration::from_secs(8),
    call: Duration::from_secs(8),
    backoff: Backoff { first: Duration::from_secs(8), longest: Duration::from_secs(8) },
};
/// A call that a customer waits for.
const QUICK: Patience = Patience {
    attempt: Duration::from_millis(600),
    call: Duration::from_millis(1300),
    backoff: Backoff { first: Duration::from_millis(50), longest: Duration::from_millis(50) },
};
/// Pauses between attempts of a step. It is tried until it is done: whether an order is given up
/// is not for the clock to say.
const RETRY: Retry = Retry {
    backoff: Backoff { first: Duration::from_millis(500), longest: Duration::from_secs(30) },
    tried: Duration::from_secs(100 * 365 * 24 * 3600),
};

/// What all cores of a process share.
#[derive(Debug)]
pub struct Shared {
    /// Names this database to partners and to NATS, which other databases use as well.
    id: String,
    queue: Place,
    most: i64,
    partners: Option<Partners>,
    health: Arc<Health>,
    shipping: Notify,
    stock: Notify,
}

impl Shared {
    /// The queue and the partners with these options, for the database of this id: letters and
    /// digits.
    ///
    /// # Errors
    /// The certificates or an address of the partners cannot be used: errors for the operator.
    pub fn new(options: &FulfilOptions, id: String) -> Result<Self> {
        Ok(Self {
            id,
            queue: options.queue.clone(),
            most: options.queue_most,
            partners: options.partners.as_ref().map(Partners::new).transpose()?,
            health: Arc::default(),
            shipping: Notify::new(),
            stock: Notify::new(),
        })
    }
}

/// Fulfils orders, from one core.
#[derive(Clone, Debug)]
pub struct Fulfilment {
    database: Database,
    shared: Arc<Shared>,
    patient: Partner,
    quick: Partner,
}

impl Fulfilment {
    /// For the core of this database.
    ///
    /// # Errors
    /// The partners have no address: an error for the operator.
    pub fn new(database: Database, shared: Arc<Shared>) -> Result<Self> {
        let partners = shared.partners.as_ref();
        let patient = Partner::new(partners, PATIENT)?;
        let quick = Partner::new(partners, QUICK)?;
        Ok(Self { database, shared, patient, quick })
    }

    /// The database of its core.
    pub fn database(&self) -> &Database {
        &self.database
    }

    /// Works the queues off until it is dropped. One core of a process does so; several processes
    /// may.
    pub async fn run(self) {
        let (mut connected, shared) = (None, &self.shared);
        if let Place::Nats(url) = &shared.queue {
            match Nats::connect(url, "b2b", &shared.id, shared.most).await {
                Ok(nats) => connected = Some(nats),
                Err(error) => {
                    tracing::error!(%error, "orders are handed out by the database instead");
                }
            }
        }
        let health = || Arc::clone(&self.shared.health);
        tokio::join!(
            run(Shipping(self.clone()), SETTINGS, connected.clone(), health()),
            run(Stock(self.clone()), SETTINGS, connected, health()),
        );
    }

    /// The key of a request to a partner, the same whenever it is made.
    fn key(&self, step: &str, number: i64) -> String {
        format!("{}-{step}-{number}", self.shared.id)
    }

    fn log(&self, error: &tidegate_partners::client::Error) {
        let cause = error.to_string();
        log_once!(warn by &cause, cause, "orders wait and are tried again");
    }
}
