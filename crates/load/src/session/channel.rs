//! Messages: what a customer does in a WebSocket or a stream of events.

use std::cell::Cell;
use std::time::{Duration, Instant};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use rand::RngExt;

use super::last_used::LastUsed;
use super::request::{Request, RequestBuilder};
use super::sample::Exchanged;
use super::user_agent::UserAgent;
use crate::client::channel::{Channel, Opened};
use crate::client::connection::Connection;
use crate::client::http::coding::Coding;
use crate::client::http::exchange::{Answer, Seen};
use crate::outcome::{Cause, Failure, Outcome, Stage};
use crate::scenario::page::{ChannelKind, ChannelUse, MessageRule};

/// The field with the key of a WebSocket.
const WEBSOCKET_KEY: &str = "Sec-WebSocket-Key";
/// Status of messages: they belong to a connection that has changed its protocol, or to an answer.
const STATUS_OF_MESSAGES: u16 = 101;

impl UserAgent {
    /// Sends a request, or does what its page says about a channel.
    pub(super) async fn answer(
        &mut self,
        request: &Request,
        now: Instant,
        keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Answer, Outcome> {
        let context = self.context.clone();
        match &context.definition.pages[usize::from(request.page)].channel {
            None => self.send(request, now, keep, stage).await,
            // Boxed, so that other requests need no room for it.
            Some(ChannelUse::Open { kind, .. }) => {
                Box::pin(self.open_channel(*kind, request, stage)).await
            }
            Some(ChannelUse::Message(rule)) => {
                Box::pin(self.message(rule, request, now, keep, stage)).await
            }
        }
    }

    /// Opens the channel that a page asks for.
    async fn open_channel(
        &mut self,
        kind: ChannelKind,
        request: &Request,
        stage: &Cell<Stage>,
    ) -> Result<Answer, Outcome> {
        let context = self.context.clone();
        self.leave_channel();
        self.go_to_host(request.place.host);
        let origin = &context.origins[usize::from(self.host)];
        let bytes = request.bytes(&self.site().headers, &self.cookies.borrow(), origin);
        let bytes = bytes.into_owned();
        self.last = None;
        let transport = match self.connect(stage, request, &bytes).await? {
            Connection::Http1(transport) => transport,
            Connection::Http2(_) => return Err(Outcome::Failed(Failure::NotOpened)),
        };
        let key = request.headers.iter().find(|(name, _)| name == WEBSOCKET_KEY);
        let key = key.map_or("", |(_, key)| key.as_str());
        match Channel::open(kind, transport, (&bytes, key), stage).await {
            Ok(Opened { answer, channel, head }) => {
                self.channel = channel.map(Box::new);
                if let Some(fields) = &answer.fields {
                    let mut cookies = self.cookies.borrow_mut();
                    let replaces = context.definition.gives_cookies;
                    cookies.add(&fields.cookies, origin, &request.place.path, replaces);
                }
                let seen = Seen { head, body: Vec::new() };
                let exchanged = Exchanged::new(&bytes, seen, Coding::Identity, None);
                self.exchanged(request, exchanged, None);
                Ok(answer)
            }
            Err(failure) => {
                let cause = Cause::Failed(failure);
                self.unanswered(request, &bytes, cause, &[], String::new());
                Err(Outcome::Failed(failure))
            }
        }
    }

    /// Sends a message and waits for its answer, as far as the rule asks for either. The message
    /// that answers goes to `keep`.
    async fn message(
        &mut self,
        rule: &MessageRule,
        request: &Request,
        sent: Instant,
        keep: Option<&mut Vec<u8>>,
        stage: &Cell<Stage>,
    ) -> Result<Answer, Outcome> {
        // Dropped with this future where the customer gives up.
        let Some(mut channel) = self.channel.take() else {
            return Err(Outcome::Failed(Failure::NotOpened));
        };
        stage.set(Stage::FirstByte);
        let result = exchange(&mut channel, rule, request, keep).await;
        let (came, received_bytes) = match result {
            Ok(received) => received,
            Err(failure) => {
                let cause = Cause::Failed(failure);
                let mut text = Vec::new();
                request.body.write(&mut text);
                self.unanswered(request, &text, cause, &[], String::new());
                return Err(Outcome::Failed(failure));
            }
        };
        self.channel = Some(channel);
        Ok(Answer {
            status: STATUS_OF_MESSAGES,
            reusable: true,
            coding: Coding::Identity,
            fields: None,
            sent,
            first_byte: came,
            last_byte: came,
            received_bytes,
        })
    }

    /// Reads what arrives until this time, and answers pings.
    ///
    /// # Errors
    /// The channel ended: so does the session.
    pub(super) async fn listen_until(&mut self, at: Instant) -> Result<(), Outcome> {
        if self.channel.is_none() {
            self.rest_until(at).await;
            return Ok(());
        }
        let context = self.context.clone();
        let mut timer = std::pin::pin!(context.timers.at(at));
        while let Some(channel) = &mut self.channel {
            let received = tokio::select! {
                biased;
                () = &mut timer => return Ok(()),
                () = context.timers.ended() => None,
                received = channel.receive() => Some(received),
            };
            match received {
                Some(Ok(_)) => {}
                Some(Err(failure)) => {
                    self.channel = None;
                    return Err(Outcome::Failed(failure));
                }
                None => self.leave_channel(),
            }
        }
        // The run is over.
        std::future::pending().await
    }

    /// Closes the channel, if there is one.
    pub(super) fn leave_channel(&mut self) {
        if let Some(channel) = self.channel.take() {
            channel.finish(self.context.close);
        }
    }

    /// Exchanges the messages of a page. Returns when the last was over.
    ///
    /// # Errors
    /// The session ends.
    pub(super) async fn exchange_messages(
        &mut self,
        request: &Request,
        intended: Instant,
        mut keep: Option<&mut Vec<u8>>,
        last: &mut LastUsed,
    ) -> Result<Instant, Outcome> {
        let context = self.context.clone();
        let page = &context.definition.pages[usize::from(request.page)];
        let Some(ChannelUse::Message(rule)) = &page.channel else { return Ok(intended) };
        let mut ended = intended;
        if rule.sends || rule.expect.is_some() {
            for nth in 0..rule.times {
                let at = match rule.every {
                    Some(every) => intended + every.mul_f64(f64::from(nth) * context.time_scale),
                    None => ended,
                };
                if at > Instant::now() {
                    self.listen_between(rule, at).await?;
                }
                if let Some(kept) = keep.as_deref_mut() {
                    kept.clear();
                }
                // A late answer to the message before is no delay of the load generator.
                self.due = Some(at.max(ended));
                let kept = keep.as_deref_mut();
                // A message is not sent again: the server may have it.
                ended = self.visit(request, at, kept, last, &mut 0).await?.ended;
            }
        }
        Ok(ended)
    }

    /// Waits for the start of the next message. What arrives is for the next one, where that only
    /// waits for a message.
    async fn listen_between(&mut self, rule: &MessageRule, at: Instant) -> Result<(), Outcome> {
        if rule.sends {
            return self.listen_until(at).await;
        }
        self.rest_until(at).await;
        Ok(())
    }

    /// Listens for as long as a page says. Returns when that is over.
    ///
    /// # Errors
    /// The channel ended: so does the session.
    pub(super) async fn hold(&mut self, hold: Duration, from: Instant) -> Result<Instant, Outcome> {
        let until = from + hold.mul_f64(self.context.time_scale);
        self.listen_until(until).await?;
        Ok(until)
    }
}

impl RequestBuilder<'_> {
    /// Adds the header fields that ask for a channel.
    pub(super) fn ask_for(&mut self, kind: ChannelKind, request: &mut Request) {
        let key = STANDARD.encode(self.rng.random::<[u8; 16]>());
        let fields: &[(&str, &str)] = match kind {
            ChannelKind::WebSocket => &[
                ("Connection", "Upgrade"),
                ("Upgrade", "websocket"),
                ("Sec-WebSocket-Version", "13"),
                (WEBSOCKET_KEY, &key),
            ],
            ChannelKind::Events => {
                &[("Accept", "text/event-stream"), ("Accept-Encoding", "identity")]
            }
        };
        for (name, value) in fields {
            if !request.headers.iter().any(|(own, _)| own.eq_ignore_ascii_case(name)) {
                request.headers.push(((*name).to_owned(), (*value).to_owned()));
            }
        }
    }
}

/// Sends a message and waits for its answer. Returns when that came, and how many bytes of
/// messages arrived.
async fn exchange(
    channel: &mut Channel,
    rule: &MessageRule,
    request: &Request,
    keep: Option<&mut Vec<u8>>,
) -> Result<(Instant, u64), Failure> {
    if rule.sends {
        let mut text = Vec::new();
        request.body.write(&mut text);
        channel.send(String::from_utf8_lossy(&text).into_owned()).await?;
    }
    let Some(expects) = &request.expects else { return Ok((Instant::now(), 0)) };
    let mut received = 0;
    loop {
        let message = channel.receive().await?;
        let came = Instant::now();
        received += message.len() as u64;
        if memchr::memmem::find(&message, expects.as_bytes()).is_some() {
            if let Some(kept) = keep {
                kept.extend_from_slice(&message);
            }
            return Ok((came, received));
        }
    }
}
