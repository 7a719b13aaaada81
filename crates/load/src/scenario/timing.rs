//! Reads `[arrivals]`.

use std::time::Duration;

use super::check::DAY;
use crate::arrivals::{Arrivals, Process, Segment};
use tidegate_toml::Section;

pub(super) fn arrivals(section: &Section<'_>) -> Option<Arrivals> {
    section.only(&["rate", "process", "segments", "times"]);
    let rate_of = |section: &Section<'_>, key: &str| {
        section.get(key).and_then(|value| value.number(0.0..=Arrivals::FASTEST))
    };
    let given =
        ["rate", "segments", "times"].iter().filter(|key| section.get(key).is_some()).count();
    if given != 1 {
        section.wrong(
            format!("has {given} of rate, segments and times, must have one"),
            "write rate = 5 for five sessions per second",
        );
        return None;
    }
    let process = match section.get("process") {
        None => Process::Poisson,
        Some(value) => match value.string()? {
            "poisson" => Process::Poisson,
            "even" => Process::Even,
            other => {
                value.wrong(format!("= \"{other}\" is not known"), "write \"poisson\" or \"even\"");
                return None;
            }
        },
    };
    if let Some(times) = section.get("times") {
        let times = times.list()?;
        let times = times.iter().filter_map(|value| value.duration(Duration::ZERO..=DAY)).collect();
        return Some(Arrivals::times(times));
    }
    if let Some(list) = section.get("segments") {
        let list = list.list()?;
        let segments = list.iter().filter_map(|value| {
            let section = value.section()?;
            section.only(&["for", "rate", "from", "to"]);
            let lasts = match section.get("for") {
                Some(value) => value.duration(Duration::from_millis(1)..=DAY)?,
                None => {
                    section.wrong("has no length", "write { for = \"30s\", rate = 5 }");
                    return None;
                }
            };
            let (rate, from, to) =
                (rate_of(&section, "rate"), rate_of(&section, "from"), rate_of(&section, "to"));
            match (rate, from, to) {
                (Some(rate), None, None) => {
                    Some(Segment { lasts, from_per_s: rate, to_per_s: rate })
                }
                (None, Some(from_per_s), Some(to_per_s)) => {
                    Some(Segment { lasts, from_per_s, to_per_s })
                }
                _ => {
                    section.wrong("must have either rate, or from and to", "write rate = 5");
                    None
                }
            }
        });
        return Some(Arrivals::segments(process, segments.collect()));
    }
    let per_s = rate_of(section, "rate")?;
    Some(match process {
        Process::Even => Arrivals::even(per_s),
        _ => Arrivals::poisson(per_s),
    })
}
