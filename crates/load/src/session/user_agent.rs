//! The customer's user agent: sends one request from its intended start to its last byte,
//! with connections, reloads, redirects and checks.

use std::cell::{Cell, RefCell};
use std::collections::BTreeSet;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Instant;

use super::assets::Borrows;
use super::context::{Site, ThreadContext};
use super::cookies::Cookies;
use super::deadline::Deadline;
use super::last_used::LastUsed;
use super::line::AgentLine;
use super::place::Place;
use super::redirect::{Redirect, Unfollowed};
use super::request::Request;
use super::returning::{HostState, finish, rest_until};
use super::sample::Exchanged;
use crate::client::channel::Channel;
use crate::client::connection::{ConnectError, Connection};
use crate::client::connections::KeepAlive;
use crate::client::http::coding::Coding;
use crate::client::http::exchange::{Answer, Exchange, Seen, Watch};
use crate::client::tls::tickets::Tickets;
use crate::outcome::{Cause, Failure, Outcome, Stage};
use crate::recorder::event::{EventKind, Expectation, Request as RecordedRequest, SessionGroup};
use crate::scenario::class::Class;
use crate::scenario::expected::{Answered, Rule, excerpt};
use crate::scenario::page::Method;

/// Most redirects followed for one request.
const REDIRECTS: u32 = 5;

/// The connection of a session and what belongs to it.
pub(crate) struct UserAgent {
    pub(crate) context: Rc<ThreadContext>,
    pub(crate) group: SessionGroup,
    /// Number of the session.
    pub(super) session: u64,
    /// Those of all agents of a customer.
    pub(super) cookies: Rc<RefCell<Cookies>>,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) connection: Option<Connection>,
    /// The open WebSocket or stream of events.
    pub(super) channel: Option<Box<Channel>>,
    /// When the next request could begin at the earliest, if not at its intended start.
    pub(super) due: Option<Instant>,
    /// The host that `tickets` and `connection` are of.
    pub(super) host: u8,
    /// Those of the other hosts that it has requested.
    pub(crate) others: Vec<HostState>,
    /// Timer of the patience.
    pub(super) deadline: Deadline,
    /// The first handshake is complete.
    pub(crate) admitted: bool,
    /// A request of the session was answered.
    pub(super) inside: bool,
    /// Further agents of the customer with a connection each, for the assets of pages.
    pub(super) further: Vec<UserAgent>,
    /// Assets that the customer has, by [`key`](super::assets).
    pub(super) cache: BTreeSet<u64>,
    /// What it does, where that is traced.
    pub(crate) line: AgentLine,
    /// The connection is another agent's, and this one opens none in its place.
    pub(super) borrows: Borrows,
    /// The asset of a page that it requests.
    pub(super) asset: Option<u16>,
    /// Its last request, as far as it is kept for a sample.
    pub(super) last: Option<Box<Exchanged>>,
}

/// A page that was answered.
pub(super) struct Visited {
    /// The time of the last byte.
    pub(super) ended: Instant,
    /// The page after redirects, if there were any.
    pub(super) base: Option<Place>,
    /// When the patience ends.
    pub(super) deadline: Instant,
}

/// The response of a page.
pub(super) struct PageResponse {
    pub(super) answer: Answer,
    /// The page after redirects, if there were any: the base of links.
    base: Option<Place>,
    /// Why its redirect was not followed.
    pub(super) unfollowed: Option<Unfollowed>,
}

impl UserAgent {
    pub(crate) fn new(
        context: Rc<ThreadContext>,
        group: SessionGroup,
        session: u64,
        tickets: Arc<Tickets>,
        connection: Option<Connection>,
    ) -> Self {
        Self {
            context,
            group,
            session,
            cookies: Rc::default(),
            tickets,
            connection,
            channel: None,
            due: None,
            host: 0,
            others: Vec::new(),
            deadline: Deadline::default(),
            admitted: false,
            inside: false,
            further: Vec::new(),
            cache: BTreeSet::new(),
            line: AgentLine::default(),
            borrows: Borrows::No,
            asset: None,
            last: None,
        }
    }

    pub(crate) fn class(&self) -> &Class {
        &self.context.definition.classes[usize::from(self.group.class)]
    }

    /// What customers share about the host of `connection`.
    pub(super) fn site(&self) -> &Site {
        &self.context.sites[usize::from(self.host)]
    }

    /// Puts the connection and the tickets of another host in place of those of this one.
    pub(crate) fn go_to_host(&mut self, host: u8) {
        if self.host == host {
            return;
        }
        let before = HostState {
            host: std::mem::replace(&mut self.host, host),
            tickets: self.tickets.clone(),
            connection: self.connection.take(),
        };
        match self.others.iter_mut().find(|other| other.host == host) {
            Some(other) => {
                let HostState { tickets, connection, .. } = std::mem::replace(other, before);
                (self.tickets, self.connection) = (tickets, connection);
            }
            None => {
                self.others.push(before);
                self.tickets = self.site().connector.first_tickets();
            }
        }
    }

    /// Whether there is a connection that the server has not closed.
    pub(crate) fn is_connected(&mut self) -> bool {
        self.connection.as_mut().is_some_and(|connection| !connection.is_closed())
    }

    /// Records the admission of the session, once.
    pub(crate) fn admit(&mut self) {
        if !std::mem::replace(&mut self.admitted, true) {
            self.context.record(EventKind::Admitted { group: self.group });
        }
    }

    /// Waits while the customer thinks.
    pub(crate) fn rest_until(&mut self, at: Instant) -> impl Future<Output = ()> + '_ {
        // A thinking customer holds as little memory as possible.
        self.deadline = Deadline::default();
        rest_until(&self.context, &mut self.connection, &mut self.others, at)
    }

    /// Sends one request and records it. It is sent again up to `reloads` times, which that
    /// reduces. Values that the page's rules extract go to `last`.
    ///
    /// # Errors
    /// The session ends.
    pub(crate) async fn visit(
        &mut self,
        request: &Request,
        intended: Instant,
        mut keep: Option<&mut Vec<u8>>,
        last: &mut LastUsed,
        reloads: &mut u32,
    ) -> Result<Visited, Outcome> {
        let context = self.context.clone();
        self.asset = None;
        let begun = Instant::now();
        let (intended_at, begun_at) = (context.since_start(intended), context.since_start(begun));
        let due = self.due.take().map_or(intended_at, |due| context.since_start(due));
        let late = begun_at.saturating_sub(due);
        context.log.record(begun_at, EventKind::Begun { late });
        let sent = RecordedRequest::begun(self.session, self.group, request.page, intended_at);
        let opened = context.open_requests.open(RecordedRequest { late, ..sent });
        let stage = Cell::new(Stage::Connect);
        let patience = context.patience[usize::from(self.group.class)];
        let (mut now, mut deadline) = (begun, intended + patience);
        let mut timer = std::mem::take(&mut self.deadline);
        let mut waiting = None;
        let result = loop {
            let result = {
                let attempt = pin!(self.follow(request, now, keep.as_deref_mut(), &stage));
                timer.until(deadline, attempt).await
            };
            if let Some(result) = result {
                match self.waits(&mut waiting, &result).await {
                    None => break result,
                    Some(Err(outcome)) => break Err(outcome),
                    Some(Ok(())) => {}
                }
            } else {
                // Dropping the connection resets it.
                self.connection = None;
                if *reloads == 0 {
                    break Err(Outcome::Abandoned(stage.get()));
                }
                *reloads -= 1;
                context.record(EventKind::Reloaded { group: self.group });
            }
            if let Some(kept) = keep.as_deref_mut() {
                kept.clear();
            }
            now = Instant::now();
            deadline = now + patience;
        };
        self.deadline = timer;
        let mut recorded = context.open_requests.close(opened);
        if let (Some(waiting), Ok(_)) = (&waiting, &result) {
            // The wait is the room's, and the response time that of the request that was let in.
            recorded.intended = context.since_start(now);
            self.let_in(waiting);
        }
        match result {
            Ok(PageResponse { answer, base, unfollowed }) => {
                let status = answer.status;
                let page = &context.definition.pages[request.page as usize];
                let allowed = page.allow.contains(&status) || page.expected.allows(status);
                let decoded = match (answer.coding, keep.as_deref_mut()) {
                    (Coding::Identity, _) | (_, None) => Ok(0),
                    (coding, Some(body)) => coding.decode_in_place(body).ok_or(Failure::Decoding),
                };
                let body = keep.as_deref().map_or(&[][..], |body| body);
                let checked = match unfollowed.filter(|_| !allowed) {
                    Some(unfollowed) => Err(self.unfollowed(request.page, status, &unfollowed)),
                    None if status < 400 || allowed => {
                        decoded.and_then(|_| self.check(request.page, &answer, body, last))
                    }
                    None if status < 500 => Err(Failure::Status4xx),
                    None => Err(Failure::Status5xx),
                };
                recorded.answered(&answer);
                recorded.ok = checked.is_ok();
                self.inside |= recorded.ok;
                recorded.failed = checked.err();
                recorded.decoded_bytes = decoded.unwrap_or_default();
                self.keep_sample(request, &recorded);
                context.record_at(answer.last_byte, EventKind::Request(recorded));
                let ended = answer.last_byte;
                checked.map(|()| Visited { ended, base, deadline }).map_err(Outcome::Failed)
            }
            Err(outcome) => {
                recorded.outcome = Some(outcome);
                self.keep_sample(request, &recorded);
                context.record(EventKind::Request(recorded));
                Err(outcome)
            }
        }
    }

    /// Checks a response against the rules of its page, and extracts values.
    fn check(
        &self,
        page: u16,
        answer: &Answer,
        body: &[u8],
        last: &mut LastUsed,
    ) -> Result<(), Failure> {
        let expected = &self.context.definition.pages[page as usize].expected;
        if expected.rules().is_empty() {
            return Ok(());
        }
        let answered = Answered::new(answer.status, answer.headers(), body);
        let extract = |parameter, value: &str| last.extract(parameter, value);
        let missed = |index: usize| {
            let found = || expected.rules()[index].found(&answered);
            self.context.check_failed(page, Expectation::Soft(index as u16), found);
        };
        expected.check(&answered, missed, extract).map_err(|index| {
            let rule = &expected.rules()[index];
            let expectation = Expectation::Rule(index as u16);
            self.context.check_failed(page, expectation, || rule.found(&answered));
            match rule {
                Rule::Check(_) | Rule::Soft(_) => Failure::Check,
                Rule::Extract(..) => Failure::Extraction,
            }
        })
    }

    /// Notes a redirect that was not followed.
    fn unfollowed(&self, page: u16, status: u16, unfollowed: &Unfollowed) -> Failure {
        if let Unfollowed::Elsewhere(address) = unfollowed {
            let found = || excerpt(format!("status {status} to {address}").as_bytes());
            self.context.check_failed(page, Expectation::Here, found);
        }
        unfollowed.failure()
    }

    /// Sends a request and follows its redirects.
    pub(super) async fn follow(
        &mut self,
        request: &Request,
        now: Instant,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<PageResponse, Outcome> {
        let answer = self.answer(request, now, keep.as_deref_mut(), stage).await?;
        let response = PageResponse { answer, base: None, unfollowed: None };
        if !response.answer.is_redirect() || !self.class().session.follow_redirects {
            return Ok(response);
        }
        // Boxed, so that other requests need no room for it.
        Box::pin(self.redirect(request, response, keep, stage)).await
    }

    async fn redirect(
        &mut self,
        request: &Request,
        mut response: PageResponse,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<PageResponse, Outcome> {
        let mut redirected: Option<Request> = None;
        for followed in 0.. {
            let status = response.answer.status;
            if !response.answer.is_redirect() {
                break;
            }
            let fields = response.answer.fields.as_mut();
            let Some(location) = fields.and_then(|fields| fields.location.take()) else { break };
            let current = redirected.as_ref().unwrap_or(request);
            let place = match Redirect::of(&location, &current.place, &self.context.origins) {
                Redirect::Within(place) if followed < REDIRECTS => place,
                Redirect::Within(_) => {
                    response.unfollowed = Some(Unfollowed::Loop);
                    break;
                }
                Redirect::Elsewhere(address) => {
                    response.unfollowed = Some(Unfollowed::Elsewhere(address));
                    break;
                }
            };
            let current = redirected.insert(current.redirected(place, status));
            if let Some(kept) = keep.as_deref_mut() {
                kept.clear();
            }
            self.context.record(EventKind::Redirect);
            let before = &mut response.answer;
            let first = (before.sent, before.first_byte, before.received_bytes);
            let headers = before.fields.take().map_or_else(Vec::new, |fields| fields.headers);
            let now = before.last_byte;
            response.answer = self.send(current, now, keep.as_deref_mut(), stage).await?;
            let answer = &mut response.answer;
            if !headers.is_empty() {
                answer.fields.get_or_insert_default().headers.splice(0..0, headers);
            }
            // To the customer it is one request: the first byte is that of the first
            // response, and all bytes count.
            (answer.sent, answer.first_byte) = (first.0, first.1);
            answer.received_bytes += first.2;
            response.base = Some(current.place.clone());
        }
        Ok(response)
    }

    /// Sends one request, on a new connection if there is none. Repeats it once on a new
    /// connection if the server has just closed the old one, unless it may have processed
    /// a request that is not idempotent.
    pub(super) async fn send(
        &mut self,
        request: &Request,
        now: Instant,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Answer, Outcome> {
        let context = self.context.clone();
        self.go_to_host(request.place.host);
        let origin = &context.origins[usize::from(self.host)];
        let bytes = request.bytes(&self.site().headers, &self.cookies.borrow(), origin);
        self.last = None;
        let (asset, session) = (self.asset, self.session);
        let shows = |status| context.shows(request.page, asset, session, status);
        let mut reused = self.is_connected();
        let mut sent = now;
        loop {
            if !reused && self.borrows != Borrows::No {
                self.borrows = Borrows::Lost;
                return Err(Outcome::Failed(Failure::GoAway));
            }
            if !reused {
                self.connection = None;
                // Boxed, so that requests on an open connection need no room for it.
                self.connection = Some(Box::pin(self.connect(stage, request, &bytes)).await?);
                sent = Instant::now();
            }
            let bytes = self.line.sends(&bytes);
            let connection = self.connection.as_mut().expect("made above, or found open");
            let mut buffer = context.buffers.take();
            let mut seen = Seen::default();
            let exchange = Exchange {
                bytes: &bytes,
                sent,
                head_only: request.method == Method::Head,
                headers: context.definition.pages[request.page as usize].expected.headers(),
                keep: keep.as_deref_mut(),
                buffer: &mut buffer,
                last_head: &context.last_head,
                stage,
                watch: Watch { shows: &shows, seen: &mut seen },
            };
            let result = connection.exchange(exchange).await;
            match &result {
                Ok(answer) if !seen.head.is_empty() => {
                    let kept = keep.as_deref().map(|kept| &kept[..]);
                    let exchanged = Exchanged::new(&bytes, seen, answer.coding, kept);
                    self.exchanged(request, exchanged, None);
                }
                Ok(_) => {}
                Err(error) => {
                    let cause = Cause::Failed(error.failure);
                    self.unanswered(request, &bytes, cause, &buffer, String::new());
                }
            }
            context.buffers.put_back(buffer);
            match result {
                Ok(answer) => {
                    self.line.answered(&answer);
                    if !answer.reusable || context.keep == KeepAlive::Request {
                        finish(&context, self.connection.take());
                    }
                    if let Some(fields) = &answer.fields {
                        let mut cookies = self.cookies.borrow_mut();
                        let replaces = context.definition.gives_cookies;
                        cookies.add(&fields.cookies, origin, &request.place.path, replaces);
                    }
                    return Ok(answer);
                }
                Err(error) if reused && error.may_be_repeated(request.method) => {
                    reused = false;
                    context.record(EventKind::Retry);
                }
                Err(error) => {
                    self.connection = None;
                    return Err(Outcome::Failed(error.failure));
                }
            }
        }
    }

    pub(super) async fn connect(
        &mut self,
        stage: &Cell<Stage>,
        request: &Request,
        bytes: &[u8],
    ) -> Result<Connection, Outcome> {
        self.line.connects();
        let begun = Instant::now();
        let context = &self.context;
        let progress = |step| context.record(EventKind::from(step));
        match self.site().connector.connect(&self.tickets, stage, progress).await {
            Ok((connection, made)) => {
                self.line.connected(begun, &made);
                let (took, address) = (made.connect, made.address);
                context.record(EventKind::Connected { took, address });
                if let Some(handshake) = made.handshake {
                    context.record(EventKind::Handshake(handshake));
                }
                self.admit();
                Ok(connection)
            }
            Err(ConnectError::Refused(_)) if self.admitted => {
                Err(Outcome::Failed(Failure::ReturningRefused))
            }
            Err(ConnectError::Refused(kind)) => {
                self.unanswered(request, bytes, Cause::Refused(kind), &[], String::new());
                Err(Outcome::Refused(kind))
            }
            Err(ConnectError::Failed(kind, error)) => {
                self.unanswered(request, bytes, Cause::Failed(kind), &[], error);
                Err(Outcome::Failed(kind))
            }
        }
    }
}
