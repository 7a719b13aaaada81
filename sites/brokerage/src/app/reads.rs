//! What customers look at.

use std::time::Duration;

use super::service::App;
use crate::error::{Result, defect};
use crate::protocol::back::{
    CloseOrder, CloseSession, Holding, ReadHoldings, ReadOrders, ReadOverview, ReadQuotes,
    ReadSecurities,
};
use crate::protocol::front::{
    CancelOrder, Cancelled, Feed, GetHistory, GetOpenOrders, GetOrderEntry, GetOverview,
    GetPortfolio, GetQuotes, History, LiveQuotes, OpenOrders, OrderEntry, Portfolio, SignOut,
    Valued,
};
use crate::protocol::{Done, Overview, Recorded};
use crate::rpc::call;

/// Completed orders on a page.
const PAGE: i64 = 20;
/// Most open orders on a page.
const MOST_OPEN: i64 = 100;
/// A feed has stopped after so many intervals without a tick, and [`LEAST_MS`] at least.
const INTERVALS: u32 = 5;
const LEAST_MS: u128 = 3_000;

impl App {
    /// Ends a session.
    ///
    /// # Errors
    /// The data tier failed. So do the others.
    pub async fn sign_out(&self, request: SignOut) -> Result<Done> {
        call(&self.client, &CloseSession { session: request.session }).await
    }

    /// What the customer has.
    pub async fn overview(&self, request: GetOverview) -> Result<Overview> {
        call(&self.client, &ReadOverview { session: request.session }).await
    }

    /// The customer's shares, with what they are worth.
    pub async fn portfolio(&self, request: GetPortfolio) -> Result<Portfolio> {
        let found = call(&self.client, &ReadHoldings { session: request.session }).await?;
        let holdings = found.holdings.into_iter().map(valued).collect::<Result<_>>()?;
        let feed = self.freshness(found.recorded);
        let history_since_ms = found.history_since_ms;
        Ok(Portfolio { overview: found.overview, holdings, history_since_ms, feed })
    }

    /// The customer's open orders.
    pub async fn open_orders(&self, request: GetOpenOrders) -> Result<OpenOrders> {
        let session = request.session;
        let read = ReadOrders { session, open: true, before: None, most: MOST_OPEN };
        let found = call(&self.client, &read).await?;
        let feed = self.freshness(found.recorded);
        Ok(OpenOrders { orders: found.orders, more: found.more, feed })
    }

    /// The customer's completed orders.
    pub async fn history(&self, request: GetHistory) -> Result<History> {
        let GetHistory { session, before } = request;
        let found =
            call(&self.client, &ReadOrders { session, open: false, before, most: PAGE }).await?;
        Ok(History { orders: found.orders, more: found.more })
    }

    /// What the form of a new order needs.
    pub async fn order_entry(&self, request: GetOrderEntry) -> Result<OrderEntry> {
        let found = call(&self.client, &ReadSecurities { session: request.session }).await?;
        let feed = self.freshness(found.recorded);
        Ok(OrderEntry { available: found.available, securities: found.securities, feed })
    }

    /// Cancels an order.
    pub async fn cancel(&self, request: CancelOrder) -> Result<Cancelled> {
        let CancelOrder { session, number } = request;
        Ok(Cancelled { order: call(&self.client, &CloseOrder { session, number }).await? })
    }

    /// The latest prices.
    pub async fn quotes(&self, _: GetQuotes) -> Result<LiveQuotes> {
        let quotes = call(&self.client, &ReadQuotes {}).await?.quotes;
        Ok(LiveQuotes { feed: self.freshness(quotes.recorded), quotes })
    }

    /// How fresh prices are that were recorded then.
    pub fn freshness(&self, recorded: Recorded) -> Feed {
        freshness(recorded, self.interval)
    }
}

/// The state of a feed with this time between two ticks.
fn freshness(recorded: Recorded, interval: Duration) -> Feed {
    let patience = (interval * INTERVALS).as_millis().max(LEAST_MS);
    Feed { as_of_ms: recorded.at_ms, stopped: u128::from(recorded.age_ms) > patience }
}

fn valued(holding: Holding) -> Result<Valued> {
    let Holding { security, available, reserved, cost, history } = holding;
    let shares = available + reserved;
    let worth = security.price.times(shares);
    let worth = worth.ok_or_else(|| defect("a holding is worth more than fits"))?;
    Ok(Valued { security, shares, reserved, cost, worth, history })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_sitekit::when;

    #[test]
    fn a_feed_stops_by_the_clock_of_the_tier_that_records_it() {
        let stopped = |at_ms, now_ms, interval| {
            freshness(Recorded::seen(at_ms, now_ms), Duration::from_millis(interval)).stopped
        };
        // That clock is an hour behind, and an hour ahead.
        for there in [when::now_ms() - 3_600_000, when::now_ms() + 3_600_000] {
            assert!(!stopped(there, there + 3_000, 20));
            assert!(stopped(there, there + 3_001, 20));
            assert!(!stopped(there, there + 10_000, 2_000));
            assert!(stopped(there, there + 10_001, 2_000));
        }
    }
}
