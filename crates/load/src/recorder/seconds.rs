//! The run second by second, as CSV (RFC 4180) with a head line. All fields are
//! numbers, so none needs quotes.

use std::fs::File;
use std::io::{self, BufWriter, Write};

use super::file::Rows;
use crate::result::series::Point;

/// A line each.
#[derive(Debug)]
pub(super) struct Seconds(BufWriter<File>);

/// A column's name, and its value of a second.
type Column = (&'static str, fn(&Point) -> f64);

/// All columns; names as in the summary's series.
const COLUMNS: &[Column] = &[
    ("at_s", |p| p.at_s),
    ("length_s", |p| p.length_s),
    ("measured", |p| f64::from(u8::from(p.measured))),
    ("offered_per_s", |p| p.offered_per_s),
    ("admitted_per_s", |p| p.admitted_per_s),
    ("refused_per_s", |p| p.refused_per_s),
    ("completed_per_s", |p| p.completed_per_s),
    ("abandoned_per_s", |p| p.abandoned_per_s),
    ("failed_per_s", |p| p.failed_per_s),
    ("requests_per_s", |p| p.requests_per_s),
    ("full_handshakes_per_s", |p| p.full_handshakes_per_s),
    ("resumed_handshakes_per_s", |p| p.resumed_handshakes_per_s),
    ("in_flight", |p| p.in_flight as f64),
    ("response_count", |p| p.response.count as f64),
    ("response_mean_ms", |p| p.response.mean_ms),
    ("response_p50_ms", |p| p.response.p50_ms),
    ("response_p90_ms", |p| p.response.p90_ms),
    ("response_p95_ms", |p| p.response.p95_ms),
    ("response_p99_ms", |p| p.response.p99_ms),
    ("response_max_ms", |p| p.response.max_ms),
    ("driver_cpu_share", |p| p.driver_cpu_share),
    ("missed_starts", |p| p.missed_starts as f64),
    ("response_unanswered", |p| p.response.unanswered as f64),
];

/// Writes the run second by second at once, as it would have been line by line.
///
/// # Errors
/// The file cannot be written.
pub fn write_seconds(series: &[Point], to: &std::path::Path) -> io::Result<()> {
    let mut rows = Seconds::begin(File::create(to)?)?;
    series.iter().try_for_each(|second| rows.write(second))
}

impl Rows for Seconds {
    type Row<'a> = Point;

    fn begin(file: File) -> io::Result<Self> {
        let mut file = BufWriter::new(file);
        let names: Vec<&str> = COLUMNS.iter().map(|(name, _)| *name).collect();
        write!(file, "{}\r\n", names.join(","))?;
        Ok(Self(file))
    }

    fn write(&mut self, second: &Point) -> io::Result<()> {
        for (index, (_, value)) in COLUMNS.iter().enumerate() {
            let comma = if index == 0 { "" } else { "," };
            // Six digits after the point are a microsecond, and no noise.
            let value = (value(second) * 1e6).round() / 1e6;
            write!(self.0, "{comma}{value}")?;
        }
        // Flushed, so that readers of the file see each second at once.
        self.0.write_all(b"\r\n").and_then(|()| self.0.flush())
    }

    fn finish(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn abandon(self) {
        // Dropping it would try once more to flush.
        drop(self.0.into_parts());
    }
}

#[cfg(test)]
mod tests {
    use super::super::file::RowFile;
    use super::*;

    #[test]
    fn a_second_is_a_line_under_the_names_of_its_columns() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("seconds.csv");
        let mut file = RowFile::<Seconds>::create(&path).unwrap();
        let mut second = Point { at_s: 1.0, length_s: 1.0, measured: true, ..Point::default() };
        second.offered_per_s = 1.0 / 3.0;
        second.response.p95_ms = 12.5;
        file.write(&second);
        assert_eq!(file.finish(), None);
        let text = std::fs::read_to_string(path).unwrap();
        let lines: Vec<Vec<&str>> =
            text.split_terminator("\r\n").map(|line| line.split(',').collect()).collect();
        let value = |name| lines[1][lines[0].iter().position(|column| *column == name).unwrap()];
        assert_eq!((lines.len(), lines[0].len(), lines[1].len()), (2, 23, 23));
        assert_eq!((value("at_s"), value("measured")), ("1", "1"));
        assert_eq!((value("offered_per_s"), value("response_p95_ms")), ("0.333333", "12.5"));
        assert!(lines[0].contains(&"full_handshakes_per_s"));
    }
}
