//! Reads `[arrivals]`, or several side by side as `[[arrivals]]`.

use std::path::Path;
use std::time::Duration;

use super::check::DAY;
use crate::arrivals::{
    Arrivals, Bursts, Closed, Model, Process, Rate, Schedule, Segment, Wave, replay,
};
use tidegate_toml::{Mistakes, Section, Value};

/// Most models side by side, and segments of one.
const MODELS: usize = 100;
const SEGMENTS: usize = 100_000;
/// What says when somebody arrives; one of them must be there.
const WHENS: [&str; 7] = ["rate", "segments", "wave", "bursts", "times", "replay", "customers"];
const SHORTEST: Duration = Duration::from_millis(1);

impl Arrivals {
    /// Reads the inside of an `[arrivals]` table from one line, such as
    /// `rate = 5, process = "even"`; files named in it are found from the working
    /// directory. `name` is the place that mistakes name.
    ///
    /// # Errors
    /// All mistakes together.
    pub fn from_line(line: &str, name: &str) -> Result<Self, Mistakes> {
        let text = format!("arrivals = {{ {line} }}");
        tidegate_toml::read(&text, name, |root| {
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
    if list.is_empty() || list.len() > MODELS {
        value.wrong(format!("has {} entries", list.len()), format!("write 1 to {MODELS}"));
        return None;
    }
    // Every one is read before the first that is wrong ends it.
    let entries: Vec<_> =
        list.iter().map(|value| entry(&value.section()?, file, classes)).collect();
    Some(Arrivals::side_by_side(entries.into_iter().flatten()))
}

/// A model, and whose it is.
fn entry(section: &Section<'_>, file: &str, classes: Option<&[&str]>) -> Option<Arrivals> {
    let class = match (section.get("class"), classes) {
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
    let named = section.get("model");
    let named = match &named {
        Some(value) => Some(value.choice(&["partly-open", "open", "closed"])?),
        None => None,
    };
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
    let most = i64::from(Arrivals::CUSTOMERS);
    let customers = section.get("customers").and_then(|value| value.integer(1..=most));
    // Nothing given is the default; something wrong is no model.
    let time = |key| match section.get(key) {
        Some(value) => value.duration(Duration::ZERO..=DAY).map(Some),
        None => Some(None),
    };
    let (think, within) = (time("think"), time("within"));
    Some(Model::Closed(Closed { customers: customers? as u32, think: think?, within: within? }))
}

fn schedule(section: &Section<'_>, when: &str, file: &str) -> Option<Schedule> {
    let value = section.get(when)?;
    let process = match section.get("process") {
        Some(value) => [Process::Poisson, Process::Even].get(value.choice(&["poisson", "even"])?),
        None => None,
    };
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
        _ => Rate::constant(value.number(0.0..=Rate::FASTEST)?),
    };
    Some(Schedule::Rate(process.copied().unwrap_or_default(), rate))
}

/// A key that must be there; its absence is a mistake.
fn need<'r>(section: &Section<'r>, key: &str, example: &str) -> Option<Value<'r>> {
    let value = section.get(key);
    if value.is_none() {
        section.wrong(format!("has no {key}"), format!("write {key} = {example}"));
    }
    value
}

fn per_s(section: &Section<'_>, key: &str) -> Option<f64> {
    need(section, key, "5")?.number(0.0..=Rate::FASTEST)
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
            section.only(&["for", "rate", "from", "to"]);
            let lasts = need(&section, "for", "\"30s\"").and_then(|v| v.duration(SHORTEST..=DAY));
            let given = ["rate", "from", "to"].map(|key| section.get(key).is_some());
            let (from, to) = match given {
                [true, false, false] => ("rate", "rate"),
                [false, true, true] => ("from", "to"),
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
    section.only(&["mean", "swing", "period", "peak"]);
    let mean_per_s = per_s(section, "mean");
    let swing = need(section, "swing", "0.5").and_then(|value| value.number(0.0..=1.0));
    let period = match section.get("period") {
        Some(value) => value.duration(Duration::from_secs(1)..=DAY),
        None => Some(DAY),
    };
    let peak = match section.get("peak") {
        Some(value) => value.duration(Duration::ZERO..=DAY),
        None => period.map(|period| period / 2),
    };
    let (mean_per_s, swing, period, peak) = (mean_per_s?, swing?, period?, peak?);
    Some(Rate::Wave(Wave { mean_per_s, swing, period, peak }))
}

fn bursts(section: &Section<'_>) -> Option<Rate> {
    section.only(&["calm", "burst", "calm_for", "burst_for"]);
    let (calm, burst) = (per_s(section, "calm"), per_s(section, "burst"));
    let shortest = Duration::from_millis(10);
    let length =
        |key| need(section, key, "\"10s\"").and_then(|value| value.duration(shortest..=DAY));
    let (calm_for, burst_for) = (length("calm_for"), length("burst_for"));
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
    section.only(&["file", "column", "speed"]);
    let log = need(&section, "file", "\"log.csv\"");
    let column = match section.get("column") {
        Some(value) => value.string(),
        None => Some("time"),
    };
    let speed = match section.get("speed") {
        Some(value) => value.number(0.001..=1e6),
        None => Some(1.0),
    };
    let (log, column, speed) = (log?, column?, speed?);
    let path = Path::new(file).parent().unwrap_or(Path::new("")).join(log.string()?);
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
        tidegate_toml::read(text, "shop.toml", |root| {
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
            tidegate_toml::read(text, "shop.toml", |root| {
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
