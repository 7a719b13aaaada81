//! The data tier as a service: a table of its operations, each a function of the store.

use std::time::Duration;
use tidegate_sitekit::log_seldom;

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
use crate::protocol::{Done, GetHealth, Health};
use crate::rpc::{answer_by_table, health};
use crate::tier::{APP, DATA, Running};
use tidegate_sitekit::database::Database;
use tidegate_sitekit::link::{self, Reply, ServerSide};
use tidegate_sitekit::server::{Peers, Server, Service, background, runtimes};
use tidegate_sitekit::when;

/// How often sessions that are over, and old events, are forgotten.
const FORGETTING: Duration = Duration::from_secs(60);

/// Prepares the database, as [`prepare`] does, and starts the data tier.
///
/// # Errors
/// Those of [`prepare`]; the files of the link cannot be used; the address is in use or not
/// of this machine; a core does not exist.
pub fn start(options: Options) -> tidegate_sitekit::Result<(Running, Prepared)> {
    let prepared = prepare(&options)?;
    let side = ServerSide::new(options.link.spec, &options.link.files, DATA, APP)?
        .known_as(&options.known_as);
    let cores = options.cores.as_deref();
    let mut databases = Database::for_cores(&prepared.location, runtimes(cores)?).into_iter();
    let server = Server::start(options.listen, cores, None, |core| {
        let database = databases.next().expect("one for each core");
        let side = side.clone();
        Ok(move || Service {
            tls: side.tls(),
            peers: Peers::Tiers,
            background: (core == 0).then(|| background(forget(database.clone()))),
            router: link::router(&side, Handler { database }),
        })
    })?;
    Ok((Running::new(server), prepared))
}

/// Answers the operations of one core.
#[derive(Clone)]
struct Handler {
    database: Database,
}

impl link::Handler for Handler {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        let (db, now, now_ms) = (&self.database, when::now(), when::now_ms());
        answer_by_table! { operation, &body;
            GetHealth(_) => Ok(self.state().await);
            GetCredentials(it) => customers::credentials(db, &it.user).await;
            RenewPassword(it) => done(customers::renew_password(db, &it).await);
            ReadAccount(it) => passwords::account(db, &it.session, now).await;
            ReplacePassword(it) => done(passwords::replace(db, &it, now).await);
            OpenSession(it) => sessions::open(db, it, now).await;
            CloseSession(it) => done(sessions::close(db, &it.session).await);
            ReadOverview(it) => {
                let customer = sessions::customer(db, &it.session, now).await?;
                customers::overview(db, customer).await
            };
            ReadHoldings(it) => holdings(db, it, now).await;
            ReadSecurities(it) => securities(db, it, now).await;
            ReadOrders(it) => read_orders(db, it, now).await;
            PlaceOrder(it) => place::place(db, it, now).await;
            CloseOrder(it) => place::cancel(db, it, now).await;
            AddPayment(it) => payments::add(db, it, now).await;

            ReadQuote(it) => prices::quote(db, &it.symbol).await;
            ReadQuotes(_) => prices::quotes(db).await;
            RecordPrices(it) => done(prices::record(db, it, now_ms).await);
            TakeLease(it) => leases::take(db, &it, now_ms).await;
            ReadMatching(it) => orders::matching(db, it).await;
            Execute(it) => execute::execute(db, it, now).await;
            Expire(it) => place::expire(db, it.term, now).await;

            BeginDeposit(it) => deposits::begin(db, it, now, now_ms).await;
            ReadDeposit(it) => deposits::read(db, it, now).await;
            ReadDeposits(it) => deposits::list(db, it, now).await;
            ReadWishes(it) => deposits::due(db, it, now_ms).await;
            NotePayment(it) => deposit_outcome::note(db, it, now, now_ms).await;
            FailDeposit(it) => done(deposit_outcome::fail(db, it, now).await);
            PostponeWish(it) => done(deposits::postpone(db, it, now_ms).await);
        }
    }

    async fn health(&self) -> Reply {
        health(&self.state().await)
    }
}

fn done(result: Result<()>) -> Result<Done> {
    result.map(|()| Done {})
}

impl Handler {
    async fn state(&self) -> Health {
        let answers = prices::recorded(&self.database).await;
        if let Err(error) = &answers {
            // Whoever asks for `/healthz` causes it.
            log_seldom!(warn, ?error, "the database does not answer");
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
