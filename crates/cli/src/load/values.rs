//! Values of flags: times, rates and header fields as users of other tools write them.

use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use tidegate_config::{Word, parse_duration};
use tidegate_load::Arrivals;

/// Reads one of these values by its word.
pub(super) fn word<W: Word + Send + Sync>(
    values: &'static [W],
) -> impl TypedValueParser<Value = W> {
    let of = |word: String| *values.iter().find(|it| it.word() == word).expect("it is one of them");
    PossibleValuesParser::new(values.iter().map(|value| value.word())).map(of)
}

/// Reads a time: `30s`, `500ms`, `5m`; a bare number is seconds.
pub(super) fn time(text: &str) -> Result<Duration, String> {
    let seconds = || text.parse().ok().and_then(|s| Duration::try_from_secs_f64(s).ok());
    parse_duration(text)
        .or_else(seconds)
        .ok_or_else(|| "must be a time of 0 or more, such as 30s, 500ms or 5m".to_owned())
}

/// Reads a time above 0.
pub(crate) fn length(text: &str) -> Result<Duration, String> {
    let above = "must be a time above 0, such as 30s, 500ms or 5m";
    time(text).ok().filter(|time| !time.is_zero()).ok_or_else(|| above.to_owned())
}

/// Reads the patience of a customer.
pub(crate) fn patience(text: &str) -> Result<Duration, String> {
    let within = Duration::from_millis(1)..=Duration::from_hours(24);
    let wrong = "must be 1ms to 24h, such as 10s or 500ms";
    time(text).ok().filter(|time| within.contains(time)).ok_or_else(|| wrong.to_owned())
}

/// Reads a number of 1 or more.
pub(super) fn count(text: &str) -> Result<u64, String> {
    let count = text.parse().ok().filter(|count| *count > 0);
    count.ok_or_else(|| "must be a whole number of 1 or more, such as 1000".to_owned())
}

/// Reads a rate per second: `50`, `50/s`, `3000/m`, `1000/h`.
pub(crate) fn rate(text: &str) -> Result<f64, String> {
    let (number, unit) = text.split_once('/').unwrap_or((text, "s"));
    let seconds = match unit {
        "s" => Some(1.0),
        "m" | "min" => Some(60.0),
        "h" => Some(3600.0),
        _ => None,
    };
    let rate = number.parse::<f64>().ok().zip(seconds).map(|(number, seconds)| number / seconds);
    rate.filter(|rate| *rate > 0.0 && *rate <= Arrivals::FASTEST).ok_or_else(|| {
        format!(
            "must be above 0 and at most {} per second, such as 50, 50/s or 3000/m",
            Arrivals::FASTEST
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_has_a_unit_or_is_seconds() {
        for (text, ms) in
            [("30s", 30_000), ("1.5", 1500), ("0", 0), ("250ms", 250), ("2m", 120_000)]
        {
            assert_eq!(time(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        for wrong in ["", "-1", "soon", "5 parsecs", "inf", "NaN", "1e300"] {
            assert!(time(wrong).unwrap_err().contains("such as 30s"), "{wrong}");
        }
    }

    #[test]
    fn a_length_and_a_number_are_above_0() {
        assert_eq!((length("5m"), count("7")), (Ok(Duration::from_secs(300)), Ok(7)));
        for wrong in ["0", "0s", "-1", "soon", ""] {
            assert!(length(wrong).unwrap_err().contains("above 0, such as 30s"), "{wrong}");
            assert!(count(wrong).unwrap_err().contains("of 1 or more"), "{wrong}");
        }
    }

    #[test]
    fn a_rate_is_per_second_unless_it_says_otherwise() {
        for (text, per_s) in
            [("50", 50.0), ("50/s", 50.0), ("3000/m", 50.0), ("1800/h", 0.5), ("12/m", 0.2)]
        {
            assert_eq!(rate(text), Ok(per_s), "{text}");
        }
        for wrong in ["", "0", "-1", "5/day", "50/", "/s", "inf", "NaN", "1e12"] {
            assert!(rate(wrong).unwrap_err().contains("such as 50"), "{wrong}");
        }
    }
}
