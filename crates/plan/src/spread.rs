//! The rule of figures that need not be known exactly: one value, or its bounds.

use std::time::Duration;

use tidegate_config::{Problem, Rule, Value};

use crate::range::Range;

/// A value of the other rule, `[low, high]`, or `[low, likely, high]`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Spread<R>(pub(crate) R);

/// What a spread can be of.
pub(crate) trait Figure {
    /// The figure as a number; seconds of a duration.
    fn number(self) -> f64;
}

impl Figure for f64 {
    fn number(self) -> f64 {
        self
    }
}

impl Figure for Duration {
    fn number(self) -> f64 {
        self.as_secs_f64()
    }
}

impl<R> Rule for Spread<R>
where
    R: Rule,
    for<'r> R::Read<'r>: Figure,
{
    type Read<'r> = Range;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Range, Problem> {
        // A default or a flag without commas is one figure.
        let is_one = value.bare().is_some_and(|text| !text.contains(','));
        let Some(items) = value.items().filter(|_| !is_one) else {
            return self.0.read(value).map(|it| Range::exactly(it.number()));
        };
        let numbers = items.iter().map(|item| self.0.read(item).map(Figure::number));
        let numbers: Vec<f64> = numbers.collect::<Result<_, _>>()?;
        let range = match numbers.as_slice() {
            [low, high] => Range::between(*low, *high),
            [low, value, high] => Range { value: *value, low: *low, high: *high },
            _ => {
                return Err(Problem::new(
                    format!("must be one {0}, or a list of two or three {0}s", self.0.kind()),
                    "write [lowest, highest] or [lowest, likely, highest]",
                ));
            }
        };
        if range.low <= range.value && range.value <= range.high {
            Ok(range)
        } else {
            Err(Problem::new("must be a list in rising order", "write the lowest value first"))
        }
    }

    fn kind(&self) -> String {
        format!("{} or range", self.0.kind())
    }

    fn range(&self) -> String {
        self.0.range()
    }

    fn toml(&self, bare: &str) -> String {
        self.0.toml(bare)
    }
}
