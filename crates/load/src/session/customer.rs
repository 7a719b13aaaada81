//! A customer: arrives, requests pages as the last page offers them, thinks, loses patience,
//! leaves.

use std::rc::Rc;
use std::time::{Duration, Instant};

use rand::{RngExt, SeedableRng};
use tidegate_stats::Observation;

use super::assets::Asset;
use super::context::ThreadContext;
use super::in_flight::OpenPage;
use super::last_used::LastUsed;
use super::place::Place;
use super::request::{Identity, NotMade, Origin, Request, RequestBuilder};
use super::returning::{Departure, ReturningState, finish};
use super::user_agent::UserAgent;
use crate::client::connections::KeepAlive;
use crate::html;
use crate::outcome::{Failure, Outcome};
use crate::recorder::event::{EventKind, Expectation, Fallback, SessionGroup};
use crate::rng::Rng;
use crate::scenario::class::Class;
use crate::scenario::expected::excerpt;
use crate::scenario::page::ChannelUse;
use crate::scenario::walk::{Step, Walk};

/// Numbers of sessions differ by this from those of the same customer's earlier ones, before a
/// return. No run has as many sessions.
pub(crate) const RETURNED: u64 = 1_000_000_000_000;

/// A session in progress.
pub(crate) struct Customer {
    agent: UserAgent,
    identity: Identity,
    rng: Rng,
    walk: Walk<Rc<Request>>,
    last: LastUsed,
    /// The feeder whose rows are used up, if one is.
    used_up: Option<u8>,
    max_requests: u32,
}

impl Customer {
    /// `max_requests` limits the session in addition to the scenario.
    pub(crate) fn new(
        context: Rc<ThreadContext>,
        session: u64,
        group: SessionGroup,
        max_requests: u32,
        kept: ReturningState,
    ) -> Self {
        let mut rng = Rng::seed_from_u64(context.seed_of(session));
        let drawn = rng.random_range(1..=context.customers);
        let customer = kept.customer.unwrap_or(drawn);
        let identity = Identity { customer, session, request: 0, run: context.run };
        let rules = &context.definition.classes[usize::from(group.class)];
        let (start, most) = (rules.start, rules.session.max_requests);
        let tickets = kept.tickets.unwrap_or_else(|| context.sites[0].connector.first_tickets());
        // A customer who returns is the same person.
        let (first, seed) = (session % RETURNED, context.seed_of(session % RETURNED));
        let (rows, used_up) = match context.definition.rows(group.class, first, seed) {
            Ok(rows) => (rows, None),
            Err(feeder) => (Box::default(), Some(feeder)),
        };
        let mut agent = UserAgent::new(context, group, session, tickets, kept.connection);
        agent.others = kept.others;
        Self {
            agent,
            identity,
            rng,
            walk: Walk::new(start),
            last: LastUsed::with_rows(rows),
            used_up,
            max_requests: max_requests.min(most),
        }
    }

    /// Runs the session from its intended arrival to its end.
    pub(crate) async fn run(&mut self, arrival: Instant) -> Departure {
        if self.agent.is_connected() {
            self.agent.admit();
        }
        let outcome = self.session(arrival).await;
        let agent = &mut self.agent;
        agent.line.ends(outcome);
        agent.further.iter_mut().for_each(|agent| agent.line.ends(outcome));
        let (group, admitted) = (agent.group, agent.admitted);
        agent.context.record(EventKind::Ended { group, outcome, admitted });
        agent.go_to_host(0);
        // The connection of an abandoned or failed request was reset already.
        agent.leave_channel();
        let (mut kept, connection) = (ReturningState::default(), agent.connection.take());
        for mut further in agent.further.drain(..) {
            finish(&agent.context, further.connection.take());
            further.others.drain(..).for_each(|other| finish(&agent.context, other.connection));
        }
        let others = std::mem::take(&mut agent.others);
        if agent.context.keep == KeepAlive::Customer {
            (kept.connection, kept.tickets) = (connection, Some(agent.tickets.clone()));
            kept.others = others;
        } else {
            finish(&agent.context, connection);
            others.into_iter().for_each(|other| finish(&agent.context, other.connection));
        }
        Departure { kept, outcome, customer: self.identity.customer }
    }

    async fn session(&mut self, arrival: Instant) -> Outcome {
        if let Some(feeder) = self.used_up {
            return self.rows_used_up(feeder);
        }
        let mut intended = arrival;
        // 32 bits are enough for a day, and a thinking customer holds as little as possible.
        let arrived_ms = self.agent.context.since_start(arrival).as_millis() as u32;
        let first = match self.start() {
            Ok(first) => first,
            Err(outcome) => return outcome,
        };
        let start = self.class().start;
        self.walk.visit(start, first);
        loop {
            // Boxed, so that a thinking customer does not hold its state: most customers
            // think.
            intended = match Box::pin(self.request_pages(intended, arrived_ms)).await {
                Ok(at) => at,
                Err(outcome) => return outcome,
            };
            self.agent.rest_until(intended).await;
        }
    }

    /// Requests pages until the customer thinks; returns the end of the think time.
    ///
    /// # Errors
    /// The session has ended.
    async fn request_pages(
        &mut self,
        mut intended: Instant,
        arrived_ms: u32,
    ) -> Result<Instant, Outcome> {
        let context = self.agent.context.clone();
        let definition = context.definition.clone();
        let class = &definition.classes[usize::from(self.agent.group.class)];
        loop {
            let Some(request) = self.walk.current().cloned() else {
                return Err(Outcome::Failed(Failure::Other));
            };
            // The next step is drawn before the request, so that the body is kept only if
            // the next request needs it.
            let next = self.walk.step(&class.navigation, self.max_requests, &mut self.rng);
            let keep = match next {
                Some(Step::Visit(page)) => definition.pages[page as usize].reads_last_page(),
                _ => false,
            };
            let keep = keep || definition.pages[request.page as usize].expected.reads_body();
            let mut body = if keep { context.buffers.take() } else { Vec::new() };
            let kept = keep.then_some(&mut body);
            let visited = self.visit(&request, intended, kept).await;
            let gone = visited.and_then(|(ended, base)| match next {
                Some(step) if !self.ends_by_time(step, arrived_ms, ended) => {
                    self.go(step, &body, base.as_ref().unwrap_or(&request.place))?;
                    Ok(ended)
                }
                _ => Err(Outcome::Completed),
            });
            if keep {
                context.buffers.put_back(body);
            }
            intended = gone?;
            let think = self.think();
            intended += think;
            if think > Duration::ZERO {
                return Ok(intended);
            }
        }
    }

    /// Requests a page with its assets. Returns when all of it has come, and the path of the page
    /// if it was redirected.
    async fn visit(
        &mut self,
        request: &Request,
        intended: Instant,
        keep: Option<&mut Vec<u8>>,
    ) -> Result<(Instant, Option<Place>), Outcome> {
        let context = self.agent.context.clone();
        let page = request.page;
        if context.definition.pages[page as usize].channel.is_some() {
            // Boxed, so that other pages need no room for it.
            return Box::pin(self.visit_channel(request, intended, keep)).await;
        }
        if context.definition.pages[page as usize].assets.is_empty() {
            let mut reloads = self.class().session.impatience.reloads();
            let visited =
                self.agent.visit(request, intended, keep, &mut self.last, &mut reloads).await?;
            return Ok((visited.ended, visited.base));
        }
        let since_start = context.since_start(intended);
        let opened = context.open_pages.open(OpenPage { page, intended: since_start });
        // Boxed, so that pages without assets need no room for it.
        let result = Box::pin(self.visit_with_assets(request, intended, keep)).await;
        context.open_pages.close(opened);
        let took = |ended: Instant| ended.saturating_duration_since(intended);
        let now = Instant::now();
        let (ended, time) = match &result {
            Ok((ended, _)) => (*ended, Observation::Exact(took(*ended))),
            Err(outcome) if outcome.is_wait_in_vain() => (now, Observation::Lost(took(now))),
            Err(_) => return result,
        };
        context.record_at(ended, EventKind::PageLoad { page, time });
        result
    }

    /// Opens a channel, or exchanges messages in it, and listens as long as the page says.
    async fn visit_channel(
        &mut self,
        request: &Request,
        intended: Instant,
        keep: Option<&mut Vec<u8>>,
    ) -> Result<(Instant, Option<Place>), Outcome> {
        let context = self.agent.context.clone();
        let page = &context.definition.pages[usize::from(request.page)];
        let last = &mut self.last;
        let ended = match &page.channel {
            Some(ChannelUse::Message(_)) => {
                self.agent.exchange_messages(request, intended, keep, last).await?
            }
            _ => {
                let mut reloads = self.agent.class().session.impatience.reloads();
                self.agent.visit(request, intended, keep, last, &mut reloads).await?.ended
            }
        };
        let hold = page.hold();
        if hold.is_zero() {
            return Ok((ended, None));
        }
        Ok((self.agent.hold(hold, ended).await?, None))
    }

    async fn visit_with_assets(
        &mut self,
        request: &Request,
        intended: Instant,
        mut keep: Option<&mut Vec<u8>>,
    ) -> Result<(Instant, Option<Place>), Outcome> {
        let mut reloads = self.class().session.impatience.reloads();
        let mut from = intended;
        loop {
            let (kept, last) = (keep.as_deref_mut(), &mut self.last);
            let visited = self.agent.visit(request, from, kept, last, &mut reloads).await?;
            let assets = self.assets(request.page);
            match self.agent.load_assets(&assets, visited.ended, visited.deadline).await {
                Ok(ended) => return Ok((ended, visited.base)),
                Err(Outcome::Abandoned(_)) if reloads > 0 => {
                    reloads -= 1;
                    let group = self.agent.group;
                    self.agent.context.record(EventKind::Reloaded { group });
                    keep.iter_mut().for_each(|kept| kept.clear());
                    from = Instant::now();
                }
                Err(outcome) => return Err(outcome),
            }
        }
    }

    /// The requests for the assets of a page that the customer does not have yet.
    fn assets(&mut self, page: u16) -> Vec<Asset> {
        let context = self.agent.context.clone();
        let mut assets = Vec::new();
        for (index, fixed) in context.fixed.assets(page).iter().enumerate() {
            let made = || self.builder(&context).asset(page, index).map(Rc::new);
            let request = fixed.clone().or_else(made);
            match request {
                Some(request) if self.agent.has(&request) => {}
                Some(request) => assets.push(Asset { index: index as u16, request }),
                None => context.check_failed(page, Expectation::NotOffered, || {
                    "an asset with a value that no page has provided yet".to_owned()
                }),
            }
        }
        assets
    }

    /// Whether the session ends in place of this step because it has lasted its duration.
    fn ends_by_time(&self, step: Step, arrived_ms: u32, now: Instant) -> bool {
        let context = &self.agent.context;
        self.class().duration.is_some_and(|duration| {
            let arrived = Duration::from_millis(arrived_ms.into());
            let after = context.since_start(now).saturating_sub(arrived);
            duration.ends(step, after, context.time_scale, context.seed_of(self.identity.session))
        })
    }

    /// Prepares the next request from what the last page offers.
    ///
    /// # Errors
    /// There is no next request: the session ends.
    fn go(&mut self, step: Step, body: &[u8], base: &Place) -> Result<(), Outcome> {
        let context = self.agent.context.clone();
        let may_repeat = |page: u16| context.definition.pages[page as usize].repeat;
        match step {
            Step::Visit(page) => {
                if self.go_to(page, body, base)? {
                    return Ok(());
                }
                if self.class().navigation.steps().is_some() {
                    return Err(self.not_offered(page, body));
                }
                if let Some(via) = context.definition.pages[page as usize].via
                    && self.go_to(via, body, base)?
                {
                    context.record(EventKind::Fallback(Fallback::Via));
                    return Ok(());
                }
                context.record(EventKind::Fallback(Fallback::Back));
            }
            Step::Again if may_repeat(self.walk.page()) => {
                self.walk.again();
                return Ok(());
            }
            Step::Again => context.record(EventKind::Fallback(Fallback::Back)),
            Step::Back => {}
        }
        if self.walk.back(may_repeat).is_none() {
            let first = self.start()?;
            self.walk.restart(first);
        }
        Ok(())
    }

    /// Makes the request for a page, if the last page offers it.
    fn go_to(&mut self, page: u16, body: &[u8], base: &Place) -> Result<bool, Outcome> {
        let (request, origin) = match self.make(page, body, base) {
            Ok(made) => made,
            Err(NotMade::NotOffered) => return Ok(false),
            Err(NotMade::Unsendable) => return Err(self.unsendable(page)),
        };
        // A script uses only what the page offers.
        if origin == Origin::LastId && self.class().navigation.steps().is_some() {
            return Ok(false);
        }
        if origin == Origin::LastId {
            self.agent.context.record(EventKind::Fallback(Fallback::LastId));
        }
        self.walk.visit(page, request);
        Ok(true)
    }

    fn class(&self) -> &Class {
        self.agent.class()
    }

    fn not_offered(&self, page: u16, body: &[u8]) -> Outcome {
        let context = &self.agent.context;
        let follows = context.definition.pages[page as usize].reads_last_page();
        context.check_failed(page, Expectation::NotOffered, || match follows {
            true => offers(body),
            false => "a value that no page has provided yet".to_owned(),
        });
        Outcome::Failed(Failure::NotOffered)
    }

    fn rows_used_up(&self, feeder: u8) -> Outcome {
        let context = &self.agent.context;
        let rows = context.definition.feeders[usize::from(feeder)].rows.len();
        let found = || format!("its rows, {rows} in all, are used up");
        context.check_failed(self.class().start, Expectation::Row { feeder }, found);
        Outcome::Failed(Failure::RowsUsedUp)
    }

    fn unsendable(&self, page: u16) -> Outcome {
        let found = || "a value that cannot be sent".to_owned();
        self.agent.context.check_failed(page, Expectation::Unsendable, found);
        Outcome::Failed(Failure::Unsendable)
    }

    fn make(
        &mut self,
        page: u16,
        body: &[u8],
        base: &Place,
    ) -> Result<(Rc<Request>, Origin), NotMade> {
        let context = self.agent.context.clone();
        if let Some(request) = context.fixed.get(page) {
            return Ok((request, Origin::Offered));
        }
        self.identity.request = self.walk.requests();
        let made = self.builder(&context).make(page, body, base);
        made.map(|(request, origin)| (Rc::new(request), origin))
    }

    fn builder<'a>(&'a mut self, context: &'a ThreadContext) -> RequestBuilder<'a> {
        RequestBuilder {
            definition: &context.definition,
            origins: &context.origins,
            identity: &self.identity,
            last: &mut self.last,
            rng: &mut self.rng,
        }
    }

    /// The request for the start page.
    fn start(&mut self) -> Result<Rc<Request>, Outcome> {
        let page = self.class().start;
        match self.make(page, &[], &Place { host: 0, path: "/".to_owned() }) {
            Ok((request, _)) => Ok(request),
            Err(NotMade::Unsendable) => Err(self.unsendable(page)),
            Err(NotMade::NotOffered) => Err(self.not_offered(page, &[])),
        }
    }

    /// Draws the think time before the next page.
    fn think(&mut self) -> Duration {
        let context = self.agent.context.clone();
        let class = &context.definition.classes[usize::from(self.agent.group.class)];
        let steps = class.navigation.steps();
        // The walk has counted the next request already.
        let step =
            steps.and_then(|steps| steps.get((self.walk.requests() as usize).checked_sub(1)?));
        let page = context.definition.pages[self.walk.page() as usize].think;
        let mean = step.and_then(|step| step.think).or(page).unwrap_or(class.session.think);
        context.think(mean, class.session.think_cap, &mut self.rng)
    }
}

/// The first links and forms of a page, for a message.
fn offers(body: &[u8]) -> String {
    let mut all = Vec::new();
    html::links(body, |href| all.push(href.into_owned()));
    all.extend(html::forms(body, |_| true).into_iter().map(|form| format!("form {}", form.action)));
    all.sort_unstable();
    all.dedup();
    if all.is_empty() { "no link or form".to_owned() } else { excerpt(all.join(", ").as_bytes()) }
}
