//! One customer: arrives, asks for pages as the last one offers, thinks,
//! loses patience, leaves.

use std::cell::Cell;
use std::pin::pin;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};

use crate::Rng;
use crate::client::{Answer, Broken, Connection, Exchange, Tickets, Trouble};
use crate::html;
use crate::outcome::{Failure, Outcome, Stage};
use crate::plan::Keep;
use crate::recorder::{Fallback, Group, Request as Recorded, What, Why};
use crate::run::worker::Shared;
use crate::scenario::walk::{Step, Walk};
use crate::scenario::{Answered, Class, Method, Rule, excerpt};
use crate::session::cookies::Cookies;
use crate::session::deadline::Deadline;
use crate::session::request::{Identity, LastUsed, Maker, NotMade, Origin, Request, resolve};

/// Most redirects followed for one request.
const REDIRECTS: u32 = 5;

/// A session in progress.
pub(crate) struct Customer {
    shared: Rc<Shared>,
    group: Group,
    identity: Identity,
    rng: Rng,
    walk: Walk<Rc<Request>>,
    last: LastUsed,
    cookies: Cookies,
    tickets: Arc<Tickets>,
    connection: Option<Connection>,
    /// Of her patience.
    deadline: Deadline,
    admitted: bool,
    max_requests: u32,
}

/// What a customer has from one session to the next.
#[derive(Default)]
pub(crate) struct Kept {
    connection: Option<Connection>,
    tickets: Option<Arc<Tickets>>,
    /// Who she is; otherwise that is drawn.
    customer: Option<u64>,
}

/// What is left of a session.
pub(crate) struct Left {
    pub(crate) kept: Kept,
    pub(crate) outcome: Outcome,
    customer: u64,
}

impl Left {
    /// The same customer, with nothing but her name.
    pub(crate) fn anew(self, shared: &Shared) -> Kept {
        self.kept.finish(shared);
        Kept { customer: Some(self.customer), ..Kept::default() }
    }
}

impl Kept {
    /// Waits, but notices if the server closes the connection.
    pub(crate) async fn rest_until(&mut self, shared: &Shared, at: Instant) {
        rest_until(shared, &mut self.connection, at).await;
    }

    /// Ends it well.
    pub(crate) fn finish(self, shared: &Shared) {
        finish(shared, self.connection);
    }
}

/// What one visit to a page gave, beside the figures.
struct Visit {
    answer: Answer,
    /// Where redirects led, if they did: links are relative to it.
    base: Option<String>,
}

impl Customer {
    /// `max_requests` may make the session shorter than the scenario does.
    pub(crate) fn new(
        shared: Rc<Shared>,
        session: u64,
        group: Group,
        max_requests: u32,
        kept: Kept,
    ) -> Self {
        let mut rng = Rng::seed_from_u64(shared.seed_of(session));
        let drawn = rng.random_range(1..=shared.customers);
        let customer = kept.customer.unwrap_or(drawn);
        let identity = Identity { customer, session, request: 0, run: shared.run };
        let rules = &shared.parts.classes[usize::from(group.class)];
        let (start, most) = (rules.start, rules.session.max_requests);
        let tickets = kept.tickets.unwrap_or_else(|| shared.connector.first_tickets());
        Self {
            shared,
            group,
            identity,
            rng,
            walk: Walk::new(start),
            last: LastUsed::default(),
            cookies: Cookies::default(),
            tickets,
            connection: kept.connection,
            deadline: Deadline::default(),
            admitted: false,
            max_requests: max_requests.min(most),
        }
    }

    /// Runs the session from its intended arrival to its end; gives how it
    /// ended, and what the customer keeps for the next.
    pub(crate) async fn run(&mut self, arrival: Instant) -> Left {
        if self.connection.as_mut().is_some_and(|open| !open.is_closed()) {
            self.admit();
        }
        let outcome = self.session(arrival).await;
        let (group, admitted) = (self.group, self.admitted);
        self.shared.record(What::Ended { group, outcome, admitted });
        // A connection that was abandoned or broke is gone already, by a reset.
        let (mut kept, connection) = (Kept::default(), self.connection.take());
        if self.shared.keep == Keep::Customer {
            (kept.connection, kept.tickets) = (connection, Some(self.tickets.clone()));
        } else {
            finish(&self.shared, connection);
        }
        Left { kept, outcome, customer: self.identity.customer }
    }

    fn admit(&mut self) {
        if !std::mem::replace(&mut self.admitted, true) {
            self.shared.record(What::Admitted { group: self.group });
        }
    }

    async fn session(&mut self, arrival: Instant) -> Outcome {
        let parts = self.shared.parts.clone();
        let class = &parts.classes[usize::from(self.group.class)];
        let mut intended = arrival;
        // A run lasts a day at most; who thinks holds as little as can be.
        let arrived_ms = self.shared.since_start(arrival).as_millis() as u32;
        let first = match self.start() {
            Ok(first) => first,
            Err(outcome) => return outcome,
        };
        self.walk.visit(class.start, first);
        loop {
            // In a place of its own, which who thinks does not hold: most customers think.
            intended = match Box::pin(self.ask(intended, arrived_ms)).await {
                Ok(at) => at,
                Err(outcome) => return outcome,
            };
            // Who thinks holds as little as can be.
            self.deadline = Deadline::default();
            rest_until(&self.shared, &mut self.connection, intended).await;
        }
    }

    /// Asks for one page after the other until she thinks; gives until when.
    ///
    /// # Errors
    /// The session has ended.
    async fn ask(&mut self, mut intended: Instant, arrived_ms: u32) -> Result<Instant, Outcome> {
        let parts = self.shared.parts.clone();
        let class = &parts.classes[usize::from(self.group.class)];
        loop {
            let Some(request) = self.walk.current().cloned() else {
                return Err(Outcome::Failed(Failure::Other));
            };
            // Where to go next is drawn now, so that a body is only kept if
            // the next request needs it.
            let next = self.walk.step(&class.course, self.max_requests, &mut self.rng);
            let keep = match next {
                Some(Step::Visit(page)) => parts.pages[page as usize].reads_last_page(),
                _ => false,
            };
            let keep = keep || parts.pages[request.page as usize].expected.reads_body();
            let mut body = if keep { self.shared.buffers.take() } else { Vec::new() };
            let visited = self.visit(&request, intended, keep.then_some(&mut body)).await;
            let gone = visited.and_then(|(ended, base)| match next {
                Some(step) if !self.has_lasted(step, arrived_ms, ended) => {
                    self.go(step, &body, base.as_deref().unwrap_or(&request.path))?;
                    Ok(ended)
                }
                _ => Err(Outcome::Completed),
            });
            if keep {
                self.shared.buffers.give(body);
            }
            intended = gone?;
            let think = self.think();
            intended += think;
            if think > Duration::ZERO {
                return Ok(intended);
            }
        }
    }

    /// Whether the session ends in place of this step.
    fn has_lasted(&self, step: Step, arrived_ms: u32, now: Instant) -> bool {
        let shared = &self.shared;
        self.class().lasting.is_some_and(|lasting| {
            let arrived = Duration::from_millis(arrived_ms.into());
            let after = shared.since_start(now).saturating_sub(arrived);
            lasting.ends(step, after, shared.time_scale, shared.seed_of(self.identity.session))
        })
    }

    /// Prepares the next request, from what the last page offers.
    ///
    /// # Errors
    /// There is none: the session ends so.
    fn go(&mut self, step: Step, body: &[u8], base: &str) -> Result<(), Outcome> {
        let shared = self.shared.clone();
        let may_repeat = |page: u16| shared.parts.pages[page as usize].repeat;
        match step {
            Step::Visit(page) => {
                if self.go_to(page, body, base)? {
                    return Ok(());
                }
                if self.class().course.steps().is_some() {
                    return Err(self.not_offered(page, body));
                }
                if let Some(via) = shared.parts.pages[page as usize].via
                    && self.go_to(via, body, base)?
                {
                    shared.record(What::Fallback(Fallback::Via));
                    return Ok(());
                }
                shared.record(What::Fallback(Fallback::Back));
            }
            Step::Again if may_repeat(self.walk.page()) => {
                self.walk.again();
                return Ok(());
            }
            Step::Again => shared.record(What::Fallback(Fallback::Back)),
            Step::Back => {}
        }
        if self.walk.back(may_repeat).is_none() {
            let first = self.start()?;
            self.walk.restart(first);
        }
        Ok(())
    }

    /// Makes the request for a page, if the last one offers a way there.
    fn go_to(&mut self, page: u16, body: &[u8], base: &str) -> Result<bool, Outcome> {
        let (request, origin) = match self.make(page, body, base) {
            Ok(made) => made,
            Err(NotMade::NotOffered) => return Ok(false),
            Err(NotMade::Unsendable) => return Err(self.unsendable(page)),
        };
        // A script goes by what the page offers, or not at all.
        if origin == Origin::LastId && self.class().course.steps().is_some() {
            return Ok(false);
        }
        if origin == Origin::LastId {
            self.shared.record(What::Fallback(Fallback::LastId));
        }
        self.walk.visit(page, request);
        Ok(true)
    }

    fn class(&self) -> &Class {
        &self.shared.parts.classes[usize::from(self.group.class)]
    }

    fn not_offered(&self, page: u16, body: &[u8]) -> Outcome {
        let follows = self.shared.parts.pages[page as usize].reads_last_page();
        self.shared.unmet(page, Why::NotOffered, || match follows {
            true => offers(body),
            false => "a value that no page has given yet is missing".to_owned(),
        });
        Outcome::Failed(Failure::NotOffered)
    }

    fn unsendable(&self, page: u16) -> Outcome {
        self.shared.unmet(page, Why::Unsendable, || "a value that cannot be sent".to_owned());
        Outcome::Failed(Failure::Unsendable)
    }

    fn make(
        &mut self,
        page: u16,
        body: &[u8],
        base: &str,
    ) -> Result<(Rc<Request>, Origin), NotMade> {
        let shared = &self.shared;
        if let Some(request) = shared.fixed.get(page) {
            return Ok((request, Origin::Offered));
        }
        self.identity.request = self.walk.requests();
        let mut maker = Maker {
            parts: &shared.parts,
            origin: &shared.target.origin,
            identity: &self.identity,
            last: &mut self.last,
            rng: &mut self.rng,
        };
        maker.make(page, body, base).map(|(request, origin)| (Rc::new(request), origin))
    }

    /// The request of the start page.
    fn start(&mut self) -> Result<Rc<Request>, Outcome> {
        let page = self.class().start;
        match self.make(page, &[], "/") {
            Ok((request, _)) => Ok(request),
            Err(NotMade::Unsendable) => Err(self.unsendable(page)),
            Err(NotMade::NotOffered) => Err(self.not_offered(page, &[])),
        }
    }

    /// The think time before the next page.
    fn think(&mut self) -> Duration {
        let shared = self.shared.clone();
        let class = &shared.parts.classes[usize::from(self.group.class)];
        let steps = class.course.steps();
        // The walk has counted the request that comes.
        let step =
            steps.and_then(|steps| steps.get((self.walk.requests() as usize).checked_sub(1)?));
        let page = shared.parts.pages[self.walk.page() as usize].think;
        let mean = step.and_then(|step| step.think).or(page).unwrap_or(class.session.think);
        shared.think(mean, class.session.think_cap, &mut self.rng)
    }

    /// One request from its intended start to its last byte. Gives the time
    /// of that, and the path of the page if redirects led elsewhere.
    async fn visit(
        &mut self,
        request: &Request,
        intended: Instant,
        mut keep: Option<&mut Vec<u8>>,
    ) -> Result<(Instant, Option<String>), Outcome> {
        let shared = self.shared.clone();
        let begun = Instant::now();
        let (intended_at, begun_at) = (shared.since_start(intended), shared.since_start(begun));
        let late = begun_at.saturating_sub(intended_at);
        shared.record_since_start(begun_at, What::Begun { late });
        let stage = Cell::new(Stage::Connect);
        let patience = shared.patience[usize::from(self.group.class)];
        let (mut now, mut deadline) = (begun, intended + patience);
        let mut timer = std::mem::take(&mut self.deadline);
        let mut reloads = self.class().session.impatience.reloads();
        let result = loop {
            let result = {
                let attempt = pin!(self.follow(request, now, keep.as_deref_mut(), &stage));
                timer.until(deadline, attempt).await
            };
            if let Some(result) = result {
                break result;
            }
            // Dropping the connection resets it.
            self.connection = None;
            if reloads == 0 {
                break Err(Outcome::Abandoned(stage.get()));
            }
            reloads -= 1;
            shared.record(What::Reloaded { group: self.group });
            if let Some(kept) = keep.as_deref_mut() {
                kept.clear();
            }
            now = Instant::now();
            deadline = now + patience;
        };
        self.deadline = timer;
        let mut recorded = Recorded {
            session: self.identity.session,
            group: self.group,
            page: request.page,
            intended: intended_at,
            late,
            status: 0,
            ok: false,
            outcome: None,
            first_byte: Duration::ZERO,
            last_byte: Duration::ZERO,
            received_bytes: 0,
        };
        match result {
            Ok(Visit { answer, base }) => {
                let status = answer.status;
                let page = &shared.parts.pages[request.page as usize];
                let allowed = page.allow.contains(&status) || page.expected.allows(status);
                let judged = match status < 400 || allowed {
                    true => self.judge(request.page, &answer, keep.as_deref().map_or(&[], |b| b)),
                    false if status < 500 => Err(Failure::Status4xx),
                    false => Err(Failure::Status5xx),
                };
                recorded.status = status;
                recorded.ok = judged.is_ok();
                recorded.first_byte = answer.first_byte - answer.sent;
                recorded.last_byte = answer.last_byte - answer.first_byte;
                recorded.received_bytes = answer.received_bytes;
                shared.record_at(answer.last_byte, What::Request(recorded));
                judged.map(|()| (answer.last_byte, base)).map_err(Outcome::Failed)
            }
            Err(outcome) => {
                recorded.outcome = Some(outcome);
                shared.record(What::Request(recorded));
                Err(outcome)
            }
        }
    }

    /// Holds an answer against what the page expects, and takes in its values.
    fn judge(&mut self, page: u16, answer: &Answer, body: &[u8]) -> Result<(), Failure> {
        let expected = &self.shared.parts.pages[page as usize].expected;
        if expected.rules().is_empty() {
            return Ok(());
        }
        let answered = Answered::new(answer.status, answer.headers(), body);
        let last = &mut self.last;
        expected.judge(&answered, |parameter, value| last.extract(parameter, value)).map_err(|n| {
            let rule = &expected.rules()[n];
            self.shared.unmet(page, Why::Rule(n as u16), || rule.came(&answered));
            match rule {
                Rule::Check(_) => Failure::Check,
                Rule::Extract(..) => Failure::Extraction,
            }
        })
    }

    /// Sends a request now and follows where it is redirected to.
    async fn follow(
        &mut self,
        request: &Request,
        now: Instant,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Visit, Outcome> {
        let answer = self.send(request, now, keep.as_deref_mut(), stage).await?;
        let visit = Visit { answer, base: None };
        if !visit.answer.is_redirect() || !self.class().session.follow_redirects {
            return Ok(visit);
        }
        // Boxed, so that other requests carry no room for it.
        Box::pin(self.redirect(request, visit, keep, stage)).await
    }

    async fn redirect(
        &mut self,
        request: &Request,
        mut visit: Visit,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Visit, Outcome> {
        let mut redirected: Option<Request> = None;
        for _ in 0..REDIRECTS {
            let status = visit.answer.status;
            if !visit.answer.is_redirect() {
                break;
            }
            let fields = visit.answer.fields.as_mut();
            let Some(location) = fields.and_then(|fields| fields.location.take()) else { break };
            let current = redirected.as_ref().unwrap_or(request);
            let Some(path) = resolve(&location, &current.path, &self.shared.target.origin) else {
                break;
            };
            let current = redirected.insert(current.redirected(path.into_owned(), status));
            if let Some(kept) = keep.as_deref_mut() {
                kept.clear();
            }
            self.shared.record(What::Redirect);
            let first = (visit.answer.sent, visit.answer.first_byte, visit.answer.received_bytes);
            let headers = visit.answer.fields.take().map_or_else(Vec::new, |fields| fields.headers);
            let now = visit.answer.last_byte;
            visit.answer = self.send(current, now, keep.as_deref_mut(), stage).await?;
            if !headers.is_empty() {
                visit.answer.fields.get_or_insert_default().headers.splice(0..0, headers);
            }
            // The customer sees one request: its first byte is the first one
            // of all, its bytes are all of them.
            (visit.answer.sent, visit.answer.first_byte) = (first.0, first.1);
            visit.answer.received_bytes += first.2;
            visit.base = Some(current.path.clone());
        }
        Ok(visit)
    }

    /// Sends one request, now or as soon as there is a connection; once more on a new
    /// one if the server had just closed the one at hand.
    async fn send(
        &mut self,
        request: &Request,
        now: Instant,
        mut keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Answer, Outcome> {
        let shared = self.shared.clone();
        let bytes = request.bytes(&shared.headers, &self.cookies);
        let mut old = self.connection.as_mut().is_some_and(|open| !open.is_closed());
        let mut sent = now;
        loop {
            if !old {
                self.connection = None;
                // Boxed, so that those who have a connection carry no room for making one.
                self.connection = Some(Box::pin(self.connect(stage)).await?);
                sent = Instant::now();
            }
            let connection = self.connection.as_mut().expect("made above, or found open");
            let mut buffer = self.shared.buffers.take();
            let exchange = Exchange {
                bytes: &bytes,
                sent,
                head_only: request.method == Method::Head,
                headers: shared.parts.pages[request.page as usize].expected.headers(),
                keep: keep.as_deref_mut(),
                buffer: &mut buffer,
                last_head: &shared.last_head,
                stage,
            };
            let result = exchange.run(connection).await;
            self.shared.buffers.give(buffer);
            match result {
                Ok(answer) => {
                    if !answer.reusable || self.shared.keep == Keep::Request {
                        finish(&self.shared, self.connection.take());
                    }
                    if let Some(fields) = &answer.fields {
                        self.cookies.take(&fields.cookies);
                    }
                    return Ok(answer);
                }
                Err(Broken {
                    failure: Failure::Reset | Failure::Closed | Failure::GoAway,
                    unanswered: true,
                }) if old => {
                    old = false;
                    self.shared.record(What::Retry);
                }
                Err(broken) => {
                    self.connection = None;
                    return Err(Outcome::Failed(broken.failure));
                }
            }
        }
    }

    async fn connect(&mut self, stage: &Cell<Stage>) -> Result<Connection, Outcome> {
        let shared = &self.shared;
        let hello = |offered| shared.record(What::Hello { offered });
        match shared.connector.connect(&self.tickets, stage, hello).await {
            Ok((connection, made)) => {
                shared.record(What::Connected { took: made.connect });
                if let Some(shaken) = made.handshake {
                    shared.record(What::Handshaken(shaken));
                }
                self.admit();
                Ok(connection)
            }
            Err(Trouble::Refused(_)) if self.admitted => {
                Err(Outcome::Failed(Failure::ReturningRefused))
            }
            Err(Trouble::Refused(kind)) => Err(Outcome::Refused(kind)),
            Err(Trouble::Failed(kind, _)) => Err(Outcome::Failed(kind)),
        }
    }
}

/// Waits, but notices if the server closes the connection, or the run ends.
async fn rest_until(shared: &Shared, connection: &mut Option<Connection>, at: Instant) {
    let mut alarm = pin!(shared.clock.at(at));
    if let Some(open) = connection {
        tokio::select! {
            biased;
            () = &mut alarm => return,
            () = shared.clock.over() => {
                finish(shared, connection.take());
                return std::future::pending().await;
            }
            () = open.closed() => {}
        }
        finish(shared, connection.take());
    }
    alarm.await;
}

/// Links and forms of a page, the first of them, for somebody to read.
fn offers(body: &[u8]) -> String {
    let mut all = Vec::new();
    html::links(body, |href| all.push(href.into_owned()));
    all.extend(html::forms(body, |_| true).into_iter().map(|form| format!("form {}", form.action)));
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { "no link or form".to_owned() } else { excerpt(all.join(", ").as_bytes()) }
}

/// Closes a connection that has served its purpose.
fn finish(shared: &Shared, connection: Option<Connection>) {
    if let Some(connection) = connection {
        connection.finish(shared.close);
    }
}
