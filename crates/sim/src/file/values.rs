//! Values of a file; a key that is not there leaves its default.

use std::ops::RangeInclusive;
use std::time::Duration;

use tidegate_config::{Section, Value};

pub(super) const CORES: RangeInclusive<f64> = 0.01..=1024.0;
/// CPU time of a piece of work, in seconds.
pub(super) const CPU: RangeInclusive<f64> = 1e-7..=60.0;
pub(super) const LOADS: RangeInclusive<f64> = 0.0..=100.0;

pub(super) fn in_section(parent: &Section<'_>, key: &str, read: impl FnOnce(&Section<'_>)) {
    if let Some(section) = parent.get(key).and_then(|value| value.section()) {
        read(&section);
    }
}

pub(super) fn sections<'r>(list: &Value<'r>) -> Vec<Section<'r>> {
    let list = list.list().unwrap_or_default();
    list.iter().filter_map(|value| value.section()).collect()
}

pub(super) fn numbers(list: &Value<'_>, range: RangeInclusive<f64>) -> Vec<f64> {
    let list = list.list().unwrap_or_default();
    list.iter().filter_map(|value| value.number(range.clone())).collect()
}

pub(super) fn number(section: &Section<'_>, key: &str, range: RangeInclusive<f64>, to: &mut f64) {
    if let Some(number) = section.get(key).and_then(|value| value.number(range)) {
        *to = number;
    }
}

pub(super) fn whole(section: &Section<'_>, key: &str, range: RangeInclusive<i64>, to: &mut usize) {
    if let Some(number) = section.get(key).and_then(|value| value.integer(range)) {
        *to = number as usize;
    }
}

pub(super) fn yes_or_no(section: &Section<'_>, key: &str, to: &mut bool) {
    if let Some(yes) = section.get(key).and_then(|value| value.boolean()) {
        *to = yes;
    }
}

pub(super) fn seconds(section: &Section<'_>, key: &str, range: RangeInclusive<f64>, to: &mut f64) {
    let range = Duration::from_secs_f64(*range.start())..=Duration::from_secs_f64(*range.end());
    if let Some(duration) = section.get(key).and_then(|value| value.duration(range)) {
        *to = duration.as_secs_f64();
    }
}
