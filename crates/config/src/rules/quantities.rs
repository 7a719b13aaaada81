//! Rules of quantities with a unit: durations and sizes.

use std::time::Duration;

use crate::mistake::Problem;
use crate::rule::{Rule, must_be, text_of};
use crate::tree::Value;
use crate::units::{parse_duration, parse_size, show_duration, show_size};

/// A duration from the first to the second, both included and written as in a
/// file. Bounds that are no durations panic; tests read every declared key.
#[derive(Clone, Copy, Debug)]
pub struct Time(pub &'static str, pub &'static str);

impl Rule for Time {
    type Read<'r> = Duration;

    fn read(&self, value: &Value<'_>) -> Result<Duration, Problem> {
        let bound = |text| parse_duration(text).expect("declared bounds are durations");
        duration_between(value, bound(self.0), bound(self.1), &self.range())
    }

    fn kind(&self) -> String {
        "duration".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.0, self.1)
    }
}

/// Reads a duration between two bounds, which `range` shows.
pub(crate) fn duration_between(
    value: &Value<'_>,
    low: Duration,
    high: Duration,
    range: &str,
) -> Result<Duration, Problem> {
    let rule = || must_be("a duration", range);
    if let (Some(number), None) = (value.digits(), value.bare()) {
        return Err(Problem::new(rule(), format!("add the unit, as in \"{number}s\"")));
    }
    let Some(duration) = parse_duration(text_of(value, &show_duration(low))?) else {
        let remedy = "write a number and one of ms, s, m, h, d, as in \"10s\"";
        return Err(Problem::new(rule(), remedy));
    };
    if duration < low || duration > high {
        let nearest = show_duration(duration.clamp(low, high));
        return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
    }
    Ok(duration)
}

/// A size in bytes from the first to the second, both included and written as in
/// a file. Bounds that are no sizes panic; tests read every declared key.
#[derive(Clone, Copy, Debug)]
pub struct Bytes(pub &'static str, pub &'static str);

impl Rule for Bytes {
    type Read<'r> = usize;

    fn read(&self, value: &Value<'_>) -> Result<usize, Problem> {
        let rule = || must_be("a size", &self.range());
        let bound = |text| parse_size(text).expect("declared bounds are sizes");
        let (low, high) = (bound(self.0), bound(self.1));
        if let (Some(number), None) = (value.digits(), value.bare()) {
            return Err(Problem::new(rule(), format!("add the unit, as in \"{number}B\"")));
        }
        let Some(size) = parse_size(text_of(value, self.0)?) else {
            let remedy = "write a number and one of B, KiB, MiB, GiB, as in \"64KiB\"";
            return Err(Problem::new(rule(), remedy));
        };
        if size < low || size > high {
            let nearest = show_size(size.clamp(low, high));
            return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
        }
        usize::try_from(size).map_err(|_| Problem::new(rule(), "choose a smaller size"))
    }

    fn kind(&self) -> String {
        "size".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.0, self.1)
    }
}
