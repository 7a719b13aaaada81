//! What the service tells the gate by fields of its responses: about the session of the customer,
//! and about the line of those who wait. Customers do not receive these fields.

use crate::admission::sessions::SessionConnection;
use crate::context::CoreContext;
use crate::shared::Shared;
use http::HeaderMap;
use http::header::{HeaderName, HeaderValue};
use std::time::Duration;
use tidegate_control::waiting_room::CLOSED_FOR;

const SESSION: HeaderName = HeaderName::from_static("tidegate-session");
const QUEUE: HeaderName = HeaderName::from_static("tidegate-queue");
/// Longest time that a service can ask for.
const LONGEST: Duration = Duration::from_secs(86_400);

/// What a response says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Told {
    /// About the customer's session.
    pub session: Option<SessionIs>,
    /// About the line.
    pub queue: Option<QueueIs>,
}

impl Told {
    /// Does what it says of the customer's session.
    pub fn apply_to(&self, session: &SessionConnection, context: &CoreContext) {
        match self.session {
            Some(SessionIs::Over) => session.gives_its_place_back(context.shared.now()),
            // Later nobody could show that they are its customer.
            Some(SessionIs::Kept(time)) => {
                session.keep(time.min(context.config.tls.ticket_lifetime));
            }
            None => {}
        }
    }

    /// Does what it says of the line.
    pub fn apply_to_line(&self, shared: &Shared) {
        let close_for = |time| shared.room.close_for(time, shared.unix_ms());
        match self.queue {
            None => {}
            Some(QueueIs::Open) => close_for(Duration::ZERO),
            Some(QueueIs::Closed(time)) => close_for(time.unwrap_or(CLOSED_FOR)),
        }
    }
}

/// About a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SessionIs {
    /// Over: its place goes to the next.
    Over,
    /// Active for so long after its last connection.
    Kept(Duration),
}

/// About the line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum QueueIs {
    /// It moves.
    Open,
    /// Nobody new is admitted, for so long; `None`: for as long as it is closed without a time.
    Closed(Option<Duration>),
}

/// Takes what the service says out of a response; `None`: nothing. What is not understood says
/// nothing, and customers do not receive it either.
pub fn take(headers: &mut HeaderMap) -> Option<Told> {
    let (session, queue) = (headers.remove(SESSION), headers.remove(QUEUE));
    if session.is_none() && queue.is_none() {
        return None;
    }
    let session = session.as_ref().and_then(|value| match word(value)? {
        ("end", None) => Some(SessionIs::Over),
        ("keep", Some(time)) => Some(SessionIs::Kept(time)),
        _ => None,
    });
    let queue = queue.as_ref().and_then(|value| match word(value)? {
        ("open", None) => Some(QueueIs::Open),
        ("closed", time) => Some(QueueIs::Closed(time)),
        _ => None,
    });
    Some(Told { session, queue })
}

/// A word, and the seconds after it if there are any.
fn word(value: &HeaderValue) -> Option<(&str, Option<Duration>)> {
    let text = value.to_str().ok()?.trim();
    let Some((word, seconds)) = text.split_once('=') else { return Some((text, None)) };
    let seconds = Duration::from_secs(seconds.parse::<u32>().ok()?.into());
    (!seconds.is_zero() && seconds <= LONGEST).then_some((word, Some(seconds)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn told(session: &'static str, queue: &'static str) -> Option<Told> {
        let mut headers = HeaderMap::new();
        for (name, value) in [(SESSION, session), (QUEUE, queue)] {
            if !value.is_empty() {
                headers.insert(name, HeaderValue::from_static(value));
            }
        }
        let told = take(&mut headers);
        assert!(headers.is_empty());
        told
    }

    #[test]
    fn the_fields_are_read_and_taken_out() {
        let of = |session, queue| Some(Told { session, queue });
        let hour = Duration::from_secs(3600);
        assert_eq!(told("", ""), None);
        assert_eq!(told("end", ""), of(Some(SessionIs::Over), None));
        assert_eq!(
            told(" keep=3600", "open"),
            of(Some(SessionIs::Kept(hour)), Some(QueueIs::Open))
        );
        assert_eq!(told("", "closed"), of(None, Some(QueueIs::Closed(None))));
        assert_eq!(told("", "closed=3600"), of(None, Some(QueueIs::Closed(Some(hour)))));
        for nonsense in ["keep", "keep=0", "keep=-1", "keep=86401", "end=5", "closed=x"] {
            assert_eq!(told(nonsense, ""), of(None, None), "{nonsense}");
        }
    }
}
