//! What the store keeps whatever happens: goods add up, and nothing is lost or doubled when a
//! transaction is cut off in its middle, as by a crash.

use tempfile::TempDir;

use super::customers::Address;
use super::orders::{NewOrder, Reason, State, cost, place};
use super::outcome::{Stage, note};
use super::{basket, places, queue, sessions};
use crate::options::Size;
use crate::population::{Plan, Shop};
use tidegate_sitekit::Result;
use tidegate_sitekit::database::{Database, Location, fault};
use tidegate_sitekit::once::form::Form;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::populate;
use tidegate_sitekit::session::{SessionKey, SessionToken};

const NOW: i64 = 1_700_000_000;

/// A small shop in a database of its own.
struct World {
    database: Database,
    _folder: TempDir,
}

impl World {
    async fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let location = Location::Sqlite(folder.path().join("shop.db"));
        let mut connection = location.connect().await.unwrap();
        let plan = Plan { size: Size::Small, seed: 1 };
        let shop = Shop { cost: PasswordCost::LIGHT };
        populate(&mut connection, &shop, plan, NOW).await.unwrap();
        connection.close().await;
        Self { database: Database::for_cores(&location, 1).remove(0), _folder: folder }
    }

    /// A session with two products in its basket.
    async fn session(&self) -> SessionKey {
        let key = SessionToken::random().unwrap().key();
        let mut transaction = self.database.begin().await.unwrap();
        sessions::begin(&mut transaction, &key, 0, NOW).await.unwrap();
        for (product, quantity) in [(1, 2), (2, 3)] {
            basket::add(&mut transaction, &key, product, quantity).await.unwrap();
        }
        transaction.commit().await.unwrap();
        key
    }

    async fn place(&self, session: &SessionKey, form: Form) -> Result<i64> {
        let zone = places::zone(&self.database, 1).await?;
        let lines = basket::lines(&self.database, session).await?;
        let address = Address { postcode: "10001".into(), ..Address::default() };
        let reference = format!("order-{}", form.number);
        let new = NewOrder {
            session,
            customer: 0,
            reference: &reference,
            zone: &zone,
            total: cost(&zone, &lines).total(),
            email: "",
            address: &address,
            now: NOW,
            due_ms: 0,
        };
        place(&self.database, form, new).await.map(|accepted| accepted.answer.number)
    }

    async fn number(&self, sql: &'static str) -> i64 {
        self.database.first(sql, &[]).await.unwrap().unwrap()
    }

    /// Goods in stock or in orders that are not cancelled.
    async fn goods(&self) -> i64 {
        self.number(
            "SELECT (SELECT SUM(stock) FROM products) + (SELECT COALESCE(SUM(l.quantity), 0)
             FROM order_lines l JOIN orders o ON o.id = l.order_id WHERE o.state <> 4)",
        )
        .await
    }
}

#[tokio::test]
async fn an_order_that_is_cut_off_anywhere_is_placed_whole_or_not_at_all() {
    let world = World::new().await;
    let (goods, session) = (world.goods().await, world.session().await);
    let form = Form { expires: NOW + 3600, number: 7, content: 1 };
    let mut cut = 0;
    loop {
        fault::after(cut);
        let placed = world.place(&session, form).await;
        if !fault::clear() {
            assert!(placed.is_ok(), "{placed:?}");
            break;
        }
        assert!(placed.is_err(), "after {cut} statements");
        assert_eq!(world.goods().await, goods, "after {cut} statements");
        assert_eq!(world.number("SELECT COUNT(*) FROM orders").await, 0);
        assert_eq!(basket::lines(&world.database, &session).await.unwrap().len(), 2);
        cut += 1;
    }
    // Lock, basket, two of stock, order, two lines, queue, basket, form, commit.
    assert!(cut >= 11, "{cut} statements");
    assert_eq!(world.goods().await, goods);
    for sql in ["SELECT COUNT(*) FROM orders", "SELECT COUNT(*) FROM payment_queue"] {
        assert_eq!(world.number(sql).await, 1, "{sql}");
    }
    // Its customer has not seen the answer, and sends the form again.
    assert_eq!(world.place(&session, form).await.unwrap(), 1);
    assert_eq!(world.number("SELECT COUNT(*) FROM orders").await, 1);
}

#[tokio::test]
async fn the_outcome_of_a_payment_that_is_cut_off_anywhere_is_stored_once() {
    let over = Stage::Over(Reason::Declined);
    for (stage, expected) in [
        (Stage::Authorised, State::Authorised),
        (Stage::Captured("Visa".into()), State::Paid),
        (over, State::Cancelled),
    ] {
        let world = World::new().await;
        let (goods, session) = (world.goods().await, world.session().await);
        let stock = world.number("SELECT SUM(stock) FROM products").await;
        let form = Form { expires: NOW + 3600, number: 7, content: 1 };
        let order = world.place(&session, form).await.unwrap();
        let url = Stage::Form("https://card.example/1".into());
        assert_eq!(note(&world.database, order, &url, 1).await.unwrap(), State::Form);
        let mut cut = 0;
        loop {
            fault::after(cut);
            let noted = note(&world.database, order, &stage, 2).await;
            if !fault::clear() {
                assert_eq!(noted.unwrap(), expected);
                break;
            }
            assert!(noted.is_err());
            assert_eq!(world.number("SELECT state FROM orders").await, State::Form.number());
            assert_eq!(world.goods().await, goods, "after {cut} statements");
            cut += 1;
        }
        assert!(cut >= 3, "{cut} statements");
        // It comes again, and what is older comes late.
        assert_eq!(note(&world.database, order, &stage, 2).await.unwrap(), expected);
        assert_eq!(note(&world.database, order, &url, 1).await.unwrap(), expected);
        assert_eq!(world.goods().await, goods);
        let back = world.number("SELECT SUM(stock) FROM products").await == stock;
        assert_eq!(back, expected == State::Cancelled);
        let steps = queue::of_order(&world.database, order).await.unwrap();
        let captures = steps.iter().filter(|step| step.content.step == queue::Step::Capture);
        assert_eq!(captures.count(), usize::from(expected == State::Authorised));
    }
}

#[tokio::test]
async fn what_is_in_no_basket_of_the_session_is_not_ordered() {
    let world = World::new().await;
    let session = world.session().await;
    let form = |number| Form { expires: NOW + 3600, number, content: 1 };
    world.place(&session, form(1)).await.unwrap();
    let refused = world.place(&session, form(2)).await.unwrap_err().to_string();
    assert!(refused.contains("Your basket is empty"), "{refused}");
    let unknown = SessionToken::random().unwrap().key();
    assert!(world.place(&unknown, form(3)).await.is_err());
}
