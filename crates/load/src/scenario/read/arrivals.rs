//! Reads `[arrivals]`, or several side by side as `[[arrivals]]`.

use super::files::beside;
use super::{Refuse, every};
use std::time::Duration;

use super::limits::DAY;
use crate::arrivals::{
    Arrivals, Bursts, Closed, Model, Process, Rate, Schedule, Segment, Wave, replay,
};
use crate::file_mistake::FileMistake;
use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{Mistakes, Number, Other, Section, Text, Time, Value, Whole, Words, keys};

keys! {
    /// Arrivals of customers: `[arrivals]`, or several at the same time as `[[arrivals]]`. One of
    /// `rate`, `segments`, `wave`, `bursts`, `times`, `replay` and `customers` must be set.
    pub(super) static ARRIVALS: ArrivalKeys {
        /// A constant rate, per second.
        rate: Number(0.0, Rate::FASTEST) = Unset;
        /// Steps and ramps; the last rate continues.
        segments: Other("list of tables", "1 to 100000, see below") = Unset;
        /// A rate that rises and falls as a sine.
        wave: Other("table", "see below") = Unset;
        /// Two rates in turn, each for an exponentially distributed time (MMPP).
        bursts: Other("table", "see below") = Unset;
        /// These times, from the start of the run.
        times: Other("list of durations", "0s to 24h") = Unset;
        /// The times of a log.
        replay: Other("table", "see below") = Unset;
        /// Closed model with this many customers: each begins a new session a think time after the
        /// last one has ended.
        customers: Whole(1, Arrivals::CUSTOMERS as i64) = Unset;
        /// What arrives: sessions, single requests that are each a session of their own, or (with
        /// `customers`) always the same customers.
        model: Words(&["partly-open", "open", "closed"]) = Else("`\"closed\"` with `customers`, otherwise `\"partly-open\"`");
        /// The class of the customers that arrive.
        class: Text("a class's name") = Else("drawn by the shares of the classes");
        /// A Poisson process, or evenly spaced; not with `times`, `replay` and `customers`.
        process: Words(&["poisson", "even"]) = Is("poisson");
        /// Mean think time between two sessions, exponentially distributed; with `customers` only.
        think: Time("0s", "24h") = Else("the class's, else the session's");
        /// The first sessions begin evenly spaced over this time; with `customers` only.
        within: Time("0s", "24h") = Else("the think time");
    }

    /// A segment: `rate`, or `from` and `to`.
    pub(super) static SEGMENT: SegmentKeys {
        /// Its length.
        r#for: Time("1ms", "24h") = Required("30s");
        /// A constant rate, per second.
        rate: Number(0.0, Rate::FASTEST) = Unset;
        /// The rate at its beginning, per second.
        from: Number(0.0, Rate::FASTEST) = Unset;
        /// The rate at its end, per second.
        to: Number(0.0, Rate::FASTEST) = Unset;
    }

    /// A wave.
    pub(super) static WAVE: WaveKeys {
        /// Mean rate, per second.
        mean: Number(0.0, Rate::FASTEST) = Required("5");
        /// Amplitude, as a share of the mean.
        swing: Number(0.0, 1.0) = Required("0.5");
        /// Time from peak to peak.
        period: Time("1s", "24h") = Is("24h");
        /// Time of the first peak.
        peak: Time("0s", "24h") = Else("half the period");
    }

    /// Bursts.
    pub(super) static BURSTS: BurstKeys {
        /// Rate between bursts, per second.
        calm: Number(0.0, Rate::FASTEST) = Required("5");
        /// Rate during a burst, per second.
        burst: Number(0.0, Rate::FASTEST) = Required("5");
        /// Mean time between bursts.
        calm_for: Time("10ms", "24h") = Required("10s");
        /// Mean length of a burst.
        burst_for: Time("10ms", "24h") = Required("10s");
    }

    /// A log that is replayed, from its earliest time on.
    pub(super) static REPLAY: ReplayKeys {
        /// A `.har` file (its requests), a `.log` file of a web server, or a CSV file with a header
        /// line.
        file: Text("path from the scenario's folder") = Required("log.csv");
        /// Column of the times: seconds, or dates such as 2024-05-01T12:00:00Z.
        column: Text("a column's name") = Is("time");
        /// Factor by which the replay is faster.
        speed: Number(0.001, 1e6) = Is("1");
    }
}

/// Most segments of a model.
const SEGMENTS: usize = 100_000;
/// The keys that define a schedule; one of them is required.
const WHENS: [&str; 7] = ["rate", "segments", "wave", "bursts", "times", "replay", "customers"];

impl Arrivals {
    /// Reads the keys of an `[arrivals]` table from one line, such as
    /// `rate = 5, process = "even"`; files named in it are found from the working
    /// directory. `name` is the place that mistakes name.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn from_line(line: &str, name: &str) -> Result<Self, Mistakes> {
        let text = format!("arrivals = {{ {line} }}");
        tidegate_config::read(&text, name, |root| {
            root.only(&["arrivals"]);
            arrivals(&root.get("arrivals")?, "", None)
        })
    }
}

/// `file` is the scenario, from whose place other files are found; `classes` are
/// its classes, if they are known.
pub(super) fn arrivals(
    value: &Value<'_>,
    file: &str,
    classes: Option<&[&str]>,
) -> Option<Arrivals> {
    if value.is_table() {
        return entry(&value.section()?, file, classes);
    }
    let list = value.list()?;
    if list.is_empty() || list.len() > Arrivals::MODELS {
        let most = Arrivals::MODELS;
        return value.refuse(format!("has {} entries", list.len()), format!("write 1 to {most}"));
    }
    // Every one is read before the first that is wrong ends it.
    let entries: Vec<_> =
        list.iter().map(|value| entry(&value.section()?, file, classes)).collect();
    Some(Arrivals::side_by_side(entries.into_iter().flatten()))
}

/// A model, and whose it is.
fn entry(section: &Section<'_>, file: &str, classes: Option<&[&str]>) -> Option<Arrivals> {
    let class = match (section.get(ARRIVALS.class.name), classes) {
        (None, _) => Some(None),
        (Some(value), None) => value.string().map(Some),
        (Some(value), Some([])) => {
            value.refuse("names a class, but there are none", "add [[classes]], or remove it")
        }
        (Some(value), Some(known)) => value.choice(known).map(|index| Some(known[index])),
    };
    let model = Arrivals::of(model(section, file)?);
    Some(match class? {
        Some(class) => model.by(class),
        None => model,
    })
}

fn model(section: &Section<'_>, file: &str) -> Option<Model> {
    let given: Vec<_> = WHENS.into_iter().filter(|key| section.get(key).is_some()).collect();
    let rest: &[&str] = match given.as_slice() {
        ["customers"] => &["model", "class", "think", "within"],
        ["times" | "replay"] => &["model", "class"],
        _ => &["model", "class", "process"],
    };
    section.only(&[&WHENS, rest].concat());
    let named = section.optional(&ARRIVALS.model)?;
    let [when] = given.as_slice() else {
        return section.refuse(
            format!("has {} of {}, must have one", given.len(), WHENS.join(", ")),
            "write rate = 5 for five sessions per second, or customers = 50",
        );
    };
    if (*when == "customers") != (named == Some(2)) && named.is_some() {
        return section.refuse(
            format!("has a model that does not go with {when}"),
            "closed goes with customers, open and partly-open with all others",
        );
    }
    if *when == "customers" {
        return closed(section);
    }
    let schedule = schedule(section, when, file)?;
    Some(if named == Some(1) { Model::Open(schedule) } else { Model::PartlyOpen(schedule) })
}

fn closed(section: &Section<'_>) -> Option<Model> {
    let customers = section.given(&ARRIVALS.customers);
    let (think, within) = (section.optional(&ARRIVALS.think), section.optional(&ARRIVALS.within));
    Some(Model::Closed(Closed { customers: customers? as u32, think: think?, within: within? }))
}

fn schedule(section: &Section<'_>, when: &str, file: &str) -> Option<Schedule> {
    let value = section.get(when)?;
    let process = [Process::Poisson, Process::Even][section.read(&ARRIVALS.process)?];
    let rate = match when {
        "times" => {
            let times = value.list()?;
            let times = times.iter().map(|value| value.duration(Duration::ZERO..=DAY));
            return Some(Schedule::times(times.collect::<Option<_>>()?));
        }
        "replay" => return Some(Schedule::times(replayed(&value, file)?)),
        "segments" => segments(&value)?,
        "wave" => wave(&value.section()?)?,
        "bursts" => bursts(&value.section()?)?,
        _ => Rate::constant(section.given(&ARRIVALS.rate)?),
    };
    Some(Schedule::Rate(process, rate))
}

fn segments(value: &Value<'_>) -> Option<Rate> {
    let list = value.list()?;
    if list.is_empty() || list.len() > SEGMENTS {
        return value
            .refuse(format!("has {} entries", list.len()), format!("write 1 to {SEGMENTS}"));
    }
    let segments = every(&list, |value| {
        let section = value.section()?;
        section.known(&SEGMENT);
        let lasts = section.read(&SEGMENT.r#for);
        let given = [&SEGMENT.rate, &SEGMENT.from, &SEGMENT.to];
        let (from, to) = match given.map(|key| section.get(key.name).is_some()) {
            [true, false, false] => (&SEGMENT.rate, &SEGMENT.rate),
            [false, true, true] => (&SEGMENT.from, &SEGMENT.to),
            _ => {
                return section.refuse("must have either rate, or from and to", "write rate = 5");
            }
        };
        let (from_per_s, to_per_s) = (section.read(from), section.read(to));
        Some(Segment { lasts: lasts?, from_per_s: from_per_s?, to_per_s: to_per_s? })
    });
    segments.map(Rate::segments)
}

fn wave(section: &Section<'_>) -> Option<Rate> {
    section.known(&WAVE);
    let mean_per_s = section.read(&WAVE.mean);
    let swing = section.read(&WAVE.swing);
    let period = section.read(&WAVE.period);
    let peak = section.optional(&WAVE.peak);
    let (mean_per_s, swing, period) = (mean_per_s?, swing?, period?);
    let peak = peak?.unwrap_or(period / 2);
    Some(Rate::Wave(Wave { mean_per_s, swing, period, peak }))
}

fn bursts(section: &Section<'_>) -> Option<Rate> {
    section.known(&BURSTS);
    let (calm, burst) = (section.read(&BURSTS.calm), section.read(&BURSTS.burst));
    let (calm_for, burst_for) = (section.read(&BURSTS.calm_for), section.read(&BURSTS.burst_for));
    let (calm_per_s, burst_per_s) = (calm?, burst?);
    Some(Rate::Bursts(Bursts {
        calm_per_s,
        burst_per_s,
        calm_for: calm_for?,
        burst_for: burst_for?,
    }))
}

fn replayed(value: &Value<'_>, file: &str) -> Option<Vec<Duration>> {
    let section = value.section()?;
    section.known(&REPLAY);
    let name = section.read(&REPLAY.file);
    let column = section.read(&REPLAY.column);
    let speed = section.read(&REPLAY.speed);
    let (name, column, speed) = (name?, column?, speed?);
    let log = section.get(REPLAY.file.name)?;
    let path = beside(file, name);
    let mistakes = match replay::read(&path, column, speed) {
        Ok(times) => return Some(times),
        Err(mistakes) => mistakes,
    };
    FileMistake::report(mistakes, &log, &path.to_string_lossy(), column);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arrivals, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| {
            arrivals(&root.get("arrivals")?, "shop.toml", Some(&["bots"]))
        })
        .map_err(|mistakes| mistakes.lines())
    }

    fn said(text: &str) -> String {
        read(text).unwrap().to_string()
    }

    #[test]
    fn every_model_and_schedule_can_be_written() {
        assert_eq!(said("[arrivals]\nrate = 5"), "partly open: sessions at 5/s, Poisson");
        assert_eq!(
            said("[arrivals]\nmodel = \"open\"\nrate = 20\nprocess = \"even\""),
            "open: requests at 20/s, evenly spaced"
        );
        let closed = "[arrivals]\ncustomers = 50\nthink = \"3s\"\nwithin = \"1s\"";
        let three = Some(Duration::from_secs(3));
        assert_eq!(
            read(closed).unwrap().models(),
            [Model::Closed(Closed { customers: 50, think: three, within: three.map(|t| t / 3) })]
        );
        let steps = "[[arrivals]]\nsegments = [{ for = \"1s\", rate = 5 }, \
                     { for = \"1min\", from = 5, to = 50 }]\n[[arrivals]]\ntimes = [\"1s\", \"0s\"]";
        assert_eq!(
            said(steps),
            "partly open: sessions in 2 steps or ramps, Poisson + \
             partly open: sessions at 2 listed times"
        );
        let wave = read("[arrivals]\nwave = { mean = 20, swing = 0.5, peak = \"20h\" }").unwrap();
        assert_eq!(wave.rate_at(Duration::from_secs(20 * 3600)), 30.0);
        let bursts = "bursts = { calm = 5, burst = 50, calm_for = \"8s\", burst_for = \"2s\" }";
        let bursts = Arrivals::from_line(bursts, "--arrivals").unwrap();
        assert_eq!(bursts.rate_at(Duration::ZERO), 14.0);
    }

    #[test]
    fn all_mistakes_of_all_arrivals_are_reported_together() {
        let text = r#"[[arrivals]]
rate = -1
proces = "even"
[[arrivals]]
rate = 5
customers = 5
[[arrivals]]
model = "open"
customers = 5
[[arrivals]]
wave = { swing = 2 }
[[arrivals]]
segments = [{ for = "1s" }, { rate = 5 }]
[[arrivals]]
bursts = { calm = 1, burst = 2, calm_for = "1s" }
[[arrivals]]
replay = { file = "nowhere.csv" }
[[arrivals]]
customers = 0
process = "even"
"#;
        let expected = [
            "shop.toml:2: arrivals[0].rate = -1: must be a number of 0 to 1000000; try 0",
            "shop.toml:3: arrivals[0].proces = \"even\": is not a known key; did you mean process?",
            "shop.toml:4: arrivals[1]: has 2 of rate, segments, wave, bursts, times, replay, \
             customers, must have one; write rate = 5 for five sessions per second, \
             or customers = 50",
            "shop.toml:7: arrivals[2]: has a model that does not go with customers; \
             closed goes with customers, open and partly-open with all others",
            "shop.toml:11: arrivals[3].wave.mean: must be set; add mean = 5",
            "shop.toml:11: arrivals[3].wave.swing = 2: must be a number of 0 to 1; try 1",
            "shop.toml:13: arrivals[4].segments[0]: must have either rate, or from and to; \
             write rate = 5",
            "shop.toml:13: arrivals[4].segments[1].for: must be set; add for = \"30s\"",
            "shop.toml:15: arrivals[5].bursts.burst_for: must be set; add burst_for = \"10s\"",
            "shop.toml:17: arrivals[6].replay.file = \"nowhere.csv\": nowhere.csv cannot be read: \
             No such file or directory (os error 2); the path is relative to the scenario's file",
            "shop.toml:19: arrivals[7].customers = 0: must be a whole number of 1 to 1000000; try 1",
            "shop.toml:20: arrivals[7].process = \"even\": is not a known key; known keys: rate, segments, \
             wave, bursts, times, replay, customers, model, class, think, within",
        ];
        assert_eq!(read(text).unwrap_err(), expected);
    }

    #[test]
    fn a_log_is_found_beside_the_scenario_and_its_bad_lines_have_their_place() {
        let directory = tempfile::tempdir().unwrap();
        let scenario = directory.path().join("shop.toml");
        let log = directory.path().join("log.csv");
        let text = "[arrivals]\nreplay = { file = \"log.csv\", column = \"at\", speed = 10 }";
        let read = || {
            tidegate_config::read(text, "shop.toml", |root| {
                arrivals(&root.get("arrivals")?, &scenario.to_string_lossy(), None)
            })
        };
        std::fs::write(&log, "at\n10\n20\n").unwrap();
        let times = vec![Duration::ZERO, Duration::from_secs(1)];
        assert_eq!(read().unwrap(), Arrivals::times(times));
        std::fs::write(&log, "at\n10\nlater\n").unwrap();
        let found = read().unwrap_err();
        assert_eq!(found.0[0].place, format!("{}:3", log.display()));
        assert_eq!(found.0[0].rule, "\"later\" is no time");
    }
}
