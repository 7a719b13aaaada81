//! Orders on their way, with partners of every behaviour.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use proptest::prelude::*;
use tempfile::TempDir;
use tidegate_partners::client::PartnerOptions;
use tidegate_partners::{Options as PartnersOptions, Site, start};
use tidegate_sitekit::breaker::Limits;
use tidegate_sitekit::database::{Database, Location, tables};
use tidegate_sitekit::queue::Task;
use tidegate_sitekit::values;

use super::queues::{INDEXES, TEXT, now};
use super::shipping::Shipping;
use super::stock::Stock;
use super::{FulfilOptions, Fulfilment, OrderState, Shared};

const PATIENCE: Duration = Duration::from_secs(60);
/// Pieces of each of the three items at the beginning.
const STOCK: i64 = 200;

/// A database with items, and what follows from its orders.
struct World {
    _folder: TempDir,
    database: Database,
    fulfilment: Fulfilment,
}

impl World {
    async fn new(options: FulfilOptions) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("b2b.db"));
        let mut connection = location.connect().await.unwrap();
        let others = "CREATE TABLE items (id {id}, stock {int} NOT NULL CHECK (stock >= 0));
             CREATE TABLE orders (id {id}, customer {int} NOT NULL, state {int} NOT NULL,
                 total {int} NOT NULL, tracking TEXT NOT NULL);
             CREATE TABLE order_lines (order_id {int} NOT NULL, item {int} NOT NULL,
                 quantity {int} NOT NULL);";
        for text in [others, TEXT, INDEXES] {
            tables::create(&mut connection, text).await.unwrap();
        }
        connection.close().await;
        let database = Database::for_cores(&location, 1).remove(0);
        let insert = "INSERT INTO items (stock) VALUES ($1), ($1), ($1)";
        database.run(insert, &values![STOCK]).await.unwrap();
        let shared = Arc::new(Shared::new(&options, "test".into()).unwrap());
        let fulfilment = Fulfilment::new(database.clone(), shared).unwrap();
        Self { _folder: folder, database, fulfilment }
    }

    /// Stores an order of so many pieces of two items.
    async fn order(&self, quantity: i64) -> i64 {
        let mut transaction = self.database.begin().await.unwrap();
        let sql = "INSERT INTO orders (customer, state, total, tracking) VALUES (1, 0, 100, '')
                   RETURNING id";
        let order = transaction.first::<i64>(sql, &[]).await.unwrap().unwrap();
        let sql = "INSERT INTO order_lines (order_id, item, quantity)
                   VALUES ($1, 2, $2), ($1, 1, $2), ($1, 2, 1)";
        transaction.run(sql, &values![order, quantity]).await.unwrap();
        self.fulfilment.begin(&mut transaction, order).await.unwrap();
        transaction.commit().await.unwrap();
        order
    }

    async fn number(&self, sql: &'static str) -> i64 {
        self.database.first(sql, &[]).await.unwrap().unwrap_or_default()
    }

    async fn state(&self, order: i64) -> OrderState {
        let sql = "SELECT state FROM orders WHERE id = $1";
        self.database.first(sql, &values![order]).await.unwrap().unwrap()
    }

    /// Pieces that were there and came are in stock or taken.
    async fn check(&self) {
        let there = self.number("SELECT SUM(stock) FROM items").await;
        let taken = self
            .number(
                "SELECT COALESCE(SUM(l.quantity), 0) FROM order_lines l
                 JOIN orders o ON o.id = l.order_id WHERE o.state IN (2, 3)",
            )
            .await;
        let came =
            self.number("SELECT COALESCE(SUM(quantity), 0) FROM stock_queue WHERE state = 1").await;
        assert_eq!(there + taken, 3 * STOCK + came);
    }

    /// Does what is due, each entry so often, until nothing is.
    async fn work(&self, times: usize) {
        let (shipping, stock) = (Shipping(self.fulfilment.clone()), Stock(self.fulfilment.clone()));
        while self.work_on(&shipping, times).await + self.work_on(&stock, times).await > 0 {}
    }

    async fn work_on<T: Task>(&self, task: &T, times: usize) -> usize {
        // Whatever pauses have been set: time is not waited for.
        let values = values![i64::MAX - 1, 10];
        let due = T::QUEUE.claim(&self.database, T::DUE, &values, i64::MAX - 1).await.unwrap();
        for entry in &due {
            let mut done = false;
            for _ in 0..times {
                done = task.perform(entry).await.unwrap();
            }
            let retry = task.retry();
            T::QUEUE.end(&self.database, entry, done, now(), retry).await.unwrap();
        }
        due.len()
    }
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

#[test]
fn an_order_is_validated_at_once_and_then_shipped() {
    block_on(async {
        let world = World::new(FulfilOptions::default()).await;
        let order = world.order(3).await;
        assert_eq!(world.state(order).await, OrderState::Received);
        assert_eq!(world.fulfilment.validate(order).await.unwrap(), OrderState::Accepted);
        world.work(1).await;
        assert_eq!(world.state(order).await, OrderState::Shipped);
        let tracking = "SELECT COUNT(*) FROM orders WHERE tracking = 'test-shipment-1'";
        assert_eq!(world.number(tracking).await, 1);
        world.check().await;
        let report = world.fulfilment.report().await.unwrap();
        assert_eq!((report.shipping_waiting, report.stock_waiting, report.oldest_s), (0, 0, 0));
    });
}

#[test]
fn goods_that_are_missing_are_ordered_and_orders_wait_for_them() {
    block_on(async {
        let world = World::new(FulfilOptions::default()).await;
        for quantity in [120, 120, 700] {
            let order = world.order(quantity).await;
            world.fulfilment.validate(order).await.unwrap();
        }
        world.work(1).await;
        assert_eq!(world.number("SELECT COUNT(*) FROM orders WHERE state = 3").await, 3);
        assert!(world.number("SELECT COUNT(*) FROM stock_queue WHERE state = 1").await >= 2);
        world.check().await;
    });
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]
    #[test]
    fn steps_that_come_several_times_are_the_same_as_once(
        quantities in prop::collection::vec(1..300_i64, 1..8), times in 1..4_usize,
    ) {
        block_on(async {
            let world = World::new(FulfilOptions::default()).await;
            for quantity in &quantities {
                world.order(*quantity).await;
            }
            world.work(times).await;
            let shipped = world.number("SELECT COUNT(*) FROM orders WHERE state = 3").await;
            assert_eq!(shipped, quantities.len() as i64);
            let steps = world.number("SELECT COUNT(*) FROM shipping_queue").await;
            assert_eq!(steps, 3 * shipped, "each step once");
            world.check().await;
        });
    }
}

fn partners(folder: &Path, behaviour: &str) -> Site {
    let behaviour = behaviour.parse().unwrap();
    start(PartnersOptions {
        listen: "127.0.0.1:0".parse().unwrap(),
        data: folder.to_owned(),
        validation: behaviour,
        inventory: behaviour,
        shipment: behaviour,
        cores: Some(vec![tidegate_sitekit::server::available_cores()[0]]),
        ..PartnersOptions::default()
    })
    .unwrap()
}

fn options(site: &Site) -> FulfilOptions {
    let partners = PartnerOptions {
        addresses: vec![site.address().to_string()],
        certificates: site.certificates().to_owned(),
        breaker: Limits::default(),
    };
    FulfilOptions { partners: Some(partners), ..FulfilOptions::default() }
}

#[test]
fn an_order_that_is_declined_takes_nothing_from_stock() {
    let folder = tempfile::tempdir().unwrap();
    let site = partners(folder.path(), "latency=0s,decline=1");
    block_on(async {
        let world = World::new(options(&site)).await;
        let order = world.order(3).await;
        world.work(1).await;
        assert_eq!(world.state(order).await, OrderState::Declined);
        assert_eq!(world.number("SELECT COUNT(*) FROM shipping_queue").await, 1);
        assert_eq!(world.number("SELECT SUM(stock) FROM items").await, 3 * STOCK);
    });
}

#[test]
fn a_partner_that_hangs_leaves_orders_waiting_and_is_told() {
    let folder = tempfile::tempdir().unwrap();
    let site = partners(folder.path(), "hang=1");
    block_on(async {
        let world = World::new(options(&site)).await;
        let begun = Instant::now();
        loop {
            let order = world.order(3).await;
            let state = world.fulfilment.validate(order).await.unwrap();
            assert_eq!(state, OrderState::Received);
            let report = world.fulfilment.report().await.unwrap();
            if report.partners_failing == ["validation"] {
                assert!(report.shipping_waiting > 0);
                break;
            }
            assert!(begun.elapsed() < PATIENCE, "its breaker does not open");
        }
    });
}
