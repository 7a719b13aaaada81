//! Messages, whole and in pieces, sound and broken.

use super::*;
use proptest::prelude::*;

const LIMITS: Limits = Limits { head_bytes: 8192, fields: 20 };

const PLAIN: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const SIZED: &str = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhe\nlo";
const CHUNKED: &str =
    "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhe\rlo\r\n0\r\nA: b\r\n\r\n";

fn read(text: &str) -> Result<(), Broken> {
    Reader::requests(LIMITS).feed(text.as_bytes())
}

/// The fault in a text, and where its clean part ends.
fn fault(text: &str) -> (usize, Part, Rule) {
    let Broken { clean, fault } = read(text).expect_err(text);
    (clean, fault.part, fault.rule)
}

/// The fault in the lines of a head.
fn head_fault(lines: &str) -> Rule {
    let text = format!("{SIZED}POST / HTTP/1.1\r\n{lines}\r\n");
    let (clean, part, rule) = fault(&text);
    assert_eq!((clean, part), (SIZED.len(), Part::Head), "{lines}");
    rule
}

/// The fault in a chunked body, of which so many bytes are clean.
fn body_fault(body: &str) -> (usize, Part, Rule) {
    let head = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
    let (clean, part, rule) = fault(&format!("{head}{body}"));
    (clean - head.len(), part, rule)
}

#[test]
fn sound_messages_in_a_row_are_accepted() {
    assert_eq!(read(&[PLAIN, SIZED, CHUNKED, "\r\n", PLAIN, CHUNKED, SIZED].concat()), Ok(()));
}

#[test]
fn a_line_ends_with_cr_and_lf() {
    assert_eq!(head_fault("Host: a\n"), Rule::LineEnd);
    assert_eq!(head_fault("Host: a\r\n\n"), Rule::LineEnd);
    assert_eq!(head_fault("Host: a\rb\r\n"), Rule::FieldValue);
    assert_eq!(fault("\nGET / HTTP/1.1\r\n"), (0, Part::Head, Rule::LineEnd));
    assert_eq!(body_fault("0\r\n\n"), (3, Part::Trailer, Rule::LineEnd));
    assert_eq!(body_fault("5\nhello\r\n"), (0, Part::Chunk, Rule::LineEnd));
    assert_eq!(body_fault("0\r\nA: b\nC: d\r\n\r\n"), (3, Part::Trailer, Rule::LineEnd));
}

#[test]
fn the_length_of_a_request_is_given_once() {
    assert_eq!(head_fault("Content-Length: 5\r\nTransfer-Encoding: chunked\r\n"), Rule::TwoLengths);
    assert_eq!(head_fault("transfer-encoding: chunked\r\nCONTENT-LENGTH: 5\r\n"), Rule::TwoLengths);
    assert_eq!(head_fault("Content-Length: 5\r\nContent-Length: 6\r\n"), Rule::Length);
    assert_eq!(head_fault("Content-Length: 5, 5\r\n"), Rule::Length);
    assert_eq!(head_fault("Content-Length: \r\n"), Rule::Length);
    assert_eq!(head_fault("Transfer-Encoding: gzip\r\n"), Rule::Coding);
    assert_eq!(head_fault("Transfer-Encoding: chunked\r\nTransfer-Encoding: x\r\n"), Rule::Coding);
    assert_eq!(head_fault("Transfer-Encoding: xchunked\r\n"), Rule::Coding);
    let twice = "POST / HTTP/1.1\r\nContent-Length: 1\r\nContent-Length: 1\r\n\r\n\n";
    assert_eq!(read(twice), Ok(()));
    let old = "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n";
    assert_eq!(fault(old), (0, Part::Head, Rule::Coding));
}

#[test]
fn chunks_have_the_size_that_they_declare() {
    assert_eq!(body_fault("5\r\nhelloX\r\n"), (8, Part::Chunk, Rule::ChunkEnd));
    assert_eq!(body_fault("5\r\nhello\n"), (8, Part::Chunk, Rule::LineEnd));
    for size in ["", "x", "-5", "0x5", "5 ", " 5", "5 x", "5\0", "1000000000000000", "5;a\0b"] {
        let (clean, part, rule) = body_fault(&format!("1\r\na\r\n{size}\r\nhello\r\n"));
        assert_eq!((clean, part, rule), (6, Part::Chunk, Rule::ChunkSize), "{size}");
    }
    for size in ["5", "05", "5;a", "5 ;a=\"b c\"", "00000000000005"] {
        let body = format!("{size}\r\nhello\r\n0\r\n\r\n");
        assert_eq!(read(&CHUNKED.replace("5;x=y\r\nhe\rlo\r\n0\r\nA: b\r\n\r\n", &body)), Ok(()));
    }
}

#[test]
fn trailers_obey_the_grammar_and_the_limits_of_headers() {
    assert_eq!(body_fault("0\r\nA : b\r\n\r\n"), (3, Part::Trailer, Rule::FieldName));
    assert_eq!(body_fault("0\r\nA: b\r\n c\r\n\r\n"), (9, Part::Trailer, Rule::Folding));
    let many = "A: b\r\n".repeat(21);
    assert_eq!(body_fault(&format!("0\r\n{many}\r\n")).2, Rule::Fields);
    let long = format!("0\r\nA: {}\r\n\r\n", "x".repeat(8200));
    assert_eq!(body_fault(&long), (3, Part::Trailer, Rule::Bytes));
}

#[test]
fn a_head_is_limited_in_bytes_and_fields() {
    assert_eq!(head_fault(&"A: b\r\n".repeat(21)), Rule::Fields);
    assert_eq!(head_fault(&format!("A: {}\r\n", "x".repeat(8200))), Rule::Bytes);
}

#[test]
fn an_endless_line_takes_no_more_memory_than_its_limit() {
    for begin in ["", "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", CHUNKED] {
        let mut reader = Reader::requests(LIMITS);
        reader.feed(begin.as_bytes()).unwrap();
        let broken = (0..100_000).find_map(|_| reader.feed(b"1;").err());
        assert!(broken.is_some(), "{begin}");
        assert_eq!(reader.line.capacity(), 0);
    }
}

#[test]
fn the_bodies_of_responses_are_found() {
    let read = |to_head: bool, text: &str| {
        let mut reader = Reader::responses(LIMITS);
        reader.expect_response(to_head);
        reader.feed(text.as_bytes()).map(|()| reader.state)
    };
    let head = |fields: &str| format!("HTTP/1.1 200 OK\r\n{fields}\r\n");
    let next = "HTTP/1.1 204 No Content\r\n\r\n";
    for (to_head, text, state) in [
        (false, head("Content-Length: 3\r\n") + "a\nb" + next, State::Head),
        (false, head("Content-Length: 3, 3\r\n") + "a\nb" + next, State::Head),
        (false, head("Content-Length: 3\r\n") + "a", State::Body(2)),
        (true, head("Content-Length: 3\r\n") + next, State::Head),
        (true, head("Transfer-Encoding: chunked\r\n") + next, State::Head),
        (
            false,
            head("Transfer-Encoding: chunked\r\n") + "1\r\n\n\r\n0\r\n\r\n" + next,
            State::Head,
        ),
        (
            false,
            head("Content-Length: 9\r\nTransfer-Encoding: chunked\r\n") + "0\r\n\r\n" + next,
            State::Head,
        ),
        (false, head("Transfer-Encoding: gzip\r\n") + "any\n", State::Rest),
        (false, head("") + "any\n", State::Rest),
        (
            false,
            "HTTP/1.1 100 Continue\r\n\r\n".to_owned() + &head("Content-Length: 0\r\n"),
            State::Head,
        ),
        (false, "HTTP/1.1 101 Switching Protocols\r\n\r\n\0".to_owned(), State::Rest),
        (false, "HTTP/1.1 200\r\nContent-Length: 0\r\n\r\n".to_owned(), State::Head),
    ] {
        assert_eq!(read(to_head, &text), Ok(state), "{text}");
    }
    let rule = |text: &str| read(false, text).unwrap_err().fault.rule;
    assert_eq!(rule("HTTP/1.1 200 OK\n"), Rule::LineEnd);
    assert_eq!(rule("\r\nHTTP/1.1 200 OK\r\n"), Rule::StartLine);
    assert_eq!(rule("HTTP/2.0 200 OK\r\n"), Rule::Version);
    assert_eq!(rule("HTTP/1.1 20 OK\r\n"), Rule::StartLine);
    assert_eq!(rule(&head("Content-Length: 3, 4\r\n")), Rule::Length);
    assert_eq!(rule("HTTP/1.0 200 OK\r\nTransfer-Encoding: chunked\r\n"), Rule::Coding);
}

proptest! {
    #[test]
    fn every_split_finds_the_same_fault(
        cuts in proptest::collection::vec(0usize..600, 0..6),
        bad in proptest::option::of((0usize..600, any::<u8>())),
    ) {
        let mut text = [SIZED, CHUNKED, PLAIN, "\r\n", CHUNKED, PLAIN].concat().into_bytes();
        if let Some((at, byte)) = bad {
            let at = at % text.len();
            text[at] = byte;
        }
        let whole = Reader::requests(LIMITS).feed(&text).map_err(|broken| broken.fault);
        let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let mut reader = Reader::requests(LIMITS);
        let mut pieces = cuts.windows(2).map(|pair| reader.feed(&text[pair[0]..pair[1]]));
        let split = pieces.find_map(Result::err).map(|broken| broken.fault);
        prop_assert_eq!(split, whole.err());
    }

    #[test]
    fn any_bytes_are_read(junk in proptest::collection::vec(any::<u8>(), 0..500)) {
        let _ = Reader::requests(LIMITS).feed(&junk);
        let _ = Reader::responses(LIMITS).feed(&junk);
    }
}
