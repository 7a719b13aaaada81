//! Rules of numbers.

use crate::mistake::Problem;
use crate::rule::{Rule, must_be};
use crate::tree::Value;

/// A number from the first to the second, both included. `f64::MIN` and
/// `f64::MAX` set no bound.
#[derive(Clone, Copy, Debug)]
pub struct Number(pub f64, pub f64);

impl Rule for Number {
    type Read<'r> = f64;

    fn read(&self, value: &Value<'_>) -> Result<f64, Problem> {
        let rule = must_be("a number", &self.range());
        let number = digits(value, &rule)?.parse::<f64>().ok().filter(|number| number.is_finite());
        let Some(number) = number else {
            return Err(Problem::new(rule, "write digits, as in 20 or 0.5"));
        };
        if number < self.0 || number > self.1 {
            return Err(Problem::new(rule, format!("try {}", number.clamp(self.0, self.1))));
        }
        Ok(number)
    }

    fn kind(&self) -> String {
        "number".into()
    }

    fn range(&self) -> String {
        match (self.0 <= f64::MIN, self.1 >= f64::MAX) {
            (true, true) => String::new(),
            (true, false) => format!("at most {}", self.1),
            (false, true) => format!("at least {}", self.0),
            (false, false) => format!("{} to {}", self.0, self.1),
        }
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

/// A whole number from the first to the second, both included. `i64::MIN` and
/// `i64::MAX` set no bound.
#[derive(Clone, Copy, Debug)]
pub struct Whole(pub i64, pub i64);

impl Rule for Whole {
    type Read<'r> = i64;

    fn read(&self, value: &Value<'_>) -> Result<i64, Problem> {
        let rule = must_be("a whole number", &self.range());
        let Ok(number) = digits(value, &rule)?.parse::<i128>() else {
            return Err(Problem::new(rule, "write digits only, as in 10"));
        };
        let nearest = number.clamp(self.0.into(), self.1.into());
        match i64::try_from(number) {
            Ok(number) if nearest == i128::from(number) => Ok(number),
            _ => Err(Problem::new(rule, format!("try {nearest}"))),
        }
    }

    fn kind(&self) -> String {
        "whole number".into()
    }

    fn range(&self) -> String {
        match (self.0, self.1) {
            (i64::MIN, i64::MAX) => String::new(),
            (low, i64::MAX) => format!("at least {low}"),
            (i64::MIN, high) => format!("at most {high}"),
            (low, high) => format!("{low} to {high}"),
        }
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

/// A list of two whole numbers, the smaller one first, both in this range.
#[derive(Clone, Copy, Debug)]
pub struct Pair(pub i64, pub i64);

impl Rule for Pair {
    type Read<'r> = (i64, i64);

    fn read(&self, value: &Value<'_>) -> Result<(i64, i64), Problem> {
        let rule = || must_be("a list of two whole numbers", &self.range());
        let items = value.items().unwrap_or_default();
        let [first, second] = items.as_slice() else {
            return Err(Problem::new(rule(), "write [1, 10]"));
        };
        let number = Whole(self.0, self.1);
        match (number.read(first), number.read(second)) {
            (Ok(first), Ok(second)) if first <= second => Ok((first, second)),
            (Err(problem), _) | (_, Err(problem)) => Err(Problem::new(rule(), problem.remedy)),
            _ => Err(Problem::new(rule(), "swap them")),
        }
    }

    fn kind(&self) -> String {
        "two whole numbers".into()
    }

    fn range(&self) -> String {
        let range = Whole(self.0, self.1).range();
        if range.is_empty() {
            "the smaller one first".into()
        } else {
            format!("{range}, the smaller one first")
        }
    }
}

/// The digits of a number.
fn digits<'r>(value: &Value<'r>, rule: &str) -> Result<std::borrow::Cow<'r, str>, Problem> {
    value.digits().ok_or_else(|| match value.text() {
        Some(text) if text.parse::<f64>().is_ok() => {
            Problem::new(rule, format!("leave out the quotes: {text}"))
        }
        _ => Problem::new(rule, "write digits, without quotes"),
    })
}
