//! Points in time, in seconds since 1970 (UTC), and how they are shown.
//!
//! Source of the calendar arithmetic: H. Hinnant, "chrono-Compatible Low-Level
//! Date Algorithms", civil_from_days.

use std::fmt;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// Seconds in a day.
pub const DAY: i64 = 86_400;

const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

/// Now, in seconds since 1970.
pub fn now() -> i64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    i64::try_from(since.as_secs()).unwrap_or(i64::MAX)
}

/// Now, in milliseconds since 1970.
pub fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(since.as_millis()).unwrap_or(u64::MAX)
}

/// A duration in whole milliseconds.
pub fn ms(duration: Duration) -> i64 {
    i64::try_from(duration.as_millis()).unwrap_or(i64::MAX)
}

/// Shows a point in time as `4 Mar 2026, 17:05 UTC`.
#[derive(Clone, Copy, Debug)]
pub struct Moment(pub i64);

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (days, seconds) = (self.0.div_euclid(DAY), self.0.rem_euclid(DAY));
        let shifted = days + 719_468;
        let era = shifted.div_euclid(146_097);
        let day_of_era = shifted.rem_euclid(146_097);
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let month_from_march = (5 * day_of_year + 2) / 153;
        let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
        let month = (month_from_march + 2) % 12;
        let year = year_of_era + era * 400 + i64::from(month < 2);
        let name = MONTHS[usize::try_from(month).expect("0 to 11")];
        write!(f, "{day} {name} {year}, {:02}:{:02} UTC", seconds / 3600, seconds / 60 % 60)
    }
}

/// Shows the time that is left: `3 d 4 h`, `2 h 10 min`, `45 s`, or `ended`.
#[derive(Clone, Copy, Debug)]
pub struct Left(pub i64);

impl fmt::Display for Left {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.0;
        let (days, hours, minutes) = (seconds / DAY, seconds / 3600 % 24, seconds / 60 % 60);
        match (days, hours, minutes) {
            _ if seconds <= 0 => f.write_str("ended"),
            (1.., _, _) => write!(f, "{days} d {hours} h"),
            (_, 1.., _) => write!(f, "{hours} h {minutes} min"),
            (_, _, 1..) => write!(f, "{minutes} min"),
            _ => write!(f, "{seconds} s"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_are_those_of_the_calendar() {
        let shown = [0, 951_782_399, 951_782_400, 1_709_251_199, 4_102_444_799]
            .map(|at| Moment(at).to_string());
        let expected = [
            "1 Jan 1970, 00:00 UTC",
            "28 Feb 2000, 23:59 UTC",
            "29 Feb 2000, 00:00 UTC",
            "29 Feb 2024, 23:59 UTC",
            "31 Dec 2099, 23:59 UTC",
        ];
        assert_eq!(shown, expected);
    }

    #[test]
    fn time_left_shows_its_two_largest_units() {
        let shown =
            [3 * DAY + 4 * 3600 + 59, 7800, 3599, 45, 0, -5].map(|left| Left(left).to_string());
        assert_eq!(shown, ["3 d 4 h", "2 h 10 min", "59 min", "45 s", "ended", "ended"]);
    }
}
