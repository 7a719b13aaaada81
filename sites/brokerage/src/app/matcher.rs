//! Feeds prices and carries orders out, in the one process that has the lease.
//!
//! At each tick the new prices are recorded, orders whose day is over end, and every open
//! order whose limit has been reached is carried out at the price of the tick: a buyer never
//! pays more than the limit, a seller never gets less. All of it is safe to do twice, and
//! what a process without the lease still does is refused, so a process may be killed
//! anywhere.

use std::time::{Duration, Instant};

use super::feed::Feed;
use crate::error::{Error, Result};
use crate::protocol::Side;
use crate::protocol::back::{
    Execute, Expire, FeedState, Fill, Match, ReadMatching, ReadQuotes, RecordPrices, Right,
    TakeLease,
};
use crate::rpc::call;
use tidegate_sitekit::link::Client;
use tidegate_sitekit::money::Cents;

/// Most orders carried out in one transaction.
const AT_ONCE: i64 = 50;
/// Most transactions at a tick; what is left waits for the next.
const ROUNDS: usize = 200;
/// The lease lasts for so many ticks, and for [`LEAST`] at least.
const TICKS: u32 = 4;
const LEAST: Duration = Duration::from_secs(3);

/// The feed and the matching of this process.
pub struct Matcher {
    client: Client,
    feed: Feed,
    interval: Duration,
    /// The name of this process.
    holder: String,
    held: Option<Held>,
    /// The failure that was logged last: it is not logged again as long as it lasts.
    failing: Option<String>,
}

/// What the holder of the lease knows.
struct Held {
    term: i64,
    tick: i64,
    /// The tick after which this feed began.
    since: i64,
    prices: Vec<(String, Cents)>,
    /// The feed has ended, and that was logged.
    ended: bool,
}

impl Matcher {
    /// A matcher without the lease yet.
    pub fn new(client: Client, feed: Feed, interval: Duration) -> Self {
        let holder = format!("{:032x}", rand::random::<u128>());
        Self { client, feed, interval, holder, held: None, failing: None }
    }

    /// Ticks until it is dropped.
    pub async fn run(mut self) {
        loop {
            let began = Instant::now();
            match self.turn().await {
                Ok(()) => self.failing = None,
                Err(error) => {
                    // What another process has done meanwhile is read again.
                    self.held = None;
                    self.log(&error);
                }
            }
            tokio::time::sleep(self.interval.saturating_sub(began.elapsed())).await;
        }
    }

    fn log(&mut self, error: &Error) {
        let text = match error {
            Error::Refused(problem) => format!("{}: {}", problem.what, problem.why.join(" ")),
            Error::Outage(outage) => outage.cause.clone(),
        };
        if self.failing.as_ref() != Some(&text) {
            tracing::warn!(cause = text, "no tick; trying again at each interval");
            self.failing = Some(text);
        }
    }

    async fn turn(&mut self) -> Result<()> {
        let lasts = (self.interval * TICKS).max(LEAST);
        let for_ms = u64::try_from(lasts.as_millis()).unwrap_or(u64::MAX);
        let take = TakeLease { right: Right::Matcher, holder: self.holder.clone(), for_ms };
        let Some(term) = call(&self.client, &take).await?.term else {
            self.held = None;
            return Ok(());
        };
        if self.held.as_ref().is_none_or(|held| held.term != term) {
            self.held = Some(self.begin(term).await?);
            tracing::info!(term, feed = self.feed.name(), "this process feeds prices now");
        }
        self.tick().await
    }

    /// Reads what the process before has left.
    async fn begin(&self, term: i64) -> Result<Held> {
        let FeedState { quotes, source, since } = call(&self.client, &ReadQuotes {}).await?;
        let since = if source == self.feed.name() { since } else { quotes.tick };
        Ok(Held { term, tick: quotes.tick, since, prices: quotes.prices, ended: false })
    }

    async fn tick(&mut self) -> Result<()> {
        let Some(held) = &mut self.held else { return Ok(()) };
        let term = held.term;
        let tick = held.tick + 1;
        let Some(moved) = self.feed.tick(tick - held.since, &held.prices) else {
            if !held.ended {
                held.ended = true;
                tracing::warn!(feed = self.feed.name(), "the feed has ended; orders wait");
            }
            while call(&self.client, &Expire { term }).await?.orders > 0 {}
            return Ok(());
        };
        let record = RecordPrices { term, tick, source: self.feed.name(), prices: moved };
        call(&self.client, &record).await?;
        held.tick = tick;
        for (symbol, price) in record.prices {
            // They are in the order of their symbols.
            if let Ok(at) = held.prices.binary_search_by(|(known, _)| known.cmp(&symbol)) {
                held.prices[at].1 = price;
            }
        }
        while call(&self.client, &Expire { term }).await?.orders > 0 {}
        self.execute(term).await
    }

    async fn execute(&self, term: i64) -> Result<()> {
        for _ in 0..ROUNDS {
            let found = call(&self.client, &ReadMatching { most: AT_ONCE }).await?;
            let fills: Vec<Fill> = found.orders.iter().filter_map(fill).collect();
            if fills.is_empty() {
                break;
            }
            let changed = call(&self.client, &Execute { term, fills }).await?;
            if changed.orders == 0 {
                break;
            }
        }
        Ok(())
    }
}

/// The price at which an order is carried out: the latest, if the limit allows it.
fn fill(order: &Match) -> Option<Fill> {
    let allowed = match order.side {
        Side::Buy => order.price <= order.limit,
        Side::Sell => order.price >= order.limit,
    };
    allowed.then_some(Fill { number: order.number, price: order.price })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nobody_pays_more_or_gets_less_than_the_limit() {
        let filled = |side, limit, price| {
            let order = Match { number: 1, side, limit: Cents(limit), price: Cents(price) };
            fill(&order).map(|fill| fill.price.0)
        };
        assert_eq!(filled(Side::Buy, 100, 100), Some(100));
        assert_eq!(filled(Side::Buy, 100, 90), Some(90));
        assert_eq!(filled(Side::Buy, 100, 101), None);
        assert_eq!(filled(Side::Sell, 100, 100), Some(100));
        assert_eq!(filled(Side::Sell, 100, 110), Some(110));
        assert_eq!(filled(Side::Sell, 100, 99), None);
    }
}
