//! When customers come.

use tidegate_config::Preset::{Else, Is, Unset};
use tidegate_config::{List, Number, Section, Subtable, Time, Whole, keys};

use super::limits::{HEAVIEST, seconds};
use crate::arrivals::{Arrivals, Bursts, Segment, Wave};

keys! {
    /// When customers come: a Poisson process at the load of the run. A schedule, bursts and a
    /// wave can be combined.
    pub(super) static ARRIVALS: ArrivalKeys {
        /// Steps and ramps in the order of their beginning. Before the first nobody comes.
        segments: List<Subtable>(Subtable) = Else("the load of the run throughout");
        /// Bursts on top, with the same mean (Markov-modulated Poisson process).
        bursts: Subtable = Unset;
        /// A sine on top, with the same mean.
        wave: Subtable = Unset;
        /// A closed loop in place of all that: this many customers at a load of 1, each of whom
        /// begins a new session a think time after the last one has ended.
        closed: Whole(1, 100_000) = Unset;
    }

    /// A stretch of time with a level of load. It ends where the next one begins, the last one
    /// with the run.
    pub(super) static SEGMENT: SegmentKeys {
        /// Its beginning.
        from: Time("0s", "1h") = Is("0s");
        /// Level at its beginning, as a share of the run's load.
        level: Number(0.0, HEAVIEST) = Is("1");
        /// Level at its end.
        to: Number(0.0, HEAVIEST) = Else("`level`");
    }

    /// Bursts.
    pub(super) static BURSTS: BurstKeys {
        /// Rate within a burst, as a multiple of the mean rate. Times `share` it is at most 1.
        factor: Number(1.0, 1000.0) = Is("3");
        /// Mean length of a burst, exponentially distributed.
        lasts: Time("1ms", "1h") = Is("500ms");
        /// Share of the time that is burst.
        share: Number(0.001, 0.999) = Is("0.1");
    }

    /// A wave.
    pub(super) static WAVE: WaveKeys {
        /// Time from peak to peak.
        period: Time("10ms", "1d") = Is("10s");
        /// Height of the peak over the mean, as a share of the mean.
        amplitude: Number(0.0, 1.0) = Is("0.5");
    }
}

pub(super) fn arrivals(section: &Section<'_>, duration_s: f64) -> Arrivals {
    section.known(&ARRIVALS);
    let list = section.given(&ARRIVALS.segments).unwrap_or_default();
    let closed = section.given(&ARRIVALS.closed);
    let schedule = [ARRIVALS.segments.name, ARRIVALS.bursts.name, ARRIVALS.wave.name];
    if let Some(value) = section.get(ARRIVALS.closed.name)
        && schedule.iter().any(|key| section.get(key).is_some())
    {
        let remedy = "remove it, or segments, bursts and wave";
        value.wrong("cannot be combined with a schedule of arrivals", remedy);
    }
    Arrivals {
        segments: segments(&list, duration_s),
        bursts: section.given(&ARRIVALS.bursts).map(|section| bursts(&section)),
        wave: section.given(&ARRIVALS.wave).map(|section| {
            section.known(&WAVE);
            let amplitude = section.field(&WAVE.amplitude);
            Wave { period_s: seconds(&section, &WAVE.period), amplitude }
        }),
        closed: closed.map(|customers| customers as u32),
    }
}

fn segments(list: &[Section<'_>], duration_s: f64) -> Vec<Segment> {
    let mut segments: Vec<Segment> = Vec::new();
    for section in list {
        section.known(&SEGMENT);
        let from_s = seconds(section, &SEGMENT.from);
        let level = section.field(&SEGMENT.level);
        let to_level = section.given(&SEGMENT.to).unwrap_or(level);
        if segments.last().is_some_and(|last| last.from_s >= from_s) {
            section.wrong("does not begin later than the one before", "order them by time");
        }
        segments.push(Segment { from_s, level, to_level });
    }
    // The last ramp ends with the run.
    if let Some(Segment { from_s, level, to_level }) = segments.last().copied()
        && level != to_level
        && from_s < duration_s
    {
        segments.push(Segment { from_s: duration_s, level: to_level, to_level });
    }
    segments
}

fn bursts(section: &Section<'_>) -> Bursts {
    section.known(&BURSTS);
    let (factor, share): (f64, f64) = (section.field(&BURSTS.factor), section.field(&BURSTS.share));
    if factor * share > 1.0 {
        let remedy = "make factor or share smaller: their product is 1 at most";
        section.wrong("has more arrivals in bursts than in all", remedy);
    }
    Bursts { factor, lasts_s: seconds(section, &BURSTS.lasts), share }
}

#[cfg(test)]
mod tests {
    use crate::Scenario;

    fn read(text: &str) -> Result<Scenario, String> {
        let text = format!("about = \"x\"\nduration = \"20s\"\n[arrivals]\n{text}");
        Scenario::from_toml(&text, "a.toml").map_err(|mistakes| mistakes.to_string())
    }

    #[test]
    fn the_last_ramp_ends_with_the_run() {
        let scenario = read("segments = [{ level = 0.0, to = 1.0 }]").unwrap();
        assert_eq!([0.0, 5.0, 20.0].map(|at| scenario.arrivals.level(at)), [0.0, 0.25, 1.0]);
    }

    #[test]
    fn what_cannot_be_a_schedule_is_a_mistake() {
        for (text, words) in [
            (
                "segments = [{ from = \"5s\" }, { from = \"5s\" }]",
                "arrivals.segments[1]: does not begin later than the one before",
            ),
            ("segments = {}", "arrivals.segments: must be a list of tables"),
            ("bursts = { factor = 6, share = 0.2 }", "has more arrivals in bursts than in all"),
            ("closed = 5\nwave = {}", "closed = 5: cannot be combined with a schedule of arrivals"),
            ("wave = { period = \"1ms\" }", "must be a duration of 10ms to 1d; try \"10ms\""),
        ] {
            let found = read(text).unwrap_err();
            assert!(found.starts_with("a.toml:4: arrivals."), "{found}");
            assert!(found.contains(words), "{text}: {found}");
        }
    }
}
