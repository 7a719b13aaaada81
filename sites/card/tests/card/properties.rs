//! Captures stay within the authorisation and refunds within the captures, whatever requests
//! come at once, however often they are repeated, and whenever the processor crashes.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use proptest::prelude::*;
use tidegate_card::client::{Client, Error, Key, Patience};
use tidegate_card::{Movement, Payment};
use tidegate_sitekit::backoff::Backoff;
use tokio::sync::watch;

use crate::postgres;
use crate::processor::events;
use crate::virtual_time::Crashable;

/// A request that is sent at some time, several times over.
#[derive(Clone, Debug)]
struct Wanted {
    what: What,
    amount: Option<i64>,
    times: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum What {
    Capture { last: bool },
    Refund,
}

fn wanted() -> impl Strategy<Value = Wanted> {
    let what = prop_oneof![
        4 => proptest::bool::weighted(0.2).prop_map(|last| What::Capture { last }),
        4 => Just(What::Refund),
    ];
    let amount = proptest::option::weighted(0.8, 1..3000_i64);
    (what, amount, 1..4_usize).prop_map(|(what, amount, times)| Wanted { what, amount, times })
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 12, ..ProptestConfig::default() })]

    #[test]
    fn no_money_is_lost_or_doubled_on_sqlite(
        all in proptest::collection::vec(wanted(), 1..12),
        crashes in proptest::collection::vec(0..400_u32, 0..4),
    ) {
        check(None, all, crashes);
    }

    // Here a crash can come between two statements of a transaction.
    #[test]
    fn no_money_is_lost_or_doubled_on_postgres(
        all in proptest::collection::vec(wanted(), 1..12),
        crashes in proptest::collection::vec(0..400_u32, 0..4),
    ) {
        check(Some(postgres::new_database()), all, crashes);
    }
}

fn check(database: Option<String>, all: Vec<Wanted>, crashes: Vec<u32>) {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut it = Crashable::start(|options| options.database = database).await;
        let payment = it.authorised("d-1").await;
        let (now, addresses) = watch::channel(it.once());
        let mut tasks = tokio::task::JoinSet::new();
        for (number, wanted) in all.iter().enumerate() {
            for _ in 0..wanted.times {
                let (id, wanted) = (payment.id.clone(), wanted.clone());
                tasks.spawn(send(addresses.clone(), id, number, wanted));
            }
        }
        for turns in crashes {
            for _ in 0..turns {
                tokio::task::yield_now().await;
            }
            it.restart().await;
            now.send_replace(it.once());
        }
        let mut answers: BTreeMap<usize, Vec<Answered>> = BTreeMap::new();
        while let Some(ended) = tasks.join_next().await {
            let (number, answer) = ended.unwrap();
            answers.entry(number).or_default().push(answer);
        }
        let payment = it.once().payment(&payment.id).await.unwrap();
        let events = events(&it.options).await;
        look(&payment, &all, &answers);
        let succeeded = answers.values().filter(|answers| answers[0].is_ok()).count();
        assert_eq!(events.len(), 1 + succeeded, "an event for each change");
        assert!(events.iter().zip(1..).all(|(event, number)| event.sequence == number));
    });
}

type Answered = Result<Arc<Payment>, String>;

/// Sends a request under its key until there is a certain answer.
async fn send(
    now: watch::Receiver<Client>,
    id: String,
    number: usize,
    wanted: Wanted,
) -> (usize, Answered) {
    let key = key(&format!("k-{number}"));
    let reference = format!("r-{number}");
    loop {
        // The call ends with its first attempt: the next one goes to where the processor is.
        let whole = Duration::from_secs(20);
        let pause = Backoff { first: whole * 2, longest: whole * 2 };
        let patience = Patience { attempt: whole, call: whole, backoff: pause };
        let client = now.borrow().with_patience(patience);
        let answer = match wanted.what {
            What::Capture { last } => {
                client.capture(&key, &id, wanted.amount, Some(&reference), last).await
            }
            What::Refund => client.refund(&key, &id, wanted.amount, Some(&reference)).await,
        };
        match answer {
            Ok(payment) => return (number, Ok(Arc::new(payment))),
            Err(Error::Refused { error, .. }) => return (number, Err(error.code)),
            Err(Error::Unknown(_)) => tokio::task::yield_now().await,
        }
    }
}

fn look(payment: &Payment, all: &[Wanted], answers: &BTreeMap<usize, Vec<Answered>>) {
    let sum = |moved: &[Movement]| moved.iter().map(|it| it.amount).sum::<i64>();
    assert_eq!(payment.amount_captured, sum(&payment.captures));
    assert_eq!(payment.amount_refunded, sum(&payment.refunds));
    assert!(payment.amount_refunded <= payment.amount_captured);
    assert!(payment.amount_captured <= payment.amount);
    for (number, answers) in answers {
        assert!(answers.iter().all(|answer| *answer == answers[0]), "one answer for a key");
        let moved = match all[*number].what {
            What::Capture { .. } => &payment.captures,
            What::Refund => &payment.refunds,
        };
        let name = format!("r-{number}");
        let of_this: Vec<_> = moved.iter().filter(|it| it.reference == name).collect();
        assert_eq!(of_this.len(), usize::from(answers[0].is_ok()), "done once or not at all");
        if let (Some(wanted), Some(moved)) = (all[*number].amount, of_this.first()) {
            assert_eq!(moved.amount, wanted);
        }
    }
}

fn key(text: &str) -> Key {
    Key::new(text).unwrap()
}
