//! Options of what follows from an order.

use tidegate_partners::client::PartnerOptions;
use tidegate_sitekit::queue::Place;

/// Options of what follows from an order. `Default`: the database hands the steps out, and there
/// are no partners: every purchase order is good, and goods are there at once.
#[derive(Clone, Debug)]
pub struct FulfilOptions {
    /// Where the partners are.
    pub partners: Option<PartnerOptions>,
    /// Where steps are handed out.
    pub queue: Place,
    /// Most messages in a queue of NATS: what is beyond waits in the database.
    pub queue_most: i64,
}

impl FulfilOptions {
    /// Default of the most messages in a queue of NATS.
    pub const QUEUE_MOST: i64 = 10_000;
}

impl Default for FulfilOptions {
    fn default() -> Self {
        Self { partners: None, queue: Place::Database, queue_most: Self::QUEUE_MOST }
    }
}
