//! Answers to connections that the gate closes before HTTP: resets, TLS alerts and
//! fixed responses. They cost as little as possible.

use crate::config::Refusal;
use crate::socket::{self, Arrival, Scheme};
use rustls::AlertDescription;
use std::net::TcpStream;
use tidegate_trace::Outcome;

/// The answer to plain HTTP on the TLS port.
pub const CLEAR_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 69\r\nConnection: close\r\n\r\n\
This port speaks HTTPS only. Please use https:// instead of http://\r\n";

/// The answer to anything but HTTP on the plain HTTP port: a browser that tried TLS
/// does not show it, but a packet capture does.
pub const NOT_HTTP: &[u8] = b"HTTP/1.1 400 Bad Request\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 74\r\nConnection: close\r\n\r\n\
This port serves plain HTTP only. Please use http:// instead of https://\r\n";

/// The answer to a new session that is refused over plain HTTP.
const FULL: &[u8] = b"HTTP/1.1 503 Service Unavailable\r\n\
Content-Type: text/plain; charset=utf-8\r\nContent-Length: 68\r\nCache-Control: no-store\r\n\
Retry-After: 5\r\nConnection: close\r\n\r\n\
The site is full at the moment. Please try again in a few seconds.\r\n";

/// Refuses a connection as configured.
pub fn refuse(how: Refusal, mut arrival: Arrival) {
    arrival.ends(Outcome::Refused);
    let Arrival { socket, scheme, .. } = arrival;
    match (how, scheme) {
        // A page is made elsewhere, while the room's share of the processors suffices.
        (Refusal::Reset | Refusal::Page, _) => socket::reset(socket),
        // The alert says that the fault is not the client's.
        (Refusal::Alert, Scheme::Https) => send_alert(socket, AlertDescription::InternalError),
        (Refusal::Alert, Scheme::Http) => socket::send_and_close(socket, FULL),
    }
}

/// Closes a connection without a word, by a reset.
pub fn reset(mut arrival: Arrival) {
    arrival.ends(Outcome::Refused);
    socket::reset(arrival.socket);
}

/// Sends a fatal alert, unencrypted, and closes.
///
/// Source: RFC 8446, section 6.
pub fn send_alert(socket: TcpStream, alert: AlertDescription) {
    socket::send_and_close(socket, &[21, 3, 3, 0, 2, 2, u8::from(alert)]);
}

/// The same if there is an alert to send; without one it only closes.
pub fn send_last_alert(socket: TcpStream, alert: Option<AlertDescription>) {
    match alert {
        Some(alert) => send_alert(socket, alert),
        None => drop(socket),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_fixed_answers_have_the_length_that_they_declare() {
        for answer in [CLEAR_HTTP, NOT_HTTP, FULL] {
            let text = std::str::from_utf8(answer).unwrap();
            let (head, body) = text.split_once("\r\n\r\n").unwrap();
            let length = format!("Content-Length: {}\r\n", body.len());
            assert!(head.contains(&length), "{head} {length}");
        }
    }
}
