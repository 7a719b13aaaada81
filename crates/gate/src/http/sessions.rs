//! Sessions that are known by their cookie. Over the connection of a proxy each request is
//! recognized by it, or begins a session, and is decided on by itself. A customer's own connection
//! over TLS was decided on before; there the cookie tells whose it is, if no ticket did.

use crate::admission::entrance::{Comes, Entered, Entrance, Verdict};
use crate::admission::session_cookie::CookieClaims;
use crate::admission::sessions::{ClosedBy, SessionConnection};
use crate::admission::tickets::SessionId;
use crate::config::{Config, Forwarded, SessionCookie};
use crate::connection::client::Client;
use crate::connection::exchange::Exchange;
use crate::connection::own_session::OwnSession;
use crate::context::CoreContext;
use crate::http::cookie_field::{self, Values};
use crate::http::forwarding::{X_FORWARDED_FOR, X_FORWARDED_PROTO};
use crate::http::pages::ErrorPage;
use crate::http::waiting::Shown;
use crate::http::waiting_page;
use crate::page_template::Template;
use crate::places::{Place, PlaceKind, Prefix};
use crate::socket::Scheme;
use crate::telemetry::clock::{self, unix_now};
use crate::telemetry::cpu;
use crate::telemetry::labels::{Bucket, Class, CookieResult, End};
use bytes::Bytes;
use http::header::HeaderValue;
use http::request::Parts;
use http::{HeaderMap, Response};
use std::net::IpAddr;
use std::rc::Rc;
use std::time::Duration;

/// Knows sessions by their cookies, and who waits.
pub struct RequestSessions {
    pub(super) context: Rc<CoreContext>,
    pub(super) entrance: Entrance,
    /// The proxy before the gate is trusted: its fields tell address and scheme of the customer.
    trusts_proxy: bool,
    /// Name of the cookie with a place in the waiting room.
    pub(super) place_name: String,
    /// The page of the waiting room; `None` where there is none.
    pub(super) template: Option<Template>,
}

/// The cookies of one connection.
pub struct Cookies {
    pub(super) sessions: Rc<RequestSessions>,
    /// The place of the connection.
    pub(super) place: Rc<Place>,
    scheme: Scheme,
    pub(super) peer: IpAddr,
    /// Its session; a proxy's has none.
    pub(super) own: Rc<OwnSession>,
    /// It is a proxy's, whose requests are each decided on.
    pub(super) of_proxy: bool,
    /// They tell of which session it is, if its ticket does not.
    learns: bool,
}

/// A request of an admitted session, until its response is over.
pub struct Visit {
    /// The request as one of its session, where it was decided on.
    session: Option<SessionConnection>,
    context: Rc<CoreContext>,
    /// The cookies that the response sets: of the session, if it is due, and that of a place that
    /// was used.
    cookies: [Option<HeaderValue>; 2],
}

impl RequestSessions {
    /// Sets and reads cookies as this configuration says; `None` where the gate sets none.
    pub fn new(context: &Rc<CoreContext>, entrance: Entrance) -> Option<Rc<Self>> {
        let Config { admission, upstream, .. } = &*context.config;
        let trusts_proxy = upstream.forwarded == Forwarded::Append;
        let has_room = context.has_room();
        let template = context.config.files.room_template.clone();
        let template = has_room.then(|| template.unwrap_or_else(waiting_page::own));
        let place_name = format!("{}-place", admission.session_cookie_name);
        let context = context.clone();
        (has_room || admission.session_cookie != SessionCookie::Off)
            .then(|| Rc::new(Self { context, entrance, trusts_proxy, place_name, template }))
    }

    /// The cookies of a client's connection.
    pub fn on(self: &Rc<Self>, client: &Client) -> Cookies {
        let set = self.context.config.admission.session_cookie;
        let (of_proxy, learns) = match client.scheme {
            Scheme::Http => (set != SessionCookie::Off, false),
            Scheme::Https => (false, set == SessionCookie::All),
        };
        let (sessions, place, scheme) = (self.clone(), client.place.clone(), client.scheme);
        let (peer, own) = (client.peer.ip(), client.session.clone());
        Cookies { sessions, place, scheme, peer, own, of_proxy, learns }
    }

    pub(super) fn count(&self, result: Option<CookieResult>, any: bool) {
        if let Some(result) = result.or(any.then_some(CookieResult::Foreign)) {
            self.context.counters.session_cookies[result].add(1);
        }
    }
}

impl Cookies {
    /// Whether each request is decided on, since the connection is a proxy's.
    pub fn decide(&self) -> bool {
        self.of_proxy
    }

    /// What a request costs from now on counts to the waiting room or to refusals, `None`: to
    /// requests. So does what the connection reads until its next request is decided on.
    pub(super) fn spends_on(&self, exchange: &Exchange, work: Option<Bucket>) {
        self.own.spends_on.set(work);
        exchange.in_room.set(work.is_some());
        cpu::enter(work.unwrap_or(Bucket::request(exchange.class)));
    }

    /// Whether anything follows from the gate's cookies in requests, and [`Cookies::admit`] is to see
    /// them; else [`Cookies::take`].
    pub fn are_read(&self) -> bool {
        self.of_proxy || self.learns || self.own.waits_as().is_some()
    }

    /// Takes the gate's cookies out of a request: the upstream does not receive them.
    pub fn take(&self, headers: &mut HeaderMap) -> Shown {
        let RequestSessions { context, place_name, template, trusts_proxy, .. } = &*self.sessions;
        let cookies = cookie_field::take(headers, &context.config.admission.session_cookie_name);
        let place = match template {
            Some(_) => cookie_field::take(headers, place_name),
            None => Values::none(),
        };
        let secure = self.scheme == Scheme::Https || (*trusts_proxy && says_https(headers));
        Shown { cookies, place, secure }
    }

    /// Takes the gate's cookies out of a request and decides on it, or learns from them of which
    /// session the connection is.
    ///
    /// # Errors
    /// It would begin a session, which is not admitted: the answer.
    pub async fn admit(
        &self,
        exchange: &Exchange,
        parts: &mut Parts,
    ) -> Result<Option<Box<Visit>>, Response<Bytes>> {
        let shown = self.take(&mut parts.headers);
        match self.own.waits_as() {
            _ if self.of_proxy => self.decide_on(exchange, parts, &shown).await.map(Some),
            Some(id) => self.enter(id, exchange, parts, &shown).await,
            None if self.learns => Ok(self.learn(exchange, &shown.cookies)),
            None => Ok(None),
        }
    }

    /// Learns from the first request of a connection over TLS of which session it is. One that
    /// was resumed from a ticket keeps the session of the ticket.
    fn learn(&self, exchange: &Exchange, cookies: &Values) -> Option<Box<Visit>> {
        let Self { sessions, own, .. } = self;
        let id = own.id()?;
        if own.looked_at.replace(true) {
            return None;
        }
        let (now, unix_now) = (sessions.context.shared.now(), unix_now());
        let lifetime_s = sessions.entrance.keyring.lifetime_s();
        let (mut began, mut due) = (unix_now, true);
        if exchange.class == Class::New {
            let joined = sessions.entrance.join(cookies.list(), id, now, unix_now);
            let result = joined.as_ref().map_or_else(|why| *why, |_| Some(CookieResult::Good));
            sessions.count(result, cookies.any);
            if let Ok((claims, session)) = joined {
                (began, due) = (claims.began, claims.is_renewable(unix_now, lifetime_s));
                self.place.change(PlaceKind::Returning);
                if let Some(session) = session {
                    exchange.log().inspect(|log| log.joins(session.number()));
                    own.become_of(session);
                }
            }
        } else if let Ok(claims) = sessions.entrance.open(cookies.list(), unix_now) {
            due = claims.session != id || claims.is_renewable(unix_now, lifetime_s);
        }
        let id = own.id().filter(|_| due)?;
        Some(self.visit(None, [self.cookie(id, began, true), None]))
    }

    async fn decide_on(
        &self,
        exchange: &Exchange,
        parts: &Parts,
        shown: &Shown,
    ) -> Result<Box<Visit>, Response<Bytes>> {
        let RequestSessions { context, entrance, .. } = &*self.sessions;
        let Shown { cookies, secure, .. } = shown;
        self.spends_on(exchange, None);
        let (now, unix_now) = (context.shared.now(), unix_now());
        let recognized = entrance.recognize(cookies.list(), now, unix_now);
        let result = recognized.as_ref().map_or_else(|why| *why, |_| Some(CookieResult::Good));
        self.sessions.count(result, cookies.any);
        if let Ok((claims, session)) = recognized {
            context.shared.controller().returning(now);
            self.place.change(PlaceKind::Returning);
            exchange.log().inspect(|log| {
                log.decided(Duration::ZERO, Ok((Class::Returning, session.number())));
            });
            let due = claims.is_renewable(unix_now, entrance.keyring.lifetime_s());
            let cookie = due.then(|| self.cookie(session.id(), claims.began, *secure)).flatten();
            return Ok(self.visit(Some(session), [cookie, None]));
        }
        if self.never_waits(parts) {
            return Ok(self.visit(None, [None, None]));
        }
        if self.must_wait(shown) {
            return self.wait(Comes::FromRoom, exchange, parts, shown).await;
        }
        let entered = self.ask(Comes::Directly, exchange, &parts.headers).await;
        let Entered { session, starting } = match entered {
            Ok(entered) => entered,
            Err(_) if self.sessions.template.is_some() => {
                return Err(self.page_for_stranger(exchange, parts, shown));
            }
            Err(_) => return Err(ErrorPage::Full.response()),
        };
        // From now on it counts as a request.
        drop(starting);
        let cookie = self.cookie(session.id(), unix_now, *secure);
        Ok(self.visit(Some(session), [cookie, None]))
    }

    /// Waits in the queue for the verdict on a request.
    pub(super) async fn ask(
        &self,
        comes: Comes,
        exchange: &Exchange,
        headers: &HeaderMap,
    ) -> Verdict {
        let queue = &self.sessions.entrance.queue;
        let waits_since = clock::now();
        exchange.queue_begins();
        let verdict = queue.enqueue_request(self.prefix(headers), bytes(headers), comes).await;
        let waited = clock::read().saturating_duration_since(waits_since);
        exchange.queue_ends();
        // The queue gives a verdict on all that it has.
        let verdict = verdict.unwrap_or(Err(End::Refused));
        let decided = match &verdict {
            Ok(entered) => Ok((Class::New, entered.session.number())),
            Err(end) => Err(*end),
        };
        exchange.log().inspect(|log| log.decided(waited, decided));
        verdict
    }

    pub(super) fn visit(
        &self,
        session: Option<SessionConnection>,
        cookies: [Option<HeaderValue>; 2],
    ) -> Box<Visit> {
        Box::new(Visit { session, context: self.sessions.context.clone(), cookies })
    }

    pub(super) fn cookie(
        &self,
        session: SessionId,
        began: u64,
        secure: bool,
    ) -> Option<HeaderValue> {
        let RequestSessions { context, entrance, .. } = &*self.sessions;
        let claims = CookieClaims { session, began, issued: unix_now() };
        let value = entrance.keyring.seal_cookie(&claims)?;
        let name = &context.config.admission.session_cookie_name;
        cookie_field::set(name, &value, entrance.keyring.lifetime_s(), secure)
    }

    /// What shares turns with this request: the prefix of the customer whom a trusted proxy names
    /// last, or that of the connection.
    fn prefix(&self, headers: &HeaderMap) -> Prefix {
        match self.forwarded_for(headers) {
            Some(address) => self.sessions.context.places.prefix_of(address),
            None => self.place.prefix(),
        }
    }

    /// The customer's address, as far as it is known.
    pub(super) fn address(&self, headers: &HeaderMap) -> IpAddr {
        self.forwarded_for(headers).unwrap_or(self.peer)
    }

    fn forwarded_for(&self, headers: &HeaderMap) -> Option<IpAddr> {
        if !self.sessions.trusts_proxy {
            return None;
        }
        let last = headers.get_all(X_FORWARDED_FOR).iter().next_back()?.to_str().ok()?;
        last.rsplit(',').next()?.trim().parse().ok()
    }
}

impl Visit {
    /// Its session, where it was decided on.
    pub fn session(&self) -> Option<&SessionConnection> {
        self.session.as_ref()
    }

    /// Its session, which becomes that of the connection.
    pub(super) fn take_session(&mut self) -> Option<SessionConnection> {
        self.session.take()
    }

    /// The cookies that the response is to set.
    pub fn take_cookies(&mut self) -> [Option<HeaderValue>; 2] {
        std::mem::take(&mut self.cookies)
    }

    /// The response is over, and the customer begins to think.
    pub fn end(self) {
        if let Some(session) = self.session {
            session.close(ClosedBy::Gate { idle_ticks: 0 }, self.context.shared.now());
        }
    }
}

fn says_https(headers: &HeaderMap) -> bool {
    let proto = headers.get(X_FORWARDED_PROTO);
    proto.is_some_and(|proto| proto.as_bytes().eq_ignore_ascii_case(b"https"))
}

/// About the bytes of a head.
fn bytes(headers: &HeaderMap) -> usize {
    headers.iter().map(|(name, value)| name.as_str().len() + value.len() + 4).sum()
}
