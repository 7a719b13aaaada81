//! HTTP/2 customers who make the gate work without sending much: each is closed with the error
//! code that says so, and counted.

use crate::common::http2::*;
use crate::common::*;
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{End, Flood};

const ENHANCE_YOUR_CALM: u32 = 0xb;

/// Sends frames until the gate closes; the error code of its GOAWAY.
fn flood(gate: &Gate, mut bytes: impl FnMut(u32) -> Vec<u8>) -> u32 {
    let mut connection = connect_by_hand(gate);
    for turn in 0..20_000 {
        if write(&mut connection, &bytes(turn)).is_err() {
            break;
        }
    }
    until_goaway(&mut connection)
}

#[test]
fn rapid_resets_end_the_connection() {
    let gate = gate(hello(), "");
    let code = flood(&gate, |turn| {
        let stream = 2 * turn + 1;
        let request = frame(1, END_STREAM | END_HEADERS, stream, &head(&GET));
        [request, frame(3, 0, stream, &8_u32.to_be_bytes())].concat()
    });
    assert_eq!(code, ENHANCE_YOUR_CALM);
    counted(&gate, "closed", |totals| totals.ends[End::Flood] == 1);
    assert!(gate.totals().requests.values().iter().sum::<u64>() <= 200, "no work without end");
    assert_eq!(gate.totals().in_requests, 0);
}

#[test]
fn floods_of_control_frames_end_the_connection() {
    let gate = gate(hello(), "");
    let open = |turn| match turn {
        0 => frame(1, END_HEADERS, 1, &head(&GET)),
        _ => Vec::new(),
    };
    type Flooding = Box<dyn FnMut(u32) -> Vec<u8>>;
    let floods: [Flooding; 6] = [
        Box::new(|_| frame(6, 0, 0, &[0; 8])),
        Box::new(|_| frame(4, 0, 0, &[])),
        Box::new(|_| frame(8, 0, 0, &1_u32.to_be_bytes())),
        Box::new(|_| frame(2, 0, 1, &[0, 0, 0, 3, 9])),
        Box::new(|_| frame(0x77, 0, 0, &[])),
        Box::new(move |turn| [open(turn), frame(0, 0, 1, &[])].concat()),
    ];
    for (at, bytes) in floods.into_iter().enumerate() {
        assert_eq!(flood(&gate, bytes), ENHANCE_YOUR_CALM, "flood {at}");
    }
    counted(&gate, "closed", |totals| totals.ends[End::Flood] == 6);
    assert!(gate.totals().http2_floods[Flood::ControlFrames] >= 5);
}

#[test]
fn a_head_without_end_ends_the_connection() {
    let gate = gate(hello(), "");
    for part in [&b""[..], &head(&[("a", "b")])] {
        let code = flood(&gate, |turn| match turn {
            0 => frame(1, END_STREAM, 1, &head(&GET)),
            _ => frame(9, 0, 1, part),
        });
        assert_eq!(code, ENHANCE_YOUR_CALM);
    }
    counted(&gate, "closed", |totals| totals.ends[End::Flood] == 2);
}

#[test]
fn a_head_that_is_too_large_is_refused_and_the_connection_goes_on() {
    let gate = gate(hello(), "[limits]\nhead_max_bytes = \"8KiB\"\nhead_max_fields = 20\n");
    run(async {
        let sender = connect_http2(&gate).await;
        let mut fields = request("GET", "/");
        for at in 0..25 {
            fields = fields.header(format!("x-{at}"), "1");
        }
        let (answer, _) = exchange(&sender, fields).await.unwrap();
        assert_eq!(answer.status().as_u16(), 431, "too many fields");
        assert_eq!(exchange(&sender, request("GET", "/")).await.unwrap().1, b"hello");
    });
    let mut connection = connect_by_hand(&gate);
    let large = head(&[("x", &"y".repeat(120))]).repeat(100);
    let large = [&head(&GET)[..], &large].concat();
    write(&mut connection, &frame(1, END_STREAM | END_HEADERS, 1, &large)).unwrap();
    assert_eq!(until_frame(&mut connection, 1).0, 1, "answered with an error");
}

#[test]
fn a_head_that_is_never_complete_is_cut_at_its_deadline() {
    let gate = gate(hello(), "[limits]\nhead_deadline = \"300ms\"\n");
    let mut connection = connect_by_hand(&gate);
    write(&mut connection, &frame(1, END_STREAM, 1, &head(&GET))).unwrap();
    assert_eq!(until_goaway(&mut connection), 0);
    counted(&gate, "cut", |totals| totals.ends[End::HeadDeadline] == 1);
    // A preface that is never complete has no connection that could say so.
    let mut connection = connect(&gate, &std::sync::Arc::new(http2_client()));
    write(&mut connection, &PREFACE[..10]).unwrap();
    counted(&gate, "cut", |totals| totals.ends[End::HeadDeadline] == 2);
}

#[test]
fn more_streams_than_allowed_are_refused() {
    let (upstream, requested, go) = answering_on_request();
    let gate = gate(upstream, "[limits]\nhttp2_streams = 1\n");
    let mut connection = connect_by_hand(&gate);
    let mut long = GET;
    long[3].1 = "/long";
    write(&mut connection, &frame(1, END_STREAM | END_HEADERS, 1, &head(&long))).unwrap();
    comes_to_the_upstream(&gate, &requested);
    write(&mut connection, &frame(1, END_STREAM | END_HEADERS, 3, &head(&GET))).unwrap();
    let (stream, code) = until_frame(&mut connection, 3);
    assert_eq!((stream, &code[..]), (3, &7_u32.to_be_bytes()[..]), "REFUSED_STREAM");
    go.send(()).unwrap();
    assert_eq!(until_frame(&mut connection, 1).0, 1);
}

#[test]
fn frames_that_break_http2_end_the_connection_with_their_error_code() {
    let gate = gate(hello(), "");
    let mut connection = connect_by_hand(&gate);
    // PING on a stream.
    write(&mut connection, &frame(6, 0, 1, &[0; 8])).unwrap();
    assert_eq!(until_goaway(&mut connection), 1, "PROTOCOL_ERROR");
    counted(&gate, "closed", |totals| totals.ends[End::BadRequest] == 1);
}
