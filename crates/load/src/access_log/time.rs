//! Times in access logs, in seconds since 1970.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::fmt::strtime;
use jiff::tz::TimeZone;

/// The time of the common log format, such as `10/Oct/2000:13:55:36 -0700`.
pub(crate) fn common(text: &str) -> Option<f64> {
    let at = strtime::parse("%d/%b/%Y:%H:%M:%S %z", text).ok()?.to_timestamp().ok()?;
    Some(at.as_second() as f64)
}

/// The same, or a date and time of ISO 8601 (of UTC without an offset), or a number as [`epoch`].
pub(super) fn any(text: &str) -> Option<f64> {
    let text = text.trim();
    if let Ok(number) = text.parse::<f64>() {
        return epoch(number);
    }
    let seconds = |at: Timestamp| at.as_nanosecond() as f64 / 1e9;
    if let Ok(at) = text.parse::<Timestamp>() {
        return Some(seconds(at));
    }
    if let Some(at) = common(text.trim_matches(['[', ']'])) {
        return Some(at);
    }
    let at = text.parse::<DateTime>().ok()?.to_zoned(TimeZone::UTC).ok()?;
    Some(seconds(at.timestamp()))
}

/// Seconds since 1970; larger numbers are milliseconds, microseconds or nanoseconds.
pub(super) fn epoch(number: f64) -> Option<f64> {
    // 1e11 s are the year 5138, 1e11 ms are March 1973.
    let scale = match number {
        it if !(0.0..1e20).contains(&it) => return None,
        it if it < 1e11 => 1.0,
        it if it < 1e14 => 1e3,
        it if it < 1e17 => 1e6,
        _ => 1e9,
    };
    Some(number / scale)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_time_in_every_writing() {
        // 10 October 2000, 20:55:36 UTC.
        for text in [
            "10/Oct/2000:13:55:36 -0700",
            "[10/Oct/2000:13:55:36 -0700]",
            "2000-10-10T20:55:36Z",
            "2000-10-10T22:55:36+02:00",
            "2000-10-10T20:55:36",
            "2000-10-10 20:55:36",
            "971211336",
            "971211336.000",
            "971211336000",
            "971211336000000",
            "971211336000000000",
        ] {
            assert_eq!(any(text), Some(971_211_336.0), "{text}");
        }
        assert_eq!(any("2000-10-10T20:55:36.250Z"), Some(971_211_336.25));
        for text in ["", "-", "soon", "NaN", "-1", "inf", "10/Okt/2000:13:55:36 -0700"] {
            assert_eq!(any(text), None, "{text}");
        }
    }
}
