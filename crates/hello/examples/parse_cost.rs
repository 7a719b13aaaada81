//! What one hello costs to read: nanoseconds per hello, the median and the
//! spread of many rounds, for every captured hello.
//!
//! Counted is all that the gate does: a new reader, one push of the whole
//! hello, and dropping both. "bytewise" pushes one byte at a time.
//!
//! Run it optimised: `cargo run --release --example parse_cost -p tidegate-hello`

use std::hint::black_box;
use std::path::Path;
use std::time::Instant;

use tidegate_hello::{Limits, Progress, Reader};

const ROUNDS: usize = 41;
const HELLOS_A_ROUND: u32 = 20_000;

fn main() -> std::io::Result<()> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/captured");
    let mut files: Vec<_> = std::fs::read_dir(folder)?
        .map(|entry| entry.map(|entry| entry.path()))
        .collect::<Result<_, _>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "bin"));
    files.sort();
    println!(
        "{:<28}{:>8}{:>10}{:>10}{:>10}{:>14}",
        "hello", "bytes", "p10 ns", "median ns", "p90 ns", "bytewise ns"
    );
    for file in files {
        let bytes = std::fs::read(&file)?;
        let whole = rounds(HELLOS_A_ROUND, || read(&bytes, bytes.len()));
        let bytewise = rounds(HELLOS_A_ROUND / 100, || read(&bytes, 1));
        println!(
            "{:<28}{:>8}{:>10.0}{:>10.0}{:>10.0}{:>14.0}",
            file.file_stem().unwrap_or_default().to_string_lossy(),
            bytes.len(),
            whole[ROUNDS / 10],
            whole[ROUNDS / 2],
            whole[ROUNDS * 9 / 10],
            bytewise[ROUNDS / 2],
        );
    }
    Ok(())
}

/// Reads one hello in pieces of this many bytes.
fn read(bytes: &[u8], piece: usize) {
    let mut reader = Reader::new(Limits::default());
    let mut last = Progress::NeedsMore;
    for piece in black_box(bytes).chunks(piece) {
        last = reader.push(piece);
    }
    assert!(matches!(black_box(&last), Progress::Complete(_)));
}

/// Nanoseconds per call, sorted, one figure for each round.
fn rounds(calls: u32, mut call: impl FnMut()) -> Vec<f64> {
    let mut round = || {
        let start = Instant::now();
        (0..calls).for_each(|_| call());
        start.elapsed().as_nanos() as f64 / f64::from(calls)
    };
    round();
    let mut figures: Vec<f64> = (0..ROUNDS).map(|_| round()).collect();
    figures.sort_by(f64::total_cmp);
    figures
}
