//! Requests of customers who are not admitted yet, where the gate has a waiting room: each asks the
//! controller when its turn has come, and gets a page otherwise.

use crate::admission::entrance::Comes;
use crate::admission::tickets::{SessionId, new_session_id};
use crate::admission::waiting_token::TOKEN_LEN;
use crate::connection::exchange::Exchange;
use crate::context::CoreContext;
use crate::http::accept::Form;
use crate::http::cookie_field::{self, Values};
use crate::http::pages::ErrorPage;
use crate::http::sessions::{Cookies, Visit};
use crate::http::waiting_page::{Answer, WAITING_ROOM, full_as_json};
use crate::path::for_routes;
use crate::places::PlaceKind;
use crate::telemetry::clock::unix_now;
use crate::telemetry::labels::{Bucket, Class, CookieResult, End, RoomVisit};
use bytes::Bytes;
use http::header::{CONNECTION, CONTENT_TYPE, HeaderValue, REFRESH, RETRY_AFTER, SET_COOKIE};
use http::request::Parts;
use http::{HeaderMap, Response, Version};
use std::rc::Rc;
use std::time::Duration;
use tidegate_control::waiting_room::{Asks, Order, Standing, WaitingRoom, WaitingToken};

/// The gate's cookies in a request.
pub struct Shown {
    /// Those of a session.
    pub cookies: Values,
    /// Those of a place in the waiting room.
    pub place: Values<TOKEN_LEN>,
    /// The customer sends them over TLS.
    pub secure: bool,
}

/// How long a browser keeps the cookie of a place, in seconds: longer than the place is kept.
const COOKIE_S: u64 = 600;
/// When a page without a place asks again, in seconds: after once to twice this time.
const AGAIN_S: u64 = 10;

impl Cookies {
    /// A request on a connection of the waiting room whose session would have this identifier.
    pub(super) async fn enter(
        &self,
        id: SessionId,
        exchange: &Exchange,
        parts: &Parts,
        shown: &Shown,
    ) -> Result<Option<Box<Visit>>, Response<Bytes>> {
        let rejoined = self.rejoin(id, exchange, shown);
        if let Some(visit) = rejoined.or_else(|| self.accompany(exchange, parts, shown)) {
            return Ok(Some(visit));
        }
        if self.never_waits(parts) {
            self.spends_on(exchange, None);
            return Ok(None);
        }
        let visit = self.wait(Comes::FromRoomOn(id), exchange, parts, shown).await;
        let mut visit = visit.map_err(|mut page| {
            page.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            page
        })?;
        self.joins(exchange, &mut visit);
        Ok(Some(visit))
    }

    /// The connection is of a session after all: that of its cookie, or the one that another
    /// connection with its ticket was admitted as.
    fn rejoin(&self, id: SessionId, exchange: &Exchange, shown: &Shown) -> Option<Box<Visit>> {
        let CoreContext { shared, .. } = &*self.sessions.context;
        let (now, unix_now) = (shared.now(), unix_now());
        let entrance = &self.sessions.entrance;
        let joined = entrance.join(shown.cookies.list(), id, now, unix_now);
        let result = joined.as_ref().map_or_else(|why| *why, |_| Some(CookieResult::Good));
        self.sessions.count(result, shown.cookies.any);
        let session = match joined {
            Ok((_, Some(session))) => session,
            Ok((_, None)) => entrance.sessions.connect(id, now).ok()?,
            Err(_) if shared.room.has_admitted(&id) => entrance.sessions.connect(id, now).ok()?,
            Err(_) => return None,
        };
        shared.controller().returning(now);
        let mut visit = self.visit(Some(session), [None, None]);
        self.joins(exchange, &mut visit);
        Some(visit)
    }

    /// The connection is one that the browser of an admitted customer opened before. Its cookie
    /// tells so from then on, since its ticket is one of the room.
    fn accompany(&self, exchange: &Exchange, parts: &Parts, shown: &Shown) -> Option<Box<Visit>> {
        let CoreContext { shared, config, .. } = &*self.sessions.context;
        if parts.version >= Version::HTTP_2 {
            return None;
        }
        let (now, sessions) = (shared.now(), &self.sessions.entrance.sessions);
        let most = config.admission.browser_connections;
        let connected = |id: &SessionId| sessions.is_connected(id);
        let id = shared.companions.take(self.peer, most, now, connected)?;
        let session = sessions.connect(id, now).ok()?;
        shared.controller().returning(now);
        let cookie = self.cookie(id, unix_now(), shown.secure);
        let mut visit = self.visit(Some(session), [cookie, None]);
        self.joins(exchange, &mut visit);
        Some(visit)
    }

    /// The session of a visit becomes that of the connection.
    fn joins(&self, exchange: &Exchange, visit: &mut Visit) {
        if let Some(session) = visit.take_session() {
            exchange.log().inspect(|log| log.joins(session.number()));
            if let Some(began_as) = self.own.waits_as().filter(|id| *id != session.id()) {
                self.sessions.context.shared.joined.note(began_as, session.id());
            }
            self.own.become_of(session);
            self.own.looked_at.set(true);
            self.spends_on(exchange, None);
            self.place.change(PlaceKind::Returning);
        }
    }

    /// Whether a request is served without waiting, by its path or the customer's address.
    pub(super) fn never_waits(&self, parts: &Parts) -> bool {
        let admission = &self.sessions.context.config.admission;
        let paths = admission.never_wait_paths.iter().flatten();
        let path = for_routes(parts.uri.path());
        paths.into_iter().any(|beginning| beginning.begins(&path))
            || admission.never_waits(self.address(&parts.headers))
    }

    /// Whether a request of a proxy's connection is one of the waiting room: others wait, or it
    /// has a place.
    pub(super) fn must_wait(&self, shown: &Shown) -> bool {
        let shared = &self.sessions.context.shared;
        self.sessions.template.is_some() && (shown.place.any || shared.someone_is_first())
    }

    /// A request of somebody in the waiting room.
    ///
    /// # Errors
    /// They are not admitted: the page.
    pub(super) async fn wait(
        &self,
        comes: Comes,
        exchange: &Exchange,
        parts: &Parts,
        shown: &Shown,
    ) -> Result<Box<Visit>, Response<Bytes>> {
        let CoreContext { shared, counters, .. } = &*self.sessions.context;
        let standing = self.stand(exchange, shown);
        let came = standing.as_ref().map_or(!shown.place.any, |standing| standing.came);
        if came && (self.of_proxy || !self.own.counted.replace(true)) {
            // They were not in the queue, and are refused all the same.
            shared.controller().offered();
            counters.refused[Class::New].add(1);
        }
        let refuses = || {
            exchange.log().inspect(|log| log.decided(Duration::ZERO, Err(End::Refused)));
        };
        let Some(standing) = standing else {
            refuses();
            return Err(self.no_page(&parts.headers));
        };
        if !standing.may_ask {
            refuses();
            return Err(self.page(standing, parts, shown));
        }
        let asking = Asking::new(&self.sessions.context, standing.token);
        let entered = self.ask(comes, exchange, &parts.headers).await;
        let Ok(entered) = entered else {
            return Err(self.page(standing, parts, shown));
        };
        let session = entered.session;
        asking.admitted(session.id());
        if !self.of_proxy && parts.version < Version::HTTP_2 {
            shared.companions.note(self.peer, session.id(), shared.now());
        }
        self.spends_on(exchange, None);
        let name = &self.sessions.place_name;
        let used = cookie_field::set(name, "", 0, shown.secure);
        let cookie = self.cookie(session.id(), unix_now(), shown.secure);
        // From now on it counts as a request.
        drop(entered.starting);
        Ok(self.visit(Some(session), [cookie, used]))
    }

    /// The page for somebody who comes and is refused.
    pub(super) fn page_for_stranger(
        &self,
        exchange: &Exchange,
        parts: &Parts,
        shown: &Shown,
    ) -> Response<Bytes> {
        match self.stand(exchange, shown) {
            Some(standing) => self.page(Standing { may_ask: false, ..standing }, parts, shown),
            None => self.no_page(&parts.headers),
        }
    }

    /// Where the customer stands; `None` where the room can take nobody.
    fn stand(&self, exchange: &Exchange, shown: &Shown) -> Option<Standing> {
        let CoreContext { shared, .. } = &*self.sessions.context;
        let keyring = &self.sessions.entrance.keyring;
        let token = shown.place.list().find_map(|value| keyring.open_waiting(value).ok());
        let is_stranger = self.of_proxy && token.is_none();
        let asks = if is_stranger { Asks::Stranger } else { Asks::Waiting };
        let (per_s, spent_ns) = shared.room_cpu();
        if !shared.room.cpu.allows_page(asks, per_s, spent_ns, shared.now()) {
            // Behind a proxy no flood can be reset: if the room owed for these, its customers would
            // pay for them long afterwards.
            self.spends_on(exchange, Some(Bucket::Arrival));
            return None;
        }
        self.spends_on(exchange, Some(Bucket::Room));
        // A connection draws one lot, however many streams it has. A proxy's is of many customers.
        let token = token.or(self.own.waits_at.get());
        let new_id = || new_session_id().ok();
        let standing = shared.room.visit(token, shared.room_order(), shared.unix_ms(), new_id)?;
        if !self.of_proxy {
            self.own.waits_at.set(Some(standing.token));
        }
        Some(standing)
    }

    /// Beyond the share of the processors, or where the line is full: a short page without a place.
    /// It asks again, or a customer who has a place would lose it.
    fn no_page(&self, asked: &HeaderMap) -> Response<Bytes> {
        let CoreContext { shared, counters, .. } = &*self.sessions.context;
        counters.room_visits[RoomVisit::Beyond].add(1);
        // Those who are answered together ask again at several times.
        let again_s = AGAIN_S + shared.unix_ms() % AGAIN_S;
        let mut page = ErrorPage::Full.response();
        if matches!(Form::of(asked), Form::Json) {
            *page.body_mut() = full_as_json(again_s);
            let json = HeaderValue::from_static("application/json");
            page.headers_mut().insert(CONTENT_TYPE, json);
        }
        let headers = page.headers_mut();
        headers.insert(RETRY_AFTER, again_s.into());
        headers.insert(REFRESH, again_s.into());
        if let Ok(field) = HeaderValue::try_from(format!("full, refresh={again_s}")) {
            headers.insert(WAITING_ROOM, field);
        }
        page
    }

    fn page(&self, standing: Standing, parts: &Parts, shown: &Shown) -> Response<Bytes> {
        let counters = &self.sessions.context.counters;
        let Some(template) = &self.sessions.template else { return ErrorPage::Full.response() };
        counters.room_visits[RoomVisit::Page].add(1);
        let mut page = Answer(&standing).response(template, &parts.headers);
        let value = self.sessions.entrance.keyring.seal_waiting(&standing.token, unix_now());
        let set = |value: String| {
            cookie_field::set(&self.sessions.place_name, &value, COOKIE_S, shown.secure)
        };
        if let Some(cookie) = value.and_then(set) {
            page.headers_mut().append(SET_COOKIE, cookie);
        }
        page
    }
}

/// A customer of the room asks the controller, until this is dropped.
struct Asking {
    context: Rc<CoreContext>,
    token: WaitingToken,
    order: Order,
    admitted: bool,
}

impl Asking {
    fn new(context: &Rc<CoreContext>, token: WaitingToken) -> Self {
        context.counters.room_asking.add(1);
        let order = context.shared.room_order();
        Self { context: context.clone(), token, order, admitted: false }
    }

    fn room(&self) -> &WaitingRoom {
        &self.context.shared.room
    }

    fn admitted(mut self, session: SessionId) {
        self.admitted = true;
        let now_ms = self.context.shared.unix_ms();
        self.room().admits(&self.token, self.order, session, now_ms);
    }
}

impl Drop for Asking {
    fn drop(&mut self) {
        self.context.counters.room_asking.sub(1);
        if !self.admitted {
            let now_ms = self.context.shared.unix_ms();
            self.room().asks_no_more(&self.token, self.order, now_ms);
        }
    }
}
