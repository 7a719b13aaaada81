//! Messages that are refused: in every format, and by what one format alone has.

mod arbitrary;
mod cose;
mod http_signatures;
mod jose;
mod wrapping;
mod xml;

use std::io::Write as _;

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use super::Format;
use crate::{Channel, Keys, MOST_PAYLOAD, Message, Operation, Party, Refused, Scene, Wire};

/// The formats that protect messages.
const PROTECTED: [Format; 4] = [Format::Jose, Format::Cose, Format::HttpSignatures, Format::Xml];
const NOW: u64 = 1_700_000_000_000;
const SCENE: Scene =
    Scene::Request { method: "POST", authority: "127.0.0.1:8080", path: "/messages" };

/// Both ends of a conversation, and the client's keys once more to forge with.
struct Ends {
    client: Channel,
    server: Channel,
    forger: Keys,
}

impl Ends {
    fn new(format: Format) -> Self {
        let (client, server) = Keys::generate().unwrap();
        let forger = again(&client);
        let channel = |keys| Channel::new(format, keys).unwrap();
        Self { client: channel(client), server: channel(server), forger }
    }

    fn send(&self, message: &Message) -> Wire {
        self.client.protect(message, &SCENE).unwrap()
    }

    fn receive(&self, wire: &Wire) -> Result<Message, Refused> {
        self.receive_at(wire, NOW)
    }

    fn receive_at(&self, wire: &Wire, now: u64) -> Result<Message, Refused> {
        self.server.receive(&wire.headers, &wire.body, &SCENE, now)
    }

    /// What the server says to a body with the format's Content-Type.
    fn forged(&self, body: impl Into<Bytes>) -> Result<Message, Refused> {
        let media_type = HeaderValue::from_static(self.client.format().media_type());
        let headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
        self.receive(&Wire { headers, body: body.into() })
    }

    /// The server's answer to a request that it accepts.
    fn answer(&self, request: &Wire) -> Wire {
        let answer = self.receive(request).unwrap().answer(1, NOW).unwrap();
        self.server.protect(&answer, &answer_to(request)).unwrap()
    }
}

/// A compressed body.
fn gzip(body: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(body).unwrap();
    encoder.finish().unwrap()
}

/// The client's keys once more.
fn again(keys: &Keys) -> Keys {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("client.json");
    keys.write(&file).unwrap();
    Keys::read(&file, Party::Client).unwrap()
}

fn answer_to(request: &Wire) -> Scene<'_> {
    Scene::Answer { status: 200, request: &request.headers }
}

fn request() -> Message {
    Message::request(Operation::Echo, "five!".into(), NOW).unwrap()
}

#[test]
fn a_message_is_answered_in_every_format() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        // Some characters need more room: `"` in JSON, `&` in XML.
        for (character, length) in [("<", 0), ("<", 200), ("\"", MOST_PAYLOAD), ("&", MOST_PAYLOAD)]
        {
            let payload = character.repeat(length);
            let request = Message::request(Operation::Echo, payload, NOW).unwrap();
            let sent = ends.send(&request);
            let answer = ends.answer(&sent);
            let scene = answer_to(&sent);
            let (headers, body) = (&answer.headers, &answer.body);
            let read = ends.client.receive_answer(headers, body, &scene, request.id, NOW).unwrap();
            assert!(read.answers(&request), "{format} {length}");
        }
    }
}

#[test]
fn a_message_with_another_key_is_refused() {
    for format in PROTECTED {
        let (ends, others) = (Ends::new(format), Ends::new(format));
        let expected =
            if format.is_confidential() { Refused::Decryption } else { Refused::Signature };
        assert_eq!(ends.receive(&others.send(&request())), Err(expected), "{format}");
    }
}

#[test]
fn a_body_that_was_altered_anywhere_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let sent = ends.send(&request());
        for at in 0..sent.body.len() {
            for flip in [1, 0x80] {
                let mut body = sent.body.to_vec();
                body[at] ^= flip;
                let altered = Wire { headers: sent.headers.clone(), body: body.into() };
                assert!(ends.receive(&altered).is_err(), "{format}: byte {at}");
            }
        }
        for length in 0..sent.body.len() {
            let body = sent.body.slice(..length);
            assert!(ends.receive(&Wire { body, headers: sent.headers.clone() }).is_err());
        }
        let body = Bytes::from([sent.body.as_ref(), b" "].concat());
        assert!(ends.receive(&Wire { body, headers: sent.headers.clone() }).is_err(), "{format}");
        assert!(ends.receive(&sent).is_ok(), "{format}: what is refused is not remembered");
    }
}

#[test]
fn a_replayed_message_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let sent = ends.send(&request());
        assert!(ends.receive(&sent).is_ok());
        assert_eq!(ends.receive(&sent), Err(Refused::Replayed), "{format}");
        assert_eq!(ends.receive_at(&sent, NOW + 60_000), Err(Refused::Replayed), "{format}");
        assert_eq!(ends.receive_at(&sent, NOW + 63_000), Err(Refused::Stale), "{format}");
    }
}

#[test]
fn a_message_that_is_old_or_from_the_future_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let sent = ends.send(&request());
        assert_eq!(ends.receive_at(&sent, NOW + 60_001), Err(Refused::Stale), "{format}");
        assert_eq!(ends.receive_at(&sent, NOW - 5_001), Err(Refused::Future), "{format}");
    }
}

#[test]
fn a_message_for_or_from_another_is_refused_although_the_signature_is_right() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let misdirected = Message { recipient: Party::Client, ..request() };
        assert_eq!(ends.receive(&ends.send(&misdirected)), Err(Refused::Recipient), "{format}");
        let pretended = Message { sender: Party::Server, ..request() };
        assert_eq!(ends.receive(&ends.send(&pretended)), Err(Refused::Sender), "{format}");
        let answer = Message { in_reply_to: Some(request().id), ..request() };
        assert_eq!(ends.receive(&ends.send(&answer)), Err(Refused::Unbound), "{format}");
    }
}

#[test]
fn a_message_sent_back_to_its_sender_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let message = request();
        let sent = ends.send(&message);
        let scene = answer_to(&sent);
        let (headers, body) = (&sent.headers, &sent.body);
        let back = ends.client.receive_answer(headers, body, &scene, message.id, NOW);
        assert!(back.is_err(), "{format}");
    }
}

#[test]
fn an_answer_to_another_request_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let (one, two) = (request(), request());
        let (first, second) = (ends.send(&one), ends.send(&two));
        let (answer, _) = (ends.answer(&first), ends.answer(&second));
        let receive = |to: &Message, request: &Wire| {
            let scene = answer_to(request);
            ends.client.receive_answer(&answer.headers, &answer.body, &scene, to.id, NOW)
        };
        assert!(receive(&one, &first).is_ok());
        let expected =
            if format == Format::HttpSignatures { Refused::Signature } else { Refused::Unbound };
        assert_eq!(receive(&two, &second), Err(expected), "{format}");
        assert_eq!(receive(&two, &first), Err(Refused::Unbound), "{format}");
    }
}

#[test]
fn an_oversized_message_is_refused_before_it_is_read() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let body = vec![b'A'; format.most_body() + 1];
        assert_eq!(ends.forged(body), Err(Refused::TooLarge), "{format}");
    }
}

#[test]
fn a_message_of_another_format_or_with_two_content_types_is_refused() {
    for format in PROTECTED {
        let ends = Ends::new(format);
        let sent = ends.send(&request());
        let mut headers = sent.headers.clone();
        headers.append(CONTENT_TYPE, HeaderValue::from_static(format.media_type()));
        let twice = Wire { headers, body: sent.body.clone() };
        assert_eq!(ends.receive(&twice), Err(Refused::RepeatedHeader), "{format}");
        for other in PROTECTED.into_iter().filter(|other| *other != format) {
            let others = Ends::new(other);
            let expected = Err(Refused::MediaType);
            assert_eq!(others.receive(&sent), expected, "{format} to {other}");
        }
        let plain = Channel::unprotected(Party::Client).protect(&request(), &SCENE).unwrap();
        assert!(ends.receive(&plain).is_err(), "{format}: without protection");
        assert!(ends.forged(plain.body).is_err(), "{format}: without protection");
    }
}
