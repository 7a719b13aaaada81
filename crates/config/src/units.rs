//! Durations (`250ms`, `10s`, `12h`) and sizes (`64KiB`) as people write them.

use std::time::Duration;

/// Units of time, largest first, in nanoseconds; the last two are read only.
const TIME: [(&str, u128); 9] = [
    ("d", 86_400_000_000_000),
    ("h", 3_600_000_000_000),
    ("m", 60_000_000_000),
    ("s", 1_000_000_000),
    ("ms", 1_000_000),
    ("us", 1_000),
    ("ns", 1),
    ("min", 60_000_000_000),
    ("µs", 1_000),
];

/// Units of size, largest first, in bytes; the decimal ones are read only.
const SIZE: [(&str, u128); 7] = [
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("B", 1),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("KB", 1_000),
];

/// Reads a duration: a whole or decimal number and a unit of `d`, `h`,
/// `m` or `min`, `s`, `ms`, `us` or `µs`, `ns`. None for anything else, and
/// beyond 584 years.
pub fn parse_duration(text: &str) -> Option<Duration> {
    let nanos = u64::try_from(parse(text, &TIME)?).ok()?;
    Some(Duration::from_nanos(nanos))
}

/// Writes a duration in the largest unit that needs no fraction.
pub fn show_duration(duration: Duration) -> String {
    show(duration.as_nanos(), &TIME[..7], "s")
}

/// Reads a size in bytes: a whole or decimal number and a unit of `B`, `KiB`,
/// `MiB`, `GiB` (or, times 1000, `KB`, `MB`, `GB`).
pub fn parse_size(text: &str) -> Option<u64> {
    u64::try_from(parse(text, &SIZE)?).ok()
}

/// Writes a size in the largest binary unit that needs no fraction.
pub fn show_size(bytes: u64) -> String {
    show(bytes.into(), &SIZE[..4], "B")
}

/// Number times unit, rounded down to a whole; none when it is not of that
/// form or overflows.
fn parse(text: &str, units: &[(&str, u128)]) -> Option<u128> {
    let split = text.find(|c: char| !c.is_ascii_digit() && c != '.')?;
    let (number, unit) = text.split_at(split);
    let unit = unit.trim_start_matches(' ');
    let scale = units.iter().find(|(name, _)| *name == unit)?.1;
    let (whole, fraction) = number.split_once('.').unwrap_or((number, "0"));
    let digits = |text: &str| (1..=18).contains(&text.len()).then(|| text.parse::<u128>().ok())?;
    let (whole, fraction_value) = (digits(whole)?, digits(fraction)?);
    let part = fraction_value * scale / 10_u128.pow(fraction.len() as u32);
    Some(whole * scale + part)
}

fn show(value: u128, units: &[(&str, u128)], zero: &str) -> String {
    if value == 0 {
        return format!("0{zero}");
    }
    let fits = units.iter().find(|(_, scale)| value.is_multiple_of(*scale));
    let (name, scale) = fits.expect("the smallest unit is 1 and divides everything");
    format!("{}{name}", value / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_read_as_written() {
        let cases = [
            ("250ms", Some(Duration::from_millis(250))),
            ("10s", Some(Duration::from_secs(10))),
            ("1.5h", Some(Duration::from_secs(5400))),
            ("12h", Some(Duration::from_secs(43_200))),
            ("7d", Some(Duration::from_secs(604_800))),
            ("0s", Some(Duration::ZERO)),
            ("3 s", Some(Duration::from_secs(3))),
            ("1.5min", Some(Duration::from_secs(90))),
            ("20µs", Some(Duration::from_micros(20))),
            ("10", None),
            ("s", None),
            (".5s", None),
            ("1.s", None),
            ("1.2.3s", None),
            ("-1s", None),
            ("1e3s", None),
            ("10S", None),
            ("", None),
            ("999999999999999999d", None),
            ("9999999999999999999999999999s", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_duration(text), expected, "{text:?}");
        }
    }

    #[test]
    fn sizes_read_as_written() {
        let cases = [
            ("64KiB", Some(65_536)),
            ("16MiB", Some(16 << 20)),
            ("0B", Some(0)),
            ("1.5KiB", Some(1_536)),
            ("2MB", Some(2_000_000)),
            ("64kib", None),
            ("64", None),
            ("999999999999999999GiB", None),
        ];
        for (text, expected) in cases {
            assert_eq!(parse_size(text), expected, "{text:?}");
        }
    }

    #[test]
    fn values_are_shown_in_the_largest_whole_unit() {
        assert_eq!(show_duration(Duration::from_millis(1500)), "1500ms");
        assert_eq!(show_duration(Duration::from_secs(7200)), "2h");
        assert_eq!(show_duration(Duration::ZERO), "0s");
        assert_eq!(show_size(65_536), "64KiB");
        assert_eq!(show_size(1_000), "1000B");
    }

    proptest::proptest! {
        #[test]
        fn what_is_shown_reads_back(nanos in 0..u64::MAX, bytes in 0..u64::MAX) {
            let duration = Duration::from_nanos(nanos);
            // Numbers of more than 18 digits are refused; these are above 31 years in ns.
            if nanos < 1_000_000_000_000_000_000 {
                proptest::prop_assert_eq!(parse_duration(&show_duration(duration)), Some(duration));
            }
            if bytes < 1_000_000_000_000_000_000 {
                proptest::prop_assert_eq!(parse_size(&show_size(bytes)), Some(bytes));
            }
        }

        #[test]
        fn no_text_panics(text in ".{0,40}") {
            parse_duration(&text);
            parse_size(&text);
        }
    }
}
