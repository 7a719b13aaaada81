//! Reads `[arrivals]`, or several side by side as `[[arrivals]]`.

use std::path::Path;
use std::time::Duration;

use super::limits::DAY;
use crate::arrivals::{
    Arrivals, Bursts, Closed, Model, Process, Rate, Schedule, Segment, Wave, replay,
};
use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{
    Key, Mistakes, Number, Other, Rule, Section, Text, Time, Value, Whole, Words, keys,
};

keys! {
    /// When customers come: `[arrivals]`, or several side by side as `[[arrivals]]`. One of
    /// `rate`, `segments`, `wave`, `bursts`, `times`, `replay` and `customers` must be there.
    pub(super) static ARRIVALS: ArrivalKeys {
        /// Per second, the same rate for ever.
        rate: Number(0.0, Rate::FASTEST) = Unset;
        /// Steps and ramps; the last rate holds.
        segments: Other("list of tables", "1 to 100000, see below") = Unset;
        /// A rate that rises and falls as a sine.
        wave: Other("table", "see below") = Unset;
        /// Two rates in turn, each for a negative exponential time (MMPP).
        bursts: Other("table", "see below") = Unset;
        /// Exactly these instants, from the start of the run.
        times: Other("list of durations", "0s to 24h") = Unset;
        /// The instants in a log.
        replay: Other("table", "see below") = Unset;
        /// So many customers for ever (closed model): each begins a new session when the last
        /// has ended and after a think time.
        customers: Whole(1, Arrivals::CUSTOMERS as i64) = Unset;
        /// What arrives: sessions, requests that are each a session of their own, or (with
        /// `customers`) always the same customers.
        model: Words(&["partly-open", "open", "closed"]) = Else("`\"closed\"` with `customers`, otherwise `\"partly-open\"`");
        /// The class of the customers.
        class: Text("a class's name") = Else("drawn by the classes' shares");
        /// Instants at random, or evenly spaced; not with `times`, `replay` and `customers`.
        process: Words(&["poisson", "even"]) = Is("\"poisson\"");
        /// Mean think time between two sessions, negative exponential; with `customers` only.
        think: Time(Duration::ZERO, DAY) = Else("the class's, else the session's");
        /// Their first sessions begin evenly spaced over this time; with `customers` only.
        within: Time(Duration::ZERO, DAY) = Else("the think time");
    }

    /// A segment: `rate`, or `from` and `to`.
    pub(super) static SEGMENT: SegmentKeys {
        /// How long.
        r#for: Time(SHORTEST, DAY) = Required;
        /// The same rate all the time, per second.
        rate: Number(0.0, Rate::FASTEST) = Unset;
        /// The rate at its beginning, per second.
        from: Number(0.0, Rate::FASTEST) = Unset;
        /// The rate at its end, per second.
        to: Number(0.0, Rate::FASTEST) = Unset;
    }

    /// A wave.
    pub(super) static WAVE: WaveKeys {
        /// Mean rate, per second.
        mean: Number(0.0, Rate::FASTEST) = Required;
        /// How far it rises and falls, as a part of the mean.
        swing: Number(0.0, 1.0) = Required;
        /// From peak to peak.
        period: Time(Duration::from_secs(1), DAY) = Is("\"24h\"");
        /// When the first peak is.
        peak: Time(Duration::ZERO, DAY) = Else("half the period");
    }

    /// Bursts.
    pub(super) static BURSTS: BurstKeys {
        /// Rate of the calm, per second.
        calm: Number(0.0, Rate::FASTEST) = Required;
        /// Rate of a burst, per second.
        burst: Number(0.0, Rate::FASTEST) = Required;
        /// Mean length of the calm.
        calm_for: Time(SHORTEST_BURST, DAY) = Required;
        /// Mean length of a burst.
        burst_for: Time(SHORTEST_BURST, DAY) = Required;
    }

    /// A log that is replayed, from its earliest instant on.
    pub(super) static REPLAY: ReplayKeys {
        /// A `.har` file, whose requests count, a `.log` file as web servers write it, or a CSV file with a head line.
        file: Text("path from the scenario's folder") = Required;
        /// Column of the instants: seconds, or dates as 2024-05-01T12:00:00Z.
        column: Text("a column's name") = Is("\"time\"");
        /// So many times as fast.
        speed: Number(0.001, 1e6) = Is("1");
    }
}

/// Most segments of a model.
const SEGMENTS: usize = 100_000;
/// The keys that define a schedule; one of them is required.
const WHENS: [&str; 7] = ["rate", "segments", "wave", "bursts", "times", "replay", "customers"];
const SHORTEST: Duration = Duration::from_millis(1);
const SHORTEST_BURST: Duration = Duration::from_millis(10);

impl Arrivals {
    /// Reads the inside of an `[arrivals]` table from one line, such as
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
        value.wrong(format!("has {} entries", list.len()), format!("write 1 to {most}"));
        return None;
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
            value.wrong("names a class, but there are none", "add [[classes]], or remove it");
            None
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
    let named = section.read_some(&ARRIVALS.model)?;
    let [when] = given.as_slice() else {
        section.wrong(
            format!("has {} of {}, must have one", given.len(), WHENS.join(", ")),
            "write rate = 5 for five sessions per second, or customers = 50",
        );
        return None;
    };
    if (*when == "customers") != (named == Some(2)) && named.is_some() {
        section.wrong(
            format!("has a model that does not go with {when}"),
            "closed goes with customers, open and partly-open with all others",
        );
        return None;
    }
    if *when == "customers" {
        return closed(section);
    }
    let schedule = schedule(section, when, file)?;
    Some(if named == Some(1) { Model::Open(schedule) } else { Model::PartlyOpen(schedule) })
}

fn closed(section: &Section<'_>) -> Option<Model> {
    let customers = section.read(&ARRIVALS.customers);
    let (think, within) = (section.read_some(&ARRIVALS.think), section.read_some(&ARRIVALS.within));
    Some(Model::Closed(Closed { customers: customers? as u32, think: think?, within: within? }))
}

fn schedule(section: &Section<'_>, when: &str, file: &str) -> Option<Schedule> {
    let value = section.get(when)?;
    let process = [Process::Poisson, Process::Even][section.read_or(&ARRIVALS.process, 0)?];
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
        _ => Rate::constant(section.read(&ARRIVALS.rate)?),
    };
    Some(Schedule::Rate(process, rate))
}

/// A key that must be there; its absence is a mistake.
fn need<'r, R: Rule>(section: &Section<'r>, key: &Key<R>, example: &str) -> Option<R::Read<'r>> {
    let name = key.name;
    if section.get(name).is_none() {
        section.wrong(format!("has no {name}"), format!("write {name} = {example}"));
    }
    section.read(key)
}

fn per_s(section: &Section<'_>, key: &Key<Number>) -> Option<f64> {
    need(section, key, "5")
}

fn segments(value: &Value<'_>) -> Option<Rate> {
    let list = value.list()?;
    if list.is_empty() || list.len() > SEGMENTS {
        value.wrong(format!("has {} entries", list.len()), format!("write 1 to {SEGMENTS}"));
        return None;
    }
    let segments: Vec<_> = list
        .iter()
        .map(|value| {
            let section = value.section()?;
            section.known(&SEGMENT);
            let lasts = need(&section, &SEGMENT.r#for, "\"30s\"");
            let given = [&SEGMENT.rate, &SEGMENT.from, &SEGMENT.to];
            let (from, to) = match given.map(|key| section.get(key.name).is_some()) {
                [true, false, false] => (&SEGMENT.rate, &SEGMENT.rate),
                [false, true, true] => (&SEGMENT.from, &SEGMENT.to),
                _ => {
                    section.wrong("must have either rate, or from and to", "write rate = 5");
                    return None;
                }
            };
            let (from_per_s, to_per_s) = (per_s(&section, from), per_s(&section, to));
            Some(Segment { lasts: lasts?, from_per_s: from_per_s?, to_per_s: to_per_s? })
        })
        .collect();
    Some(Rate::segments(segments.into_iter().collect::<Option<_>>()?))
}

fn wave(section: &Section<'_>) -> Option<Rate> {
    section.known(&WAVE);
    let mean_per_s = per_s(section, &WAVE.mean);
    let swing = need(section, &WAVE.swing, "0.5");
    let period = section.read_or(&WAVE.period, DAY);
    let peak = section.read_or(&WAVE.peak, period.unwrap_or_default() / 2);
    let (mean_per_s, swing, period, peak) = (mean_per_s?, swing?, period?, peak?);
    Some(Rate::Wave(Wave { mean_per_s, swing, period, peak }))
}

fn bursts(section: &Section<'_>) -> Option<Rate> {
    section.known(&BURSTS);
    let (calm, burst) = (per_s(section, &BURSTS.calm), per_s(section, &BURSTS.burst));
    let length = |key| need(section, key, "\"10s\"");
    let (calm_for, burst_for) = (length(&BURSTS.calm_for), length(&BURSTS.burst_for));
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
    let name = need(&section, &REPLAY.file, "\"log.csv\"");
    let column = section.read_or(&REPLAY.column, "time");
    let speed = section.read_or(&REPLAY.speed, 1.0);
    let (name, column, speed) = (name?, column?, speed?);
    let log = section.get(REPLAY.file.name)?;
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(name);
    let wrong = match replay::read(&path, column, speed) {
        Ok(times) => return Some(times),
        Err(wrong) => wrong,
    };
    for mistake in wrong {
        match mistake.line {
            0 => log.wrong(mistake.rule, mistake.remedy),
            line => {
                let path = path.to_string_lossy();
                value.reader.wrong_in(&path, line, column, mistake.rule, mistake.remedy);
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Arrivals, Vec<String>> {
        tidegate_config::read(text, "shop.toml", |root| {
            arrivals(&root.get("arrivals")?, "shop.toml", Some(&["bots"]))
        })
        .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
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
    fn all_mistakes_of_all_arrivals_are_told_together() {
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
            "shop.toml:2: arrivals[0].rate: = -1 must be 0 to 1000000; \
             choose a value in this range",
            "shop.toml:3: arrivals[0].proces: is not a known key; did you mean process?",
            "shop.toml:4: arrivals[1]: has 2 of rate, segments, wave, bursts, times, replay, \
             customers, must have one; write rate = 5 for five sessions per second, \
             or customers = 50",
            "shop.toml:7: arrivals[2]: has a model that does not go with customers; \
             closed goes with customers, open and partly-open with all others",
            "shop.toml:11: arrivals[3].wave: has no mean; write mean = 5",
            "shop.toml:11: arrivals[3].wave.swing: = 2 must be 0 to 1; \
             choose a value in this range",
            "shop.toml:13: arrivals[4].segments[0]: must have either rate, or from and to; \
             write rate = 5",
            "shop.toml:13: arrivals[4].segments[1]: has no for; write for = \"30s\"",
            "shop.toml:15: arrivals[5].bursts: has no burst_for; write burst_for = \"10s\"",
            "shop.toml:17: arrivals[6].replay.file: nowhere.csv cannot be read: \
             No such file or directory (os error 2); the path is relative to the scenario's file",
            "shop.toml:19: arrivals[7].customers: = 0 must be 1 to 1000000; \
             choose a value in this range",
            "shop.toml:20: arrivals[7].process: is not a known key; known keys: rate, segments, \
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
        let told = read().unwrap_err();
        assert_eq!((told.0[0].line, told.0[0].rule.as_str()), (3, "\"later\" is no time"));
        assert_eq!(told.0[0].file, log.to_string_lossy());
    }
}
