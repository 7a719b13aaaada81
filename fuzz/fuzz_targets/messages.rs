//! Passes bytes to the receiver of messages in every format: as they are, as changes to a valid
//! message, in place of the signed message inside of an encryption that is right, and in place
//! of the content inside of a signature that is right. Only the valid message is accepted, and
//! such content as is a message, each once.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites messages`

#![no_main]

use http::HeaderMap;
use libfuzzer_sys::fuzz_target;
use std::sync::LazyLock;
use tidegate_messages::{
    Channel, Format, Keys, Layer, MOST_PAYLOAD, Message, Operation, Refused, Scene, Wire, now_ms,
};

const SCENE: Scene = Scene::Request { method: "POST", authority: "x", path: "/messages" };

/// Both ends of a conversation, and a request of it.
struct Ends {
    client: Channel,
    server: Channel,
    valid: Wire,
}

impl Ends {
    fn new(format: Format) -> Self {
        let (client, server) = Keys::generate().expect("the system has randomness");
        let channel = |keys| Channel::new(format, keys).expect("the keys are right");
        let (client, server) = (channel(client), channel(server));
        let message = Message::request(Operation::Echo, "a < b & c".into(), now_ms());
        let message = message.expect("the payload is one");
        let valid = client.protect(&message, &SCENE).expect("it is written");
        Self { client, server, valid }
    }

    fn open(&self, headers: &HeaderMap, body: &[u8]) -> Result<Message, Refused> {
        self.server.open(headers, body, &SCENE)
    }

    /// What a holder of the keys wrote is accepted once, if it is a message.
    fn receive(&self, wire: &Wire) {
        let Ok(message) = self.open(&wire.headers, &wire.body) else { return };
        assert!(message.payload.len() <= MOST_PAYLOAD && message.payload.is_ascii());
        let now = message.issued_ms.min(u64::MAX / 2);
        let receive = || self.server.receive(&wire.headers, &wire.body, &SCENE, now);
        if receive().is_ok() {
            assert!(message.in_reply_to.is_none());
            assert_eq!(receive(), Err(Refused::Replayed));
        }
    }
}

static ALL: LazyLock<Vec<Ends>> = LazyLock::new(|| {
    let protected = Format::ALL.into_iter().filter(|format| *format != Format::None);
    protected.map(Ends::new).collect()
});

fuzz_target!(|bytes: &[u8]| {
    for ends in ALL.iter() {
        let Wire { headers, body } = &ends.valid;
        assert!(ends.open(headers, bytes).is_err());
        assert!(ends.open(headers, body).is_ok());

        if let Some(wire) = ends.client.forge(Layer::Signed, bytes, &SCENE) {
            assert!(ends.open(&wire.headers, &wire.body).is_err());
        }
        if let Some(wire) = ends.client.forge(Layer::Content, bytes, &SCENE) {
            ends.receive(&wire);
        }

        // Changes: position and mask, then a length.
        let mut changed = body.to_vec();
        for change in bytes.chunks_exact(3) {
            let at = usize::from(u16::from_le_bytes([change[0], change[1]])) % changed.len();
            changed[at] ^= change[2];
        }
        if bytes.len() % 3 == 2 {
            let length = usize::from(u16::from_le_bytes([bytes[0], bytes[1]]));
            changed.resize(length.min(body.len() + 16), 0);
        }
        assert_eq!(ends.open(headers, &changed).is_ok(), changed == *body);
    }
});
