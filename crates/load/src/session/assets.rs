//! The assets of a page: requested at the same time, as browsers do, over several connections of
//! HTTP/1.1 or over one of HTTP/2.
//!
//! Deviation: a browser requests them as it finds them in the document, customers once the whole
//! document has come.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::pin::{Pin, pin};
use std::rc::Rc;
use std::task::Poll;
use std::time::Instant;

use super::in_flight::Opened;
use super::request::{Request, RequestBuilder};
use super::user_agent::{PageResponse, UserAgent};
use crate::client::connection::Connection;
use crate::outcome::{Failure, Outcome, Stage};
use crate::recorder::event::{EventKind, Request as RecordedRequest};
use crate::scenario::page::Method;

/// Most requests at a time over HTTP/2: what servers should allow.
///
/// Source: RFC 9113, section 6.5.2, `SETTINGS_MAX_CONCURRENT_STREAMS`.
const STREAMS: usize = 100;

/// An asset to request.
pub(super) struct Asset {
    /// Its index in the page.
    pub(super) index: u16,
    pub(super) request: Rc<Request>,
}

/// Whether an agent uses the connection of another one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Borrows {
    No,
    Yes,
    /// The connection ended before a request could be sent, which may be repeated elsewhere.
    Lost,
}

/// The assets that agents take one after the other.
struct Queue<'a> {
    left: RefCell<VecDeque<&'a Asset>>,
    /// The last byte of all so far.
    ended: Cell<Instant>,
    /// A failure of the load generator itself, which ends the session.
    failed: Cell<Option<Failure>>,
    /// Assets that have come.
    loaded: RefCell<Vec<u64>>,
}

/// The asset that an agent is requesting.
#[derive(Default)]
struct Pending {
    request: Cell<Option<Opened>>,
    stage: StageCell,
}

struct StageCell(Cell<Stage>);

impl Default for StageCell {
    fn default() -> Self {
        Self(Cell::new(Stage::Connect))
    }
}

impl UserAgent {
    /// Whether the customer has an asset from before.
    pub(super) fn has(&self, request: &Request) -> bool {
        self.class().session.assets_cached && self.cache.contains(&key(request))
    }

    /// Requests all assets of a page from `begun` to `deadline`. Returns the time of the last
    /// byte. Assets that fail are counted, and the session goes on.
    ///
    /// # Errors
    /// The patience ended, or the load generator failed: the session ends.
    pub(super) async fn load_assets(
        &mut self,
        assets: &[Asset],
        begun: Instant,
        deadline: Instant,
    ) -> Result<Instant, Outcome> {
        let queue = Queue {
            left: RefCell::new(assets.iter().collect()),
            ended: Cell::new(begun),
            failed: Cell::default(),
            loaded: RefCell::default(),
        };
        let mut timer = std::mem::take(&mut self.deadline);
        let most = assets.len().min(STREAMS);
        let pending: Vec<Pending> = (0..most).map(|_| Pending::default()).collect();
        let done = {
            let all = pin!(self.request_all(&queue, &pending));
            timer.until(deadline, all).await
        };
        self.deadline = timer;
        if self.class().session.assets_cached {
            self.cache.extend(queue.loaded.take());
        }
        if let Some(failure) = queue.failed.get() {
            return Err(Outcome::Failed(failure));
        }
        if done.is_some() {
            return Ok(queue.ended.get());
        }
        // Dropping the connections resets them.
        self.connection = None;
        self.further.clear();
        let mut stage = Stage::Connect;
        for pending in &pending {
            if let Some(opened) = pending.request.take() {
                stage = pending.stage.0.get();
                let recorded = self.context.open_requests.close(opened);
                let outcome = Some(Outcome::Abandoned(stage));
                self.context.record(EventKind::Request(RecordedRequest { outcome, ..recorded }));
            }
        }
        Err(Outcome::Abandoned(stage))
    }

    async fn request_all<'a>(&mut self, queue: &Queue<'a>, pending: &[Pending]) {
        // All are of one host.
        if let Some(asset) = queue.left.borrow().front() {
            self.go_to_host(asset.request.place.host);
        }
        let over_http2 = self.site().connector.is_http2();
        if over_http2 {
            if !self.is_connected() {
                self.request_one(queue, &pending[0]).await;
            }
            self.request_over_streams(queue, pending).await;
            // Those that were not sent because the server ended the connection.
            while self.request_one(queue, &pending[0]).await {}
            return;
        }
        let most = usize::from(self.context.definition.connections.parallel).min(pending.len());
        while self.further.len() + 1 < most {
            let further = self.another(None, Borrows::No);
            self.further.push(further);
        }
        // Taken away, because this agent is one of them.
        let mut further = std::mem::take(&mut self.further);
        for agent in &mut further {
            agent.go_to_host(self.host);
            agent.tickets = self.tickets.clone();
        }
        let own = std::iter::once(&mut *self);
        let agents = own.chain(&mut further).take(most);
        at_once(agents.zip(pending).map(|(agent, pending)| agent.request_each(queue, pending)))
            .await;
        self.further = further;
    }

    /// Over the connection of the document.
    async fn request_over_streams<'a>(&mut self, queue: &Queue<'a>, pending: &[Pending]) {
        let left = queue.left.borrow().len();
        let Some(connection) = &self.connection else { return };
        let shared = (0..left.min(pending.len())).filter_map(|_| connection.share());
        let mut agents: Vec<UserAgent> =
            shared.map(|connection| self.another(Some(connection), Borrows::Yes)).collect();
        let agents = agents.iter_mut().zip(pending);
        at_once(agents.map(|(agent, pending)| agent.request_each(queue, pending))).await;
    }

    /// Another agent of the same customer.
    fn another(&self, connection: Option<Connection>, borrows: Borrows) -> Self {
        let tickets = self.tickets.clone();
        let mut agent =
            Self::new(self.context.clone(), self.group, self.session, tickets, connection);
        agent.host = self.host;
        agent.cookies = self.cookies.clone();
        agent.admitted = true;
        agent.borrows = borrows;
        agent.line = self.line.another();
        agent
    }

    async fn request_each<'a>(&mut self, queue: &Queue<'a>, pending: &Pending) {
        while self.borrows != Borrows::Lost && self.request_one(queue, pending).await {}
    }

    /// Requests the next asset, if there is one, and records it.
    async fn request_one<'a>(&mut self, queue: &Queue<'a>, pending: &Pending) -> bool {
        let next = queue.left.borrow_mut().pop_front();
        let Some(asset) = next.filter(|_| queue.failed.get().is_none()) else { return false };
        let begun = Instant::now();
        let requests = &self.context.clone().open_requests;
        let intended = self.context.since_start(begun);
        let page = asset.request.page;
        self.asset = Some(asset.index);
        let sent = RecordedRequest::begun(self.session, self.group, page, intended);
        let asset_index = Some(asset.index);
        pending.request.set(Some(requests.open(RecordedRequest { asset: asset_index, ..sent })));
        let result = self.follow(&asset.request, begun, None, &pending.stage.0).await;
        let opened = pending.request.take().expect("set above, and nobody else takes it");
        let mut recorded = requests.close(opened);
        if self.borrows == Borrows::Lost {
            queue.left.borrow_mut().push_back(asset);
            return false;
        }
        match result {
            Ok(PageResponse { answer, unfollowed, .. }) => {
                recorded.answered(&answer);
                recorded.ok = answer.status < 400 && unfollowed.is_none();
                recorded.failed = unfollowed.map(|unfollowed| unfollowed.failure());
                queue.ended.set(queue.ended.get().max(answer.last_byte));
                if recorded.ok {
                    queue.loaded.borrow_mut().push(key(&asset.request));
                }
                self.keep_sample(&asset.request, &recorded);
                self.context.record_at(answer.last_byte, EventKind::Request(recorded));
            }
            Err(outcome) => {
                recorded.outcome = Some(outcome);
                self.keep_sample(&asset.request, &recorded);
                let now = Instant::now();
                queue.ended.set(queue.ended.get().max(now));
                self.context.record_at(now, EventKind::Request(recorded));
                if let Outcome::Failed(failure @ (Failure::NoPorts | Failure::NoResources)) =
                    outcome
                {
                    queue.failed.set(Some(failure));
                }
            }
        }
        true
    }
}

/// What is remembered of an asset: a collision would leave out one request.
fn key(request: &Request) -> u64 {
    let mut hasher = DefaultHasher::new();
    (request.place.host, &request.place.path).hash(&mut hasher);
    hasher.finish()
}

impl RequestBuilder<'_> {
    /// The request for an asset of a page; `None` if a value that it needs was never seen.
    pub(super) fn asset(&mut self, page: u16, asset: usize) -> Option<Request> {
        let template = &self.definition.pages[page as usize].assets[asset];
        let path = self.fill(template, None)?;
        let rules = &self.definition.pages[page as usize];
        let mut request = Request::new(page, Method::Get, rules.host, path);
        for field in rules.credentials() {
            request.headers.push(self.header(field).ok()?);
        }
        Some(request)
    }
}

/// Runs all to their ends. Each is polled whenever one of them can go on: they share a task, and
/// over HTTP/2 the connection wakes the one that looked at it last.
async fn at_once<F: Future<Output = ()>>(all: impl Iterator<Item = F>) {
    let mut all: Vec<Pin<Box<F>>> = all.map(Box::pin).collect();
    std::future::poll_fn(|cx| {
        loop {
            let before = all.len();
            all.retain_mut(|future| future.as_mut().poll(cx).is_pending());
            if all.is_empty() {
                return Poll::Ready(());
            }
            // One that has ended may have made room for another.
            if all.len() == before {
                return Poll::Pending;
            }
        }
    })
    .await;
}
