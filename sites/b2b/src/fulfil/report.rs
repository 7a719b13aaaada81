//! How orders are getting on, for the health page.

use serde::Serialize;
use tidegate_partners::protocol::Role;
use tidegate_sitekit::Result;
use tidegate_sitekit::queue::Trouble;

use super::Fulfilment;
use super::queues::{SHIPPING, STOCK, now};

/// How orders are getting on.
#[derive(Clone, Debug, Serialize)]
pub struct Report {
    /// Where steps are handed out.
    pub queue: String,
    /// `full` or `gone`: orders wait in the database.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub trouble: Option<&'static str>,
    /// Steps of orders that are not done.
    pub shipping_waiting: i64,
    /// Orders of goods that have not come.
    pub stock_waiting: i64,
    /// How long the oldest of all these has waited, in seconds.
    pub oldest_s: i64,
    /// Roles of the partners that are not called for the moment, since they have failed.
    pub partners_failing: Vec<&'static str>,
}

impl Fulfilment {
    /// How orders are getting on.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn report(&self) -> Result<Report> {
        let (shipping_waiting, first) = SHIPPING.waiting(&self.database).await?;
        let (stock_waiting, second) = STOCK.waiting(&self.database).await?;
        let oldest = [first, second].into_iter().filter(|at| *at > 0).min();
        let partners = self.shared.partners.as_ref();
        let failing = |role: &Role| partners.is_some_and(|partners| !partners.is_called(*role));
        Ok(Report {
            queue: self.shared.queue.to_string(),
            trouble: self.shared.health.trouble().map(Trouble::name),
            shipping_waiting,
            stock_waiting,
            oldest_s: oldest.map_or(0, |at| (now() - at).max(0) / 1000),
            partners_failing: Role::ALL
                .iter()
                .filter(|it| failing(it))
                .map(|it| it.name())
                .collect(),
        })
    }
}
