//! Rules of quantities: durations, sizes, numbers.

use super::{Describe, Problem, Raw, Rule, text};
use crate::config::units::{parse_duration, parse_size, show_duration, show_size};
use std::time::Duration;

/// A duration between two bounds, both included.
pub struct Time {
    low: &'static str,
    high: &'static str,
}

impl Time {
    /// Bounds as written in a file; a test reads every one.
    pub const fn new(low: &'static str, high: &'static str) -> Self {
        Self { low, high }
    }

    fn bounds(&self) -> (Duration, Duration) {
        let read = |text| parse_duration(text).expect("bounds of rules are tested");
        (read(self.low), read(self.high))
    }
}

impl Describe for Time {
    fn kind(&self) -> String {
        "duration".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }
}

impl Rule<Duration> for Time {
    fn check(&self, raw: &Raw) -> Result<Duration, Problem> {
        let rule = || format!("must be a duration of {}", self.range());
        let (low, high) = self.bounds();
        if let Raw::Number(number) = raw {
            return Err(Problem::new(rule(), format!("add the unit, as in \"{number}s\"")));
        }
        let given = text(raw, self.low)?;
        let Some(value) = parse_duration(given) else {
            let remedy = "write a number and one of ms, s, m, h, d, as in \"10s\"";
            return Err(Problem::new(rule(), remedy));
        };
        if value < low || value > high {
            let nearest = show_duration(value.clamp(low, high));
            return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
        }
        Ok(value)
    }
}

/// A size in bytes between two bounds, both included.
pub struct Bytes {
    low: &'static str,
    high: &'static str,
}

impl Bytes {
    /// Bounds as written in a file; a test reads every one.
    pub const fn new(low: &'static str, high: &'static str) -> Self {
        Self { low, high }
    }
}

impl Describe for Bytes {
    fn kind(&self) -> String {
        "size".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }
}

impl Rule<usize> for Bytes {
    fn check(&self, raw: &Raw) -> Result<usize, Problem> {
        let rule = || format!("must be a size of {}", self.range());
        let read = |text| parse_size(text).expect("bounds of rules are tested");
        let (low, high) = (read(self.low), read(self.high));
        if let Raw::Number(number) = raw {
            return Err(Problem::new(rule(), format!("add the unit, as in \"{number}B\"")));
        }
        let Some(value) = parse_size(text(raw, self.low)?) else {
            let remedy = "write a number and one of B, KiB, MiB, GiB, as in \"64KiB\"";
            return Err(Problem::new(rule(), remedy));
        };
        if value < low || value > high {
            let nearest = show_size(value.clamp(low, high));
            return Err(Problem::new(rule(), format!("try \"{nearest}\"")));
        }
        usize::try_from(value).map_err(|_| Problem::new(rule(), "choose less"))
    }
}

/// A number between two bounds, both included.
pub struct Number {
    low: f64,
    high: f64,
}

impl Number {
    /// Bounds.
    pub const fn new(low: f64, high: f64) -> Self {
        Self { low, high }
    }
}

impl Describe for Number {
    fn kind(&self) -> String {
        "number".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<f64> for Number {
    fn check(&self, raw: &Raw) -> Result<f64, Problem> {
        let value = number(raw, &self.range())?.parse::<f64>().ok().filter(|value| !value.is_nan());
        let rule = || format!("must be a number of {}", self.range());
        let value = value.ok_or_else(|| Problem::new(rule(), "write digits, as in 20 or 0.5"))?;
        if value < self.low || value > self.high {
            let nearest = value.clamp(self.low, self.high);
            return Err(Problem::new(rule(), format!("try {nearest}")));
        }
        Ok(value)
    }
}

/// A whole number between two bounds, both included.
pub struct Whole {
    low: u64,
    high: u64,
}

impl Whole {
    /// Bounds.
    pub const fn new(low: u64, high: u64) -> Self {
        Self { low, high }
    }

    fn value(&self, raw: &Raw) -> Result<u64, Problem> {
        let rule = || format!("must be a whole number of {}", self.range());
        let digits = number(raw, &self.range())?;
        let value = match digits.parse::<i128>() {
            Ok(value) => value,
            Err(_) => return Err(Problem::new(rule(), "write digits only")),
        };
        if value < self.low.into() || value > self.high.into() {
            let nearest = value.clamp(self.low.into(), self.high.into());
            return Err(Problem::new(rule(), format!("try {nearest}")));
        }
        u64::try_from(value).map_err(|_| Problem::new(rule(), "write digits only"))
    }
}

impl Describe for Whole {
    fn kind(&self) -> String {
        "whole number".into()
    }

    fn range(&self) -> String {
        format!("{} to {}", self.low, self.high)
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<usize> for Whole {
    fn check(&self, raw: &Raw) -> Result<usize, Problem> {
        self.value(raw)?.try_into().map_err(|_| Problem::new("is too large", "choose less"))
    }
}

impl Rule<u32> for Whole {
    fn check(&self, raw: &Raw) -> Result<u32, Problem> {
        self.value(raw)?.try_into().map_err(|_| Problem::new("is too large", "choose less"))
    }
}

/// The digits of a number.
fn number<'r>(raw: &'r Raw, range: &str) -> Result<&'r str, Problem> {
    match raw {
        Raw::Number(digits) | Raw::Bare(digits) => Ok(digits),
        Raw::Text(text) if text.parse::<f64>().is_ok() => {
            let rule = format!("must be a number of {range}");
            Err(Problem::new(rule, format!("leave out the quotes: {text}")))
        }
        _ => Err(Problem::new(
            format!("must be a number of {range}"),
            "write digits, without quotes",
        )),
    }
}
