//! Deposits: each is stored once, ends once, and what is captured is credited once, whatever is
//! cut off, repeated, late, or out of order.

use proptest::prelude::*;

use super::deposits::MOST_OPEN;
use super::tests::{World, problem};
use super::{deposit_outcome, deposits};
use crate::error::Result;
use crate::protocol::deposits::back::{
    BeginDeposit, DepositBegun, DepositStep, DepositWithWish, FailDeposit, NotePayment,
    PaymentNoted, PostponeWish, ReadDeposit, ReadDeposits, ReadWishes, SeenPayment, Stage, Wish,
};
use crate::protocol::{DepositId, DepositReason, DepositState, SessionToken};
use tidegate_sitekit::database::{Database, fault};
use tidegate_sitekit::money::Cents;

const NOW: i64 = 1_700_000_000;
const NOW_MS: u64 = 1_700_000_000_000;
const FORM: &str = "https://card.example/checkout/1";

impl World {
    async fn begin(&self, who: usize, name: &str, cents: i64) -> Result<DepositBegun> {
        let request = BeginDeposit {
            session: self.sessions[who].clone(),
            id: DepositId::try_from(format!("deposit-{name}")).unwrap(),
            reference: format!("ref-{who}-{name}"),
            amount: Cents(cents),
            due_in_ms: 5000,
        };
        deposits::begin(&self.database, request, NOW, NOW_MS).await
    }

    async fn read(&self, who: usize, number: i64) -> Result<DepositWithWish> {
        let request = ReadDeposit { session: self.sessions[who].clone(), number };
        deposits::read(&self.database, request, NOW).await
    }

    async fn due(&self, now_ms: u64) -> Vec<Wish> {
        deposits::due(&self.database, ReadWishes { most: 100 }, now_ms).await.unwrap().wishes
    }

    async fn note(
        &self,
        reference: &str,
        cents: i64,
        version: i64,
        stage: Stage,
        event: Option<&str>,
    ) -> Result<PaymentNoted> {
        let payment =
            SeenPayment { reference: reference.into(), amount: Cents(cents), version, stage };
        let request = NotePayment { payment, event: event.map(str::to_owned) };
        deposit_outcome::note(&self.database, request, NOW, NOW_MS).await
    }

    async fn see(&self, version: i64, stage: Stage) -> DepositState {
        self.note("ref-0-one", 5000, version, stage, None).await.unwrap().state.unwrap()
    }

    async fn cash(&self) -> i64 {
        self.number("SELECT available FROM accounts WHERE customer = 1").await
    }
}

fn captured(cents: i64) -> Stage {
    Stage::Captured { amount: Cents(cents), card: "Visa 4242".into() }
}

#[tokio::test]
async fn a_deposit_is_stored_once_with_the_wish_to_ask_for_it() {
    let world = World::new().await;
    let first = world.begin(0, "one", 5000).await.unwrap();
    assert!(!first.repeated && first.deposit.state == DepositState::Asked);
    let again = world.begin(0, "one", 7000).await.unwrap();
    assert_eq!((&again.deposit, again.repeated), (&first.deposit, true));
    let other = world.begin(1, "one", 100).await.unwrap();
    assert!(!other.repeated, "another customer's deposit may have the same name");
    assert_eq!(world.due(NOW_MS + 4999).await, []);
    let due = world.due(NOW_MS + 5000).await;
    assert_eq!(due.len(), 2);
    assert_eq!((due[0].step, due[0].attempts), (DepositStep::Create, 0));
    assert_eq!((due[0].reference.as_str(), due[0].amount), ("ref-0-one", Cents(5000)));
    world.check().await;
}

#[tokio::test]
async fn what_is_captured_is_credited_once_and_the_outbox_is_empty_then() {
    let world = World::new().await;
    let number = world.begin(0, "one", 5000).await.unwrap().deposit.number;
    let before = world.cash().await;
    assert_eq!(world.see(1, Stage::Form(FORM.into())).await, DepositState::Form);
    let found = world.read(0, number).await.unwrap();
    assert_eq!(found.deposit.form.as_deref(), Some(FORM));
    assert_eq!(found.wish.unwrap().step, DepositStep::Look);
    assert_eq!(world.see(3, Stage::Authorised).await, DepositState::Authorised);
    let found = world.read(0, number).await.unwrap();
    assert_eq!((found.deposit.form, found.wish.unwrap().step), (None, DepositStep::Capture));
    assert_eq!(world.cash().await, before, "an authorisation is no money");
    for _ in 0..3 {
        assert_eq!(world.see(4, captured(5000)).await, DepositState::Paid);
        assert_eq!(world.cash().await, before + 5000);
    }
    let found = world.read(0, number).await.unwrap();
    assert_eq!((found.deposit.card.as_deref(), found.wish), (Some("Visa 4242"), None));
    assert_eq!(found.deposit.closed, Some(NOW));
    world.check().await;
}

#[tokio::test]
async fn an_event_is_used_once_and_in_any_order() {
    let world = World::new().await;
    world.begin(0, "one", 5000).await.unwrap();
    let before = world.cash().await;
    let note = async |version, stage, event| {
        world.note("ref-0-one", 5000, version, stage, Some(event)).await.unwrap()
    };
    assert_eq!(note(5, captured(5000), "evt_2").await.state, Some(DepositState::Paid));
    assert_eq!(note(4, Stage::Authorised, "evt_1").await.state, Some(DepositState::Paid));
    for event in ["evt_1", "evt_2"] {
        assert!(note(9, captured(5000), event).await.repeated);
    }
    assert_eq!(world.cash().await, before + 5000);
    // Of no deposit of ours.
    let other = world.note("elsewhere", 1, 1, captured(1), Some("evt_3")).await.unwrap();
    assert_eq!((other.state, other.repeated), (None, false));
    deposit_outcome::forget_events(&world.database, NOW + 30 * 24 * 3600).await.unwrap();
    assert_eq!(world.number("SELECT COUNT(*) FROM card_events").await, 0);
    world.check().await;
}

#[tokio::test]
async fn an_older_copy_and_another_amount_change_nothing() {
    let world = World::new().await;
    world.begin(0, "one", 5000).await.unwrap();
    world.see(5, Stage::Form(FORM.into())).await;
    let late = Stage::Cancelled(DepositReason::NoCard);
    assert_eq!(world.see(4, late).await, DepositState::Form);
    let before = world.cash().await;
    let forged = world.note("ref-0-one", 5001, 9, captured(5001), None).await;
    assert_eq!(problem(forged), 409);
    assert_eq!(world.cash().await, before);
    world.check().await;
}

#[tokio::test]
async fn a_payment_that_somebody_credited_by_hand_is_not_credited_again() {
    let world = World::new().await;
    world.begin(0, "one", 5000).await.unwrap();
    let before = world.cash().await;
    world.pay("ref-0-one", 1, 5000).await.unwrap();
    assert_eq!(world.see(3, captured(5000)).await, DepositState::Paid);
    assert_eq!(world.cash().await, before + 5000);
    world.check().await;
}

#[tokio::test]
async fn a_deposit_fails_only_at_the_step_that_was_tried() {
    let world = World::new().await;
    let one = world.begin(0, "one", 5000).await.unwrap().deposit.number;
    let two = world.begin(0, "two", 5000).await.unwrap().deposit.number;
    world.see(1, Stage::Form(FORM.into())).await;
    for number in [one, two, 999] {
        let step = DepositStep::Create;
        let request = FailDeposit { number, step, reason: DepositReason::Refused };
        deposit_outcome::fail(&world.database, request, NOW).await.unwrap();
    }
    assert_eq!(world.read(0, one).await.unwrap().deposit.state, DepositState::Form);
    let failed = world.read(0, two).await.unwrap();
    assert_eq!(failed.deposit.state, DepositState::Failed);
    assert_eq!((failed.deposit.reason, failed.wish), (DepositReason::Refused, None));
    world.check().await;
}

#[tokio::test]
async fn an_entry_is_put_off_unless_another_step_has_come() {
    let world = World::new().await;
    let number = world.begin(0, "one", 5000).await.unwrap().deposit.number;
    let postpone = async |step, for_ms| {
        let request = PostponeWish { number, step, for_ms };
        deposits::postpone(&world.database, request, NOW_MS).await.unwrap();
    };
    postpone(DepositStep::Create, 60_000).await;
    assert_eq!(world.due(NOW_MS + 59_999).await, []);
    assert_eq!(world.due(NOW_MS + 60_000).await[0].attempts, 1);
    assert_eq!(world.read(0, number).await.unwrap().deposit.unanswered, 1);
    world.see(1, Stage::Form(FORM.into())).await;
    world.see(2, Stage::Authorised).await;
    postpone(DepositStep::Look, 60_000).await;
    assert_eq!(world.due(NOW_MS).await[0].step, DepositStep::Capture);
    postpone(DepositStep::Capture, u64::MAX).await;
    assert_eq!(world.due(NOW_MS * 2).await, []);
    world.check().await;
}

#[tokio::test]
async fn deposits_are_their_customers_alone_and_bounded() {
    let world = World::new().await;
    let number = world.begin(0, "one", 5000).await.unwrap().deposit.number;
    assert_eq!(problem(world.read(1, number).await), 404);
    let stranger = SessionToken::random().unwrap().key();
    let request = ReadDeposit { session: stranger, number };
    assert_eq!(problem(deposits::read(&world.database, request, NOW).await), 401);
    for cents in [0, -1, Cents::MOST.0 + 1, i64::MAX, i64::MIN] {
        assert_eq!(problem(world.begin(0, "none", cents).await), 400);
    }
    for at in 1..MOST_OPEN {
        world.begin(0, &format!("{at}"), 100).await.unwrap();
    }
    assert_eq!(problem(world.begin(0, "more", 100).await), 409);
    assert!(world.begin(0, "one", 5000).await.unwrap().repeated, "the same again is no other");
    assert!(world.begin(1, "more", 100).await.is_ok(), "each customer has their own");
    world.see(1, Stage::Declined(DepositReason::Funds)).await;
    assert!(world.begin(0, "more", 100).await.is_ok(), "one has ended");
    let list = async |before, most| {
        let request = ReadDeposits { session: world.sessions[0].clone(), before, most };
        deposits::list(&world.database, request, NOW).await.unwrap()
    };
    let newest = list(None, 5).await;
    assert!(newest.more && newest.deposits.len() == 5);
    assert!(newest.deposits.is_sorted_by(|a, b| a.number > b.number));
    let rest = list(Some(newest.deposits[4].number), 200).await;
    assert_eq!((rest.more, rest.deposits.len()), (false, 16));
    world.check().await;
}

/// A step of a random history of three deposits.
#[derive(Clone, Debug)]
enum Happens {
    Begin { who: usize, name: u8 },
    Note { who: usize, name: u8, version: i64, stage: u8, event: Option<u8> },
    Fail { deposit: i64 },
}

fn happens() -> impl Strategy<Value = Happens> {
    prop_oneof![
        1 => (0..2usize, 0..2u8).prop_map(|(who, name)| Happens::Begin { who, name }),
        4 => (0..2usize, 0..2u8, 1..6i64, 0..5u8, proptest::option::of(0..12u8)).prop_map(
            |(who, name, version, stage, event)| Happens::Note { who, name, version, stage, event }
        ),
        1 => (1..5i64).prop_map(|deposit| Happens::Fail { deposit }),
    ]
}

impl World {
    async fn happen(&self, it: &Happens) -> Result<()> {
        match *it {
            Happens::Begin { who, name } => {
                self.begin(who, &format!("{name}"), 100 + i64::from(name)).await.map(drop)
            }
            Happens::Note { who, name, version, stage, event } => {
                let cents = 100 + i64::from(name);
                let stage = match stage {
                    0 => Stage::Form(FORM.into()),
                    1 => Stage::Authorised,
                    2 => captured(cents),
                    3 => Stage::Declined(DepositReason::Funds),
                    _ => Stage::Cancelled(DepositReason::Customer),
                };
                let event = event.map(|event| format!("evt_{event}"));
                let reference = format!("ref-{who}-{name}");
                self.note(&reference, cents, version, stage, event.as_deref()).await.map(drop)
            }
            Happens::Fail { deposit } => {
                let (step, reason) = (DepositStep::Look, DepositReason::NoAnswer);
                let request = FailDeposit { number: deposit, step, reason };
                deposit_outcome::fail(&self.database, request, NOW).await
            }
        }
    }

    /// All that belongs to deposits.
    async fn of_deposits(&self) -> Vec<i64> {
        let mut sums = Vec::new();
        for sql in [
            "SELECT COALESCE(SUM(id * (1 + 3 * state + 7 * reason + 11 * version)), 0) FROM deposits",
            "SELECT COALESCE(SUM(deposit * (1 + 5 * step + 13 * attempts)), 0) FROM deposit_outbox",
            "SELECT COUNT(*) FROM card_events",
            "SELECT COUNT(*) FROM payments",
            "SELECT COUNT(*) FROM ledger",
            "SELECT SUM(customer * available % 1000003) FROM accounts",
        ] {
            sums.push(self.number(sql).await);
        }
        sums
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 16, ..ProptestConfig::default() })]

    /// Each step is cut off after some of its statements, as by a crash, and then sent again,
    /// sometimes twice.
    #[test]
    fn whatever_is_cut_off_a_deposit_is_credited_if_and_only_if_it_is_paid(
        steps in proptest::collection::vec((happens(), 0..8usize, any::<bool>()), 1..40),
    ) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut world = World::new().await;
            for (it, after, twice) in steps {
                let before = world.of_deposits().await;
                fault::after(after);
                let cut = world.happen(&it).await;
                let hit = fault::clear();
                if cut.is_err() && hit {
                    assert_eq!(world.of_deposits().await, before, "{it:?} after {after}");
                }
                world.database = Database::for_cores(&world.location, 1).remove(0);
                world.happen(&it).await.unwrap();
                if twice {
                    let once = world.of_deposits().await;
                    world.happen(&it).await.unwrap();
                    assert_eq!(world.of_deposits().await, once, "{it:?} sent twice");
                }
                world.check().await;
            }
        });
    }
}
