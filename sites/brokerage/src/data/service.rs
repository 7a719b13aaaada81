//! The data tier as a service: each operation is a function of the store.

use std::time::{Duration, Instant};

use bytes::Bytes;

use super::options::Options;
use super::prepare::{Prepared, prepare};
use super::store::{
    customers, deposit_outcome, deposits, execute, leases, orders, passwords, payments, place,
    prices, sessions,
};
use crate::error::Result;
use crate::protocol::back::{
    AddPayment, CloseOrder, CloseSession, Execute, Expire, GetCredentials, Holdings, OpenSession,
    Orders, PlaceOrder, ReadAccount, ReadHoldings, ReadMatching, ReadOrders, ReadOverview,
    ReadQuote, ReadQuotes, ReadSecurities, RecordPrices, RenewPassword, ReplacePassword,
    Securities, TakeLease,
};
use crate::protocol::deposits::back::{
    BeginDeposit, FailDeposit, NotePayment, PostponeWish, ReadDeposit, ReadDeposits, ReadWishes,
};
use crate::protocol::{Done, GetHealth, Health, Operation};
use crate::rpc::{answer, health, unknown};
use crate::tier::{APP, DATA, Running};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::link::{self, Reply, ServerSide};
use tidegate_sitekit::server::{BackgroundTask, Peers, Server, Service, available_cores};
use tidegate_sitekit::throttle::Throttle;
use tidegate_sitekit::when;

/// How often sessions that are over, and old events, are forgotten.
const FORGETTING: Duration = Duration::from_secs(60);
/// That the database does not answer was logged: whoever asks for `/healthz` causes it.
static SILENT: Throttle = Throttle::new();

/// Prepares the database, as [`prepare`] does, and starts the data tier.
///
/// # Errors
/// Those of [`prepare`]; the files of the link cannot be used; the address is in use or not
/// of this machine; a core does not exist.
pub fn start(options: Options) -> tidegate_sitekit::Result<(Running, Prepared)> {
    let prepared = prepare(&options)?;
    let side = ServerSide::new(options.link.spec, &options.link.files, DATA, APP)?
        .known_as(&options.known_as);
    let count = options.cores.as_ref().map_or_else(|| available_cores().len(), Vec::len);
    let services = Database::for_cores(&prepared.location, count)
        .into_iter()
        .enumerate()
        .map(|(core, database)| {
            let side = side.clone();
            let make = move || Service {
                tls: side.tls(),
                peers: Peers::Tiers,
                background: (core == 0)
                    .then(|| -> BackgroundTask { Box::pin(forget(database.clone())) }),
                router: link::router(&side, Handler { database }),
            };
            Box::new(make) as Box<dyn FnOnce() -> Service + Send>
        })
        .collect();
    let server = Server::start(options.listen, options.cores.as_deref(), services, None)?;
    Ok((Running::new(server), prepared))
}

/// Answers the operations of one core.
#[derive(Clone)]
struct Handler {
    database: Database,
}

impl link::Handler for Handler {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        let (db, body, now) = (&self.database, &body, when::now());
        match operation {
            GetHealth::NAME => answer(body, |_: GetHealth| async { Ok(self.state().await) }).await,
            GetCredentials::NAME => {
                let read = |request: GetCredentials| async move {
                    customers::credentials(db, &request.user).await
                };
                answer(body, read).await
            }
            RenewPassword::NAME => {
                let write = |request| async move {
                    customers::renew_password(db, &request).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            ReadAccount::NAME => {
                let read = |request: ReadAccount| async move {
                    passwords::account(db, &request.session, now).await
                };
                answer(body, read).await
            }
            ReplacePassword::NAME => {
                let write = |request| async move {
                    passwords::replace(db, &request, now).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            OpenSession::NAME => answer(body, |request| sessions::open(db, request, now)).await,
            CloseSession::NAME => {
                let write = |request: CloseSession| async move {
                    sessions::close(db, &request.session).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            ReadOverview::NAME => {
                let read = |request: ReadOverview| async move {
                    let customer = sessions::customer(db, &request.session, now).await?;
                    customers::overview(db, customer).await
                };
                answer(body, read).await
            }
            ReadHoldings::NAME => answer(body, |request| holdings(db, request, now)).await,
            ReadSecurities::NAME => answer(body, |request| securities(db, request, now)).await,
            ReadOrders::NAME => answer(body, |request| read_orders(db, request, now)).await,
            PlaceOrder::NAME => answer(body, |request| place::place(db, request, now)).await,
            CloseOrder::NAME => answer(body, |request| place::cancel(db, request, now)).await,
            AddPayment::NAME => answer(body, |request| payments::add(db, request, now)).await,
            _ => self.of_the_market(operation, body, now).await,
        }
    }

    async fn health(&self) -> Reply {
        health(&self.state().await)
    }
}

impl Handler {
    /// Operations of the feed and the matching.
    async fn of_the_market(&self, operation: &str, body: &Bytes, now: i64) -> Reply {
        let db = &self.database;
        match operation {
            ReadQuote::NAME => {
                let read =
                    |request: ReadQuote| async move { prices::quote(db, &request.symbol).await };
                answer(body, read).await
            }
            ReadQuotes::NAME => answer(body, |_: ReadQuotes| prices::quotes(db)).await,
            RecordPrices::NAME => {
                let write = |request| async move {
                    prices::record(db, request, when::now_ms()).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            TakeLease::NAME => {
                let write =
                    |request| async move { leases::take(db, &request, when::now_ms()).await };
                answer(body, write).await
            }
            ReadMatching::NAME => answer(body, |request| orders::matching(db, request)).await,
            Execute::NAME => answer(body, |request| execute::execute(db, request, now)).await,
            Expire::NAME => {
                answer(body, |request: Expire| place::expire(db, request.term, now)).await
            }
            _ => self.of_deposits(operation, body, now).await,
        }
    }

    /// Operations of deposits by card.
    async fn of_deposits(&self, operation: &str, body: &Bytes, now: i64) -> Reply {
        let (db, now_ms) = (&self.database, when::now_ms());
        match operation {
            BeginDeposit::NAME => {
                answer(body, |request| deposits::begin(db, request, now, now_ms)).await
            }
            ReadDeposit::NAME => answer(body, |request| deposits::read(db, request, now)).await,
            ReadDeposits::NAME => answer(body, |request| deposits::list(db, request, now)).await,
            ReadWishes::NAME => answer(body, |request| deposits::due(db, request, now_ms)).await,
            NotePayment::NAME => {
                answer(body, |request| deposit_outcome::note(db, request, now, now_ms)).await
            }
            FailDeposit::NAME => {
                let write = |request| async move {
                    deposit_outcome::fail(db, request, now).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            PostponeWish::NAME => {
                let write = |request| async move {
                    deposits::postpone(db, request, now_ms).await.map(|()| Done {})
                };
                answer(body, write).await
            }
            _ => unknown(operation),
        }
    }

    async fn state(&self) -> Health {
        let answers = prices::recorded(&self.database).await;
        if let Err(error) = &answers
            && let Some(left_out) = SILENT.allows(Instant::now())
        {
            tracing::warn!(?error, left_out, "the database does not answer");
        }
        Health { tier: DATA.into(), ok: answers.is_ok(), next: None }
    }
}

async fn holdings(database: &Database, request: ReadHoldings, now: i64) -> Result<Holdings> {
    let customer = sessions::customer(database, &request.session, now).await?;
    let mut holdings = customers::holdings(database, customer).await?;
    let mut history = prices::history(database, customer).await?;
    for holding in &mut holdings {
        // A holding that is newer than the answer before has none.
        holding.history = history.prices.remove(&holding.security.symbol).unwrap_or_default();
    }
    Ok(Holdings {
        overview: customers::overview(database, customer).await?,
        holdings,
        history_since_ms: history.since_ms,
        recorded: prices::recorded(database).await?,
    })
}

async fn securities(database: &Database, request: ReadSecurities, now: i64) -> Result<Securities> {
    let customer = sessions::customer(database, &request.session, now).await?;
    Ok(Securities {
        available: customers::available(database, customer).await?,
        securities: prices::securities(database).await?,
        recorded: prices::recorded(database).await?,
    })
}

async fn read_orders(database: &Database, request: ReadOrders, now: i64) -> Result<Orders> {
    let ReadOrders { session, open, before, most } = request;
    let customer = sessions::customer(database, &session, now).await?;
    let (orders, more) = orders::read(database, customer, open, before, most).await?;
    Ok(Orders { orders, more, recorded: prices::recorded(database).await? })
}

async fn forget(database: Database) {
    loop {
        let now = when::now();
        if let Err(error) = sessions::forget_ended(&database, now).await {
            tracing::warn!(%error, "sessions that are over could not be forgotten; trying again");
        }
        if let Err(error) = deposit_outcome::forget_events(&database, now).await {
            tracing::warn!(%error, "old events of cards could not be forgotten; trying again");
        }
        tokio::time::sleep(FORGETTING).await;
    }
}
