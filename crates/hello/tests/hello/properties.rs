//! Properties of every hello, every split and every change.

use crate::support::{CAPTURED, Draft, answer, hello};
use proptest::prelude::*;
use tidegate_hello::{Limits, Progress, Reader};

const SMALL: Limits = Limits { bytes: 2048, extensions: 12, identities: 1 };

/// A captured hello, split into records of this many bytes.
fn any_hello() -> impl Strategy<Value = Vec<u8>> {
    (0..CAPTURED.len(), 100..2500_usize).prop_map(|(index, size)| {
        let message = &CAPTURED[index].1[5..];
        message.chunks(size).flat_map(|part| crate::support::record(22, part)).collect()
    })
}

/// A hello with bytes changed, removed or inserted, and bytes after it.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let change = (any::<prop::sample::Index>(), any::<u8>(), 0..4_u8);
    let behind = prop::collection::vec(any::<u8>(), 0..40);
    (any_hello(), prop::collection::vec(change, 0..6), behind).prop_map(
        |(mut bytes, changes, behind)| {
            for (place, value, kind) in changes {
                let place = place.index(bytes.len());
                match kind {
                    0 => bytes[place] = value,
                    1 => bytes[place] ^= 1 << (value % 8),
                    2 => drop(bytes.remove(place)),
                    _ => bytes.insert(place, value),
                }
            }
            bytes.extend(behind);
            bytes
        },
    )
}

/// Pushes the bytes in pieces of these lengths, repeated, until there is a result;
/// checks after each piece what the reader holds.
fn in_pieces(bytes: &[u8], pieces: &[usize], limits: Limits) -> Progress {
    let mut reader = Reader::new(limits);
    let (mut rest, longest) = (bytes, pieces.iter().max().expect("not empty"));
    let mut pieces = pieces.iter().cycle();
    let mut last = reader.push(&[]);
    while last == Progress::NeedsMore && !rest.is_empty() {
        let piece = rest.len().min(*pieces.next().expect("it never ends"));
        let (now, later) = rest.split_at(piece);
        last = reader.push(now);
        rest = later;
        assert_eq!(reader.raw(), &bytes[..bytes.len() - rest.len()]);
        assert!(reader.raw().len() < limits.bytes + piece);
    }
    assert!(reader.into_raw().capacity() <= limits.bytes + longest);
    last
}

#[test]
fn every_prefix_of_a_good_hello_needs_more() {
    for (name, bytes) in CAPTURED {
        for end in 0..bytes.len() {
            assert_eq!(answer(&bytes[..end]), Progress::NeedsMore, "{name} at {end}");
        }
    }
}

#[test]
fn a_good_hello_byte_by_byte_is_the_same_hello() {
    for (name, bytes) in CAPTURED {
        let last = in_pieces(bytes, &[1], Limits::default());
        assert_eq!(last, Progress::Complete(hello(bytes)), "{name}");
    }
}

proptest! {
    #[test]
    fn every_prefix_of_a_split_hello_needs_more(bytes in any_hello()) {
        for end in 0..bytes.len() {
            prop_assert_eq!(answer(&bytes[..end]), Progress::NeedsMore);
        }
        prop_assert!(matches!(answer(&bytes), Progress::Complete(_)));
    }

    #[test]
    fn every_split_gives_the_same_result(
        bytes in damaged(),
        pieces in prop::collection::vec(1..400_usize, 1..20),
        small in any::<bool>(),
    ) {
        let limits = if small { SMALL } else { Limits::default() };
        let whole = Reader::new(limits).push(&bytes);
        prop_assert_eq!(in_pieces(&bytes, &pieces, limits), whole.clone());
        prop_assert_eq!(in_pieces(&bytes, &[1], limits), whole);
    }

    #[test]
    fn random_bytes_never_panic_and_never_exceed_the_cap(
        bytes in prop::collection::vec(any::<u8>(), 0..5000),
        tls in any::<bool>(),
        pieces in prop::collection::vec(1..700_usize, 1..9),
    ) {
        let start: &[u8] = if tls { &[22, 3, 1] } else { &[] };
        let bytes = [start, &bytes].concat();
        prop_assert_eq!(in_pieces(&bytes, &pieces, SMALL), Reader::new(SMALL).push(&bytes));
    }

    #[test]
    fn a_random_extension_never_panics(kind in prop::sample::select(vec![
        0_u16, 10, 11, 13, 16, 23, 35, 41, 42, 43, 45, 51, 0xfe0d, 0x1a1a,
    ]), body in prop::collection::vec(any::<u8>(), 0..300)) {
        if let Progress::Complete(hello) = answer(&Draft::default().with(kind, body).record()) {
            let identities: Vec<&[u8]> = hello.psk_identities().collect();
            prop_assert_eq!(identities.len(), hello.psk_offered().min(4));
            prop_assert!(hello.alpn().all(|protocol| !protocol.is_empty()));
            prop_assert!(hello.key_share_groups().count() <= 60);
        }
    }

    #[test]
    fn a_reader_with_a_result_stays_bounded(bytes in damaged(), more in 1..300_usize) {
        let mut reader = Reader::new(SMALL);
        let _ = reader.push(&bytes);
        for _ in 0..40 {
            let _ = reader.push(&vec![22; more]);
        }
        prop_assert!(reader.raw().len() < SMALL.bytes.max(bytes.len()) + more);
    }
}
