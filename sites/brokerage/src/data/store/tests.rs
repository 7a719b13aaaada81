//! What the store keeps, whatever happens: cash and shares add up, and nothing is lost or
//! doubled when a transaction is cut off in its middle.

use proptest::prelude::*;
use tempfile::TempDir;

use super::{execute, leases, orders, passwords, payments, place, prices, sessions};
use crate::app;
use crate::data::population::{Brokerage, Plan};
use crate::error::{Error, Result};
use crate::protocol::back::{
    AddPayment, CloseOrder, Execute, Fill, OpenSession, PlaceOrder, Placed, RecordPrices,
    ReplacePassword, Right, TakeLease,
};
use crate::protocol::{Kind, Order, OrderId, Reason, SessionKey, SessionToken, Side, State};
use tidegate_sitekit::database::{Database, Location, Value, fault};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::populate;

const NOW: i64 = 1_700_000_000;

/// A small population in a database of its own, with a session of each of two customers and
/// the lease.
pub(crate) struct World {
    pub(crate) database: Database,
    pub(crate) location: Location,
    pub(crate) sessions: [SessionKey; 2],
    pub(crate) term: i64,
    _folder: TempDir,
}

impl World {
    pub(crate) async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("brokerage.db"));
        let mut connection = location.connect().await.unwrap();
        let plan = Plan { customers: 10, seed: 1 };
        let brokerage = Brokerage { cost: PasswordCost::LIGHT, full_hashes: true };
        populate(&mut connection, &brokerage, plan, NOW).await.unwrap();
        connection.close().await;
        let database = Database::for_cores(&location, 1).remove(0);
        let mut keys = Vec::new();
        for customer in [1, 2] {
            let session = SessionToken::random().unwrap().key();
            let request = OpenSession { customer, session: session.clone(), replaces: None };
            sessions::open(&database, request, NOW).await.unwrap();
            keys.push(session);
        }
        let take = TakeLease { right: Right::Matcher, holder: "test".into(), for_ms: 60_000 };
        let lease = leases::take(&database, &take, 0).await.unwrap();
        let sessions = keys.try_into().unwrap();
        Self { database, location, sessions, term: lease.term.unwrap(), _folder: folder }
    }

    /// SQLite's plan of a query.
    pub(crate) async fn plan(&self, sql: &str, values: &[Value<'_>]) -> String {
        let mut connection = self.location.connect().await.unwrap();
        let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {sql}"));
        let steps: Vec<((i64, i64, i64), String)> = connection.all(sql, values).await.unwrap();
        steps.into_iter().map(|(_, text)| text).collect::<Vec<_>>().join("\n")
    }

    pub(crate) async fn number(&self, sql: &'static str) -> i64 {
        self.database.first::<i64>(sql, &[]).await.unwrap().unwrap()
    }

    fn order(&self, who: usize, name: &str, side: Side, quantity: i64, limit: i64) -> PlaceOrder {
        PlaceOrder {
            session: self.sessions[who].clone(),
            id: OrderId::try_from(format!("order-{name}")).unwrap(),
            security: 1,
            side,
            kind: Kind::Limit,
            quantity,
            limit: Cents(limit),
            expires: None,
        }
    }

    async fn place(&self, order: PlaceOrder) -> Placed {
        place::place(&self.database, order, NOW).await.unwrap()
    }

    async fn cancel(&self, who: usize, number: i64) -> Result<Order> {
        let session = self.sessions[who].clone();
        place::cancel(&self.database, CloseOrder { session, number }, NOW).await
    }

    async fn fill(&self, number: i64, price: i64) -> Result<i64> {
        let fills = vec![Fill { number, price: Cents(price) }];
        let request = Execute { term: self.term, fills };
        execute::execute(&self.database, request, NOW).await.map(|changed| changed.orders)
    }

    pub(super) async fn pay(&self, name: &str, user: i64, cents: i64) -> Result<bool> {
        let request = AddPayment {
            user: format!("customer{user}"),
            payment: name.into(),
            amount: Cents(cents),
        };
        payments::add(&self.database, request, NOW).await.map(|added| added.repeated)
    }

    async fn available(&self) -> i64 {
        self.number("SELECT available FROM accounts WHERE customer = 1").await
    }

    /// Everything that must hold at any time.
    pub(crate) async fn check(&self) {
        for (what, sql) in [
            ("the sum of all cash", "SELECT SUM(available + reserved) FROM accounts"),
            ("the shares of a security", "SELECT COALESCE(MAX(ABS(total)), 0) FROM (
                 SELECT SUM(available + reserved) AS total FROM holdings GROUP BY security)"),
            ("accounts that are not the sum of their ledger", "SELECT COUNT(*) FROM accounts a
                 WHERE a.available <> (SELECT COALESCE(SUM(CASE WHEN to_account = a.customer * 2
                           THEN cents ELSE -cents END), 0) FROM ledger
                       WHERE to_account = a.customer * 2 OR from_account = a.customer * 2)
                    OR a.reserved <> (SELECT COALESCE(SUM(CASE WHEN to_account = a.customer * 2 + 1
                           THEN cents ELSE -cents END), 0) FROM ledger
                       WHERE to_account = a.customer * 2 + 1 OR from_account = a.customer * 2 + 1)"),
            ("cash reserved beside open orders", "SELECT COUNT(*) FROM accounts a
                 WHERE a.customer > 0 AND a.reserved <> (SELECT COALESCE(SUM(quantity * limit_cents), 0)
                       FROM orders o WHERE o.customer = a.customer AND state = 0 AND side = 1)"),
            ("shares reserved beside open orders", "SELECT COUNT(*) FROM holdings h
                 WHERE h.customer > 0 AND h.reserved <> (SELECT COALESCE(SUM(quantity), 0)
                       FROM orders o WHERE o.customer = h.customer AND o.security = h.security
                       AND state = 0 AND side = 2)"),
            ("holdings that are not the sum of executions", "SELECT COUNT(*) FROM holdings h
                 WHERE h.customer > 0 AND h.available + h.reserved <> (
                       SELECT COALESCE(SUM(CASE WHEN side = 1 THEN quantity ELSE -quantity END), 0)
                       FROM executions e WHERE e.customer = h.customer AND e.security = h.security)"),
            ("filled orders without an execution, or the reverse",
             "SELECT (SELECT COUNT(*) FROM orders WHERE state = 1 AND NOT EXISTS (
                      SELECT 1 FROM executions WHERE order_id = orders.id))
                   + (SELECT COUNT(*) FROM executions WHERE NOT EXISTS (
                      SELECT 1 FROM orders WHERE id = order_id AND state = 1 AND price = cents))"),
            ("payments beside the world outside",
             "SELECT (SELECT SUM(cents) FROM payments)
                   + (SELECT available FROM accounts WHERE customer = -1)"),
            ("deposits that are paid and not credited, or the reverse",
             "SELECT (SELECT COUNT(*) FROM deposits d WHERE state = 3 AND NOT EXISTS (
                      SELECT 1 FROM payments p WHERE p.payment = d.reference
                      AND p.customer = d.customer AND p.cents = d.cents))
                   + (SELECT COUNT(*) FROM deposits d JOIN payments p ON p.payment = d.reference
                      WHERE d.state <> 3)"),
            ("deposits that are open without an entry of the outbox, or the reverse",
             "SELECT (SELECT COUNT(*) FROM deposits WHERE state < 3 AND NOT EXISTS (
                      SELECT 1 FROM deposit_outbox WHERE deposit = id))
                   + (SELECT COUNT(*) FROM deposit_outbox WHERE NOT EXISTS (
                      SELECT 1 FROM deposits WHERE id = deposit AND state < 3))"),
            ("holdings without a cost that have one", "SELECT COUNT(*) FROM holdings
                 WHERE cost < 0 OR (available + reserved = 0 AND cost <> 0)"),
        ] {
            assert_eq!(self.number(sql).await, 0, "{what}");
        }
    }
}

pub(super) fn problem(result: Result<impl Sized>) -> u16 {
    match result {
        Err(Error::Refused(problem)) => problem.status,
        Err(Error::Outage(outage)) => panic!("{outage}"),
        Ok(_) => panic!("not refused"),
    }
}

#[tokio::test]
async fn a_new_population_adds_up() {
    let world = World::new().await;
    world.check().await;
    assert!(world.number("SELECT COUNT(*) FROM orders WHERE state = 0").await >= 20);
}

#[tokio::test]
async fn an_order_reserves_and_gives_back_what_it_does_not_use() {
    let world = World::new().await;
    let before = world.available().await;
    let bought = world.place(world.order(0, "buy", Side::Buy, 10, 500)).await;
    assert_eq!(bought.available, Cents(before - 5000));
    assert_eq!(world.fill(bought.order.number, 400).await.unwrap(), 1);
    assert_eq!(world.available().await, before - 4000);
    let sold = world.place(world.order(0, "sell", Side::Sell, 4, 300)).await;
    assert_eq!(sold.order.state, State::Open);
    assert_eq!(world.fill(sold.order.number, 350).await.unwrap(), 1);
    assert_eq!(world.available().await, before - 4000 + 1400);
    let kept = world.place(world.order(0, "kept", Side::Buy, 1, 100)).await;
    let cancelled = world.cancel(0, kept.order.number).await.unwrap();
    assert_eq!((cancelled.state, cancelled.reason), (State::Cancelled, Reason::Customer));
    assert_eq!(world.available().await, before - 2600);
    world.check().await;
}

#[tokio::test]
async fn an_order_beyond_cash_or_shares_is_kept_as_rejected_and_reserves_nothing() {
    let world = World::new().await;
    let before = world.available().await;
    let dear = world.place(world.order(0, "dear", Side::Buy, before / 100 + 1, 100)).await.order;
    assert_eq!((dear.state, dear.reason), (State::Rejected, Reason::Cash));
    let short = world.place(world.order(0, "short", Side::Sell, 1_000_000, 100)).await.order;
    assert_eq!((short.state, short.reason), (State::Rejected, Reason::Shares));
    assert_eq!(world.available().await, before);
    assert_eq!(world.fill(dear.number, 100).await.unwrap(), 0, "it is not open");
    world.check().await;
}

#[tokio::test]
async fn what_is_sent_again_changes_nothing_more() {
    let world = World::new().await;
    let first = world.place(world.order(0, "once", Side::Buy, 10, 500)).await;
    let again = world.place(world.order(0, "once", Side::Buy, 99, 700)).await;
    assert_eq!((&again.order, again.available), (&first.order, first.available));
    assert!(again.repeated && !first.repeated);
    let other = world.place(world.order(1, "once", Side::Buy, 1, 1)).await;
    assert!(!other.repeated, "another customer's order may have the same name");
    let number = first.order.number;
    assert_eq!(world.fill(number, 500).await.unwrap(), 1);
    assert_eq!(world.fill(number, 400).await.unwrap(), 0);
    assert_eq!(world.cancel(0, number).await.unwrap().state, State::Filled);
    let paid = [world.pay("p1", 1, 5000).await.unwrap(), world.pay("p1", 1, 5000).await.unwrap()];
    assert_eq!(paid, [false, true]);
    world.check().await;
}

#[tokio::test]
async fn what_is_not_allowed_changes_nothing() {
    let world = World::new().await;
    let placed = world.place(world.order(0, "mine", Side::Buy, 10, 500)).await.order;
    assert_eq!(problem(world.cancel(1, placed.number).await), 404, "another's order");
    assert!(matches!(world.fill(placed.number, 501).await, Err(Error::Outage(_))));
    assert_eq!(problem(world.pay("p", 99, 100).await), 404);
    for cents in [0, -5, Cents::MOST.0 + 1, i64::MAX, i64::MIN] {
        assert_eq!(problem(world.pay("p", 1, cents).await), 400);
    }
    let stranger = SessionToken::random().unwrap().key();
    let order = PlaceOrder { session: stranger, ..world.order(0, "else", Side::Buy, 1, 1) };
    assert_eq!(problem(place::place(&world.database, order, NOW).await), 401);
    let huge = world.order(0, "huge", Side::Buy, i64::MAX, 2);
    assert!(matches!(place::place(&world.database, huge, NOW).await, Err(Error::Outage(_))));
    world.check().await;
}

#[tokio::test]
async fn a_password_is_replaced_once_and_not_over_a_newer_one() {
    let world = World::new().await;
    let session = &world.sessions[0];
    let old = passwords::account(&world.database, session, NOW).await.unwrap().hash;
    let next = SessionToken::random().unwrap().key();
    let request = |old: &str, next: &SessionKey, new: &str| ReplacePassword {
        session: session.clone(),
        next: next.clone(),
        old: old.into(),
        new: new.into(),
    };
    let stranger = SessionToken::random().unwrap().key();
    let late = request("not the hash", &stranger, "late");
    assert_eq!(problem(passwords::replace(&world.database, &late, NOW).await), 409);
    for _ in 0..2 {
        let replace = request(&old, &next, "new");
        passwords::replace(&world.database, &replace, NOW).await.unwrap();
    }
    let account = passwords::account(&world.database, &next, NOW).await.unwrap();
    assert_eq!((account.user.as_str(), account.hash.as_str()), ("customer1", "new"));
    let over = request("new", &stranger, "other");
    assert_eq!(problem(passwords::replace(&world.database, &over, NOW).await), 401);
    world.check().await;
}

#[tokio::test]
async fn a_session_is_over_after_a_while() {
    let world = World::new().await;
    let at = |now| sessions::customer(&world.database, &world.sessions[0], now);
    assert_eq!(at(NOW + sessions::IDLE - 1).await.unwrap(), 1);
    // The request above was noted.
    assert_eq!(at(NOW + 2 * sessions::IDLE - 2).await.unwrap(), 1);
    let noted = NOW + 2 * sessions::IDLE - 2;
    assert_eq!(problem(at(noted + sessions::IDLE + sessions::NOTED).await), 401);
    let mut now = NOW + 2 * sessions::IDLE;
    while now < NOW + sessions::LONGEST {
        assert_eq!(at(now).await.unwrap(), 1, "{now}");
        now += sessions::IDLE / 2;
    }
    assert_eq!(problem(at(NOW + sessions::LONGEST).await), 401, "however busy it is");
}

#[tokio::test]
async fn no_session_ends_before_it_was_idle_for_30_minutes() {
    let world = World::new().await;
    let at = |now| sessions::customer(&world.database, &world.sessions[0], now);
    // A request so soon after the one before writes nothing.
    let last = NOW + sessions::NOTED;
    assert_eq!(at(last).await.unwrap(), 1);
    assert_eq!(at(last + 30 * 60 - 1).await.unwrap(), 1);
    assert_eq!(problem(at(last + 30 * 60 - 1 + 35 * 60).await), 401);
}

#[tokio::test]
async fn a_lease_lasts_for_four_ticks_of_the_slowest_feed() {
    let world = World::new().await;
    let longest = app::Options::INTERVALS.end().as_millis() as u64;
    let take = async |holder: &str, for_ms, now_ms| {
        let request = TakeLease { right: Right::Matcher, holder: holder.into(), for_ms };
        leases::take(&world.database, &request, now_ms).await.unwrap().term
    };
    let term = take("test", 4 * longest, 60_000).await.unwrap();
    assert_eq!(take("other", 3000, 60_000 + 4 * longest - 1).await, None);
    assert_eq!(take("other", u64::MAX, 60_000 + 4 * longest).await, Some(term + 1));
    // Beyond that no process is waited for.
    assert_eq!(take("test", 3000, 60_000 + 8 * longest).await, Some(term + 2));
}

#[tokio::test]
async fn one_process_holds_the_lease_and_another_gets_it_when_it_has_run_out() {
    let world = World::new().await;
    let take = async |holder: &str, now_ms| {
        let request = TakeLease { right: Right::Matcher, holder: holder.into(), for_ms: 1000 };
        leases::take(&world.database, &request, now_ms).await.unwrap().term
    };
    let term = world.term;
    assert_eq!(take("other", 59_999).await, None);
    assert_eq!(take("test", 59_999).await, Some(term));
    assert_eq!(take("other", 60_999).await, Some(term + 1));
    assert_eq!(take("test", 61_000).await, None);
    // What the one before does now changes nothing.
    let placed = world.place(world.order(0, "late", Side::Buy, 1, 500)).await.order;
    assert_eq!(problem(world.fill(placed.number, 500).await), 409);
    let request =
        RecordPrices { term, tick: 1, source: "s".into(), prices: vec![("ALEN".into(), Cents(1))] };
    assert_eq!(problem(prices::record(&world.database, request, 0).await), 409);
    let order = world.order(0, "day", Side::Buy, 1, 500);
    world.place(PlaceOrder { expires: Some(NOW), ..order }).await;
    assert_eq!(problem(place::expire(&world.database, term, NOW).await), 409);
    let expired = place::expire(&world.database, term + 1, NOW).await.unwrap();
    assert_eq!(expired.orders, 1);
    world.check().await;
}

#[tokio::test]
async fn a_tick_is_recorded_once_and_orders_match_its_prices() {
    let world = World::new().await;
    let record = async |tick, source: &str, prices: &[(&str, i64)]| {
        let prices = prices.iter().map(|(symbol, cents)| ((*symbol).into(), Cents(*cents)));
        let source = source.into();
        let request = RecordPrices { term: world.term, tick, source, prices: prices.collect() };
        prices::record(&world.database, request, 77).await
    };
    record(1, "walk", &[("ALEN", 1000)]).await.unwrap();
    record(1, "walk", &[("ALEN", 2000)]).await.unwrap();
    let state = prices::quotes(&world.database).await.unwrap();
    let alen = ("ALEN".to_owned(), Cents(1000));
    assert!(state.quotes.prices.contains(&alen) && state.quotes.recorded.at_ms == 77);
    assert_eq!((state.quotes.tick, state.since), (1, 0));
    record(2, "file", &[]).await.unwrap();
    assert_eq!(prices::quotes(&world.database).await.unwrap().since, 1);
    assert_eq!(problem(record(3, "file", &[("NONE", 1)]).await), 400);
    assert_eq!(problem(record(3, "file", &[("ALEN", 0)]).await), 400);

    let below = world.place(world.order(0, "below", Side::Buy, 1, 999)).await.order.number;
    let at = world.place(world.order(0, "at-it", Side::Buy, 1, 1000)).await.order.number;
    let request = crate::protocol::back::ReadMatching { most: 200 };
    let found = orders::matching(&world.database, request).await.unwrap().orders;
    let numbers: Vec<i64> = found.iter().map(|order| order.number).collect();
    assert!(numbers.contains(&at) && !numbers.contains(&below), "{numbers:?}");
    assert!(found.iter().all(|order| order.price == Cents(1000) || order.number > at));
}

/// A step of a random history.
#[derive(Clone, Debug)]
enum Step {
    Place { who: usize, name: u8, buy: bool, quantity: i64, limit: i64 },
    Cancel { who: usize, order: usize },
    Fill { order: usize, discount: i64 },
    Pay { name: u8, user: i64, cents: i64 },
    Expire,
}

fn step() -> impl Strategy<Value = Step> {
    prop_oneof![
        4 => (0..2usize, 0..20u8, any::<bool>(), 1..2000i64, 1..50_000i64).prop_map(
            |(who, name, buy, quantity, limit)| Step::Place { who, name, buy, quantity, limit }
        ),
        1 => (0..2usize, 0..60usize).prop_map(|(who, order)| Step::Cancel { who, order }),
        3 => (0..60usize, 0..100i64).prop_map(|(order, discount)| Step::Fill { order, discount }),
        1 => (0..5u8, 1..3i64, 1..1_000_000i64)
            .prop_map(|(name, user, cents)| Step::Pay { name, user, cents }),
        1 => Just(Step::Expire),
    ]
}

impl World {
    async fn take(&self, step: &Step) -> Result<()> {
        match *step {
            Step::Place { who, name, buy, quantity, limit } => {
                let side = if buy { Side::Buy } else { Side::Sell };
                let expires = (name % 3 == 0).then_some(NOW + 1);
                let order = self.order(who, &format!("{name:03}"), side, quantity, limit);
                let order = PlaceOrder { expires, ..order };
                place::place(&self.database, order, NOW).await.map(drop)
            }
            Step::Cancel { who, order } => match self.cancel(who, self.nth(order).await.0).await {
                Err(Error::Refused(_)) => Ok(()),
                result => result.map(drop),
            },
            Step::Fill { order, discount } => {
                let (number, side, limit) = self.nth(order).await;
                let price = if side == 1 { (limit - discount).max(1) } else { limit + discount };
                self.fill(number, price).await.map(drop)
            }
            Step::Pay { name, user, cents } => {
                self.pay(&format!("pay{name}"), user, cents).await.map(drop)
            }
            Step::Expire => place::expire(&self.database, self.term, NOW + 2).await.map(drop),
        }
    }

    /// Number, side and limit of one of the orders.
    async fn nth(&self, at: usize) -> (i64, i64, i64) {
        let sql = "SELECT id, side, limit_cents FROM orders WHERE customer <= 2 ORDER BY id DESC";
        let all: Vec<(i64, i64, i64)> = self.database.all(sql, &[]).await.unwrap();
        all[at % all.len()]
    }

    /// All that the tables hold, but for counters.
    async fn contents(&self) -> Vec<i64> {
        let mut sums = Vec::new();
        for sql in [
            "SELECT COUNT(*) FROM ledger",
            "SELECT COALESCE(SUM(id * cents % 1000003), 0) FROM ledger",
            "SELECT SUM(customer * available % 1000003) FROM accounts",
            "SELECT SUM(customer * reserved % 1000003) FROM accounts",
            "SELECT SUM(customer * (available + 3 * reserved + 7 * cost) % 1000003) FROM holdings",
            "SELECT SUM(id * (1 + state + 5 * reason + 11 * price) % 1000003) FROM orders",
            "SELECT COUNT(*) FROM executions",
            "SELECT COUNT(*) FROM payments",
        ] {
            sums.push(self.number(sql).await);
        }
        sums
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    /// Each step is cut off after some of its statements, as by a crash, and then sent
    /// again, sometimes twice.
    #[test]
    fn whatever_is_cut_off_wherever_nothing_is_lost_or_doubled(
        steps in proptest::collection::vec((step(), 0..12usize, any::<bool>()), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for (step, after, twice) in steps {
                let before = world.contents().await;
                fault::after(after);
                let cut = world.take(&step).await;
                let hit = fault::clear();
                if cut.is_err() && hit {
                    assert_eq!(world.contents().await, before, "{step:?} after {after}");
                }
                // The process that was killed is started again.
                world.database = Database::for_cores(&world.location, 1).remove(0);
                world.take(&step).await.unwrap();
                if twice {
                    let once = world.contents().await;
                    world.take(&step).await.unwrap();
                    // A fill of another order may follow a fill, but never of the same.
                    assert_eq!(world.contents().await, once, "{step:?} sent twice");
                }
                world.check().await;
            }
        });
    }
}
