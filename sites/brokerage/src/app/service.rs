//! The application tier as a service.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;

use super::audit::Audit;
use super::deposits::{Processor, Shared, Worker};
use super::matcher::Matcher;
use super::options::Options;
use crate::protocol::GetHealth;
use crate::protocol::deposits::front::{CreateDeposit, GetDeposit, GetDeposits, TakeEvent};
use crate::protocol::front::{
    CancelOrder, ChangePassword, CreateOrder, Credit, GetHistory, GetOpenOrders, GetOrderEntry,
    GetOverview, GetPortfolio, GetQuotes, SignIn, SignOut,
};
use crate::rpc::{answer_by_table, health, health_through};
use crate::tier::{APP, DATA, Running, WEB};
use tidegate_sitekit::link::{self, Client, ClientSide, Reply, ServerSide};
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::password::Hasher;
use tidegate_sitekit::server::{Peers, Server, Service, background};

/// Starts the application tier. The data tier may come later: until it can be reached,
/// requests fail.
///
/// # Errors
/// The files of the links or of the feed cannot be used; the address is in use or not of
/// this machine; a core does not exist.
pub fn start(options: Options) -> tidegate_sitekit::Result<Running> {
    options.check()?;
    let feed = options.feed.open()?;
    let front = ServerSide::new(options.front.spec, &options.front.files, APP, WEB)?
        .known_as(&options.known_as);
    let back = ClientSide::new(options.back.spec, &options.back.files, APP, DATA)?;
    let login_limit = Arc::new(LoginLimit::new(Instant::now()));
    let audit = Arc::new(Audit::default());
    let takes = options.password_cost.measure();
    let shared = Arc::new(Shared::default());
    let server = Server::start(options.listen, options.cores.as_deref(), None, |core| {
        let client = Client::new(back.clone(), &options.next, Options::DEADLINES)?;
        let processor = |card| Processor::new(card, client.clone(), Arc::clone(&shared));
        let cards = options.card.as_ref().map(processor).transpose()?;
        let background = (core == 0).then(|| {
            let matcher = Matcher::new(client.clone(), feed.clone(), options.interval);
            let worker = cards.clone().map(|cards| Worker::new(client.clone(), cards));
            background(run(matcher, worker))
        });
        let app = App(Arc::new(State {
            client,
            hasher: Hasher::new(options.password_cost, takes)?,
            login_limit: Arc::clone(&login_limit),
            audit: Arc::clone(&audit),
            interval: options.interval,
            cards,
        }));
        let front = front.clone();
        Ok(move || Service {
            tls: front.tls(),
            peers: Peers::Tiers,
            background,
            router: link::router(&front, app),
        })
    })?;
    Ok(Running::new(server))
}

/// What runs beside the requests.
async fn run(matcher: Matcher, worker: Option<Worker>) {
    match worker {
        Some(worker) => {
            tokio::join!(matcher.run(), worker.run());
        }
        None => matcher.run().await,
    }
}

/// The application tier of one core.
#[derive(Clone)]
pub struct App(Arc<State>);

/// Content of [`App`].
pub struct State {
    /// Calls the data tier.
    pub client: Client,
    /// Hashes passwords.
    pub hasher: Hasher,
    /// Limits guesses of passwords; of all cores.
    pub login_limit: Arc<LoginLimit>,
    /// Logs who signs in and who does not; of all cores.
    pub audit: Arc<Audit>,
    /// Time between two ticks of the feed.
    pub interval: Duration,
    /// The card processor, if there is one.
    pub cards: Option<Processor>,
}

impl std::ops::Deref for App {
    type Target = State;

    fn deref(&self) -> &State {
        &self.0
    }
}

impl link::Handler for App {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        answer_by_table! { operation, &body;
            GetHealth(_) => Ok(health_through(APP, &self.client).await);
            SignIn(it) => self.sign_in(it).await;
            ChangePassword(it) => self.change_password(it).await;
            SignOut(it) => self.sign_out(it).await;
            GetOverview(it) => self.overview(it).await;
            GetPortfolio(it) => self.portfolio(it).await;
            GetOpenOrders(it) => self.open_orders(it).await;
            GetHistory(it) => self.history(it).await;
            GetOrderEntry(it) => self.order_entry(it).await;
            CreateOrder(it) => self.create(it).await;
            CancelOrder(it) => self.cancel(it).await;
            GetQuotes(it) => self.quotes(it).await;
            Credit(it) => self.credit(it).await;
            GetDeposits(it) => self.deposits(it).await;
            GetDeposit(it) => self.deposit(it).await;
            CreateDeposit(it) => self.create_deposit(it).await;
            TakeEvent(it) => self.take_event(it).await;
        }
    }

    async fn health(&self) -> Reply {
        health(&health_through(APP, &self.client).await)
    }
}
