//! Records that violate the protocol, from a server with the right keys.

use std::io::{Read, Write};

use super::*;

/// Content type and content of each record.
type Records = Vec<(ContentType, Vec<u8>)>;

#[test]
fn a_record_that_does_not_decrypt_is_an_error_and_answered_with_an_alert() {
    let mut visit = visit(false, None, |server| {
        // A record of application data that is not encrypted.
        server.flush().unwrap();
        server.sock.write_all(&[23, 3, 3, 0, 20]).unwrap();
        server.sock.write_all(&[7; 20]).unwrap();
        let error = server.read(&mut [0; 1]).unwrap_err();
        assert!(error.to_string().contains("BadRecordMac"), "{error}");
    });
    let (got, end) = visit.read(100);
    assert!(got.is_empty());
    let error = end.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    assert!(error.get_ref().unwrap().is::<rustls::Error>(), "{error}");
    // The error is final.
    assert_eq!(visit.read(100).1.unwrap_err().kind(), io::ErrorKind::NotConnected);
    visit.io.send_close_notify();
    visit.server.join().unwrap();
}

/// Sends these records, encrypted with the server's keys, to a client. Returns the bytes
/// that the client reads, how its reading ends, and the fatal alert that it sends.
fn receive(records: Records) -> (Vec<u8>, io::Result<()>, Option<u8>) {
    let (client, server) = settings(false, None);
    let (alerts, alert) = std::sync::mpsc::channel();
    let (io, server, runtime) = connect(client, move |tcp| {
        let mut server = Server::new(ServerConnection::new(server).unwrap(), tcp);
        server.flush().unwrap();
        let (conn, mut tcp) = server.into_parts();
        let secrets = conn.dangerous_extract_secrets().unwrap();
        let mut keys = Keys::new(secrets.tx);
        for (kind, content) in records {
            let mut space = vec![0; content.len() + OVERHEAD];
            keys.seal(kind, &content, &mut space).unwrap();
            // The client may have closed the connection after an error.
            let _ = tcp.write_all(&space);
        }
        tcp.shutdown(std::net::Shutdown::Write).unwrap();
        let mut answer = Vec::new();
        let _ = tcp.read_to_end(&mut answer);
        let (mut keys, mut answer, mut last) = (Keys::new(secrets.rx), &mut answer[..], None);
        while let Some(length) = record::whole(answer).unwrap() {
            let (record, rest) = answer.split_at_mut(length);
            if let (ContentType::Alert, [2, alert]) = keys.open(record).unwrap() {
                last = Some(*alert);
            }
            answer = rest;
        }
        alerts.send(last).unwrap();
    });
    let mut visit = Visit { io: io.unwrap(), server, runtime };
    let (got, end) = visit.read(1000);
    drop(visit.io);
    visit.server.join().unwrap();
    (got, end, alert.recv().unwrap())
}

#[test]
fn each_protocol_violation_has_its_error_and_its_alert() {
    use ContentType as Of;
    let inappropriate = |kind| {
        let expect_types = vec![Of::ApplicationData, Of::Handshake];
        Error::InappropriateMessage { expect_types, got_type: kind }
    };
    let request = |kind: u8| {
        let expect_types =
            vec![rustls::HandshakeType::NewSessionTicket, rustls::HandshakeType::KeyUpdate];
        Error::InappropriateHandshakeMessage { expect_types, got_type: kind.into() }
    };
    let update = || (Of::Handshake, vec![24, 0, 0, 1, 0]);
    let (unexpected, decode, overflow) = (Some(10), Some(50), Some(22));
    let cases: Vec<(&str, Records, Error, Option<u8>)> = vec![
        (
            "a malformed ticket",
            vec![(Of::Handshake, vec![4, 0, 0, 1, 0])],
            InvalidMessage::MissingData("u32").into(),
            decode,
        ),
        (
            "half a message and then data",
            vec![(Of::Handshake, vec![4, 0, 0]), (Of::ApplicationData, vec![1])],
            PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into(),
            unexpected,
        ),
        (
            "a message that is too long",
            vec![(Of::Handshake, vec![4, 1, 0, 0])],
            InvalidMessage::HandshakePayloadTooLarge.into(),
            decode,
        ),
        (
            "an empty fragment of a message",
            vec![(Of::Handshake, vec![])],
            InvalidMessage::InvalidEmptyPayload.into(),
            decode,
        ),
        (
            "a request for a certificate",
            vec![(Of::Handshake, vec![13, 0, 0, 0])],
            request(13),
            unexpected,
        ),
        (
            "a key update with an invalid request",
            vec![(Of::Handshake, vec![24, 0, 0, 1, 2])],
            InvalidMessage::InvalidKeyUpdate.into(),
            decode,
        ),
        (
            "a key update followed by other data in its record",
            vec![(Of::Handshake, vec![24, 0, 0, 1, 0, 24])],
            PeerMisbehaved::KeyEpochWithPendingFragment.into(),
            unexpected,
        ),
        (
            "a key update after which the old keys are used",
            vec![update(), update()],
            Error::DecryptError,
            Some(20),
        ),
        (
            "half an alert",
            vec![(Of::Alert, vec![1])],
            InvalidMessage::TrailingData("alert").into(),
            decode,
        ),
        (
            "an encrypted change_cipher_spec",
            vec![(Of::ChangeCipherSpec, vec![1])],
            inappropriate(Of::ChangeCipherSpec),
            unexpected,
        ),
        (
            "an unknown content type",
            vec![(Of::Unknown(77), vec![1])],
            inappropriate(Of::Unknown(77)),
            unexpected,
        ),
        (
            "nothing but padding",
            vec![(Of::Unknown(0), vec![0; 100])],
            PeerMisbehaved::IllegalTlsInnerPlaintext.into(),
            unexpected,
        ),
        (
            "more content than a record may have",
            vec![(Of::ApplicationData, vec![1; MOST_CONTENT + 1])],
            Error::PeerSentOversizedRecord,
            overflow,
        ),
        (
            "a record beyond the length limit",
            vec![(Of::ApplicationData, vec![1; MOST_CONTENT + 257])],
            Error::PeerSentOversizedRecord,
            overflow,
        ),
        (
            "an alert of the server",
            vec![(Of::Alert, vec![2, 48])],
            Error::AlertReceived(AlertDescription::UnknownCA),
            None,
        ),
    ];
    for (what, records, expected, alert) in cases {
        let (got, end, answer) = receive(records);
        assert!(got.is_empty(), "{what}");
        let error = end.expect_err(what);
        assert_eq!(error.kind(), io::ErrorKind::InvalidData, "{what}");
        let error = error.get_ref().unwrap().downcast_ref::<Error>();
        assert_eq!(error, Some(&expected), "{what}");
        assert_eq!(answer, alert, "{what}");
    }
}

#[test]
fn padding_is_removed_and_data_after_close_notify_is_not_read() {
    use ContentType as Of;
    // The content type is in front of the padding.
    let padded = (Of::Unknown(0), [b"hello", &[23][..], &[0; 100]].concat());
    let records = vec![
        padded,
        (Of::ApplicationData, vec![]),
        // user_canceled, which has no effect without close_notify.
        (Of::Alert, vec![1, 90]),
        (Of::Alert, vec![1, 0]),
        (Of::ApplicationData, b"more".to_vec()),
    ];
    let (got, end, alert) = receive(records);
    assert_eq!((got, alert), (b"hello".to_vec(), None));
    end.unwrap();
}

#[test]
fn random_records_are_read_or_are_an_error() {
    use rand::{RngExt, SeedableRng};
    let mut random = rand::rngs::StdRng::seed_from_u64(17);
    for _ in 0..60 {
        let records = (0..random.random_range(1..20)).map(|_| {
            let kind = ContentType::from(random.random_range(19..26));
            // Short lengths are likely, so that some messages are complete.
            let content = (0..random.random_range(0..40))
                .map(|_| if random.random() { random.random_range(0..30) } else { 0 })
                .collect();
            (kind, content)
        });
        let (_, end, _) = receive(records.collect());
        if let Err(error) = end {
            assert!(matches!(
                error.kind(),
                io::ErrorKind::InvalidData | io::ErrorKind::UnexpectedEof
            ));
        }
    }
}
