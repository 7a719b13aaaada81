//! What one of several drivers saves: its part of a test, whole enough to be
//! added to the others'.

use std::fmt::Write as _;
use std::path::Path;
use std::time::Duration;

use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use tidegate_stats::Latency;

use super::interval::Interval;
use super::tally::Tally;
use crate::plan::Plan;
use crate::plan::shard::Part;
use crate::result::summary::{DriverPart, Summary};
use crate::scenario::SessionLength;
use crate::scenario::thresholds::Threshold;

/// A part of a test, as it was measured.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Portion {
    /// [`Portion::FORMAT`].
    pub(crate) format: u32,
    pub(crate) test: Test,
    pub(crate) driver: DriverPart,
    /// Length of the window as it came out.
    pub(crate) measured: Duration,
    pub(crate) tally: Tally,
    /// The run second by second, warm-up included.
    pub(crate) seconds: Vec<Second>,
}

/// A second with its response times.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Second {
    pub(crate) interval: Interval,
    /// As [`Latency::encode`] gives it; `None` where there was no room for more.
    pub(crate) response: Option<String>,
}

/// What all parts of a test have in common.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct Test {
    /// Of the program.
    pub(crate) version: String,
    /// Of everything that decides what customers do, see [`fingerprint`].
    pub(crate) fingerprint: String,
    pub(crate) scenario: String,
    pub(crate) target: String,
    pub(crate) arrivals: String,
    pub(crate) seed: u64,
    pub(crate) started_at_unix_ms: u64,
    pub(crate) warm_up: Duration,
    pub(crate) measure: Duration,
    pub(crate) http2: bool,
    pub(crate) time_scale: f64,
    pub(crate) patience_scale: f64,
    pub(crate) patience_ms: f64,
    pub(crate) session_length: SessionLength,
    pub(crate) full_share_asked: Option<f64>,
    pub(crate) thresholds: Vec<Threshold>,
}

/// What tells a file's kind before the rest is read.
#[derive(Deserialize)]
struct Head {
    format: Option<u32>,
    runs: Option<Vec<IgnoredAny>>,
    portion: Option<PortionHead>,
}

#[derive(Deserialize)]
struct PortionHead {
    format: u32,
}

#[derive(Deserialize)]
struct Saved {
    portion: Portion,
}

/// Most seconds of a run, and one that was begun.
const MOST_SECONDS: usize = Plan::LONGEST.as_secs() as usize + 1;
/// More than any run counts. The sum of some such counts over [`Part::MOST`] parts
/// is in the range of a u64.
const MOST_COUNTED: u64 = 1 << 50;

impl Portion {
    /// Version of what is saved of a part: goes up whenever it changes, since a sum
    /// of unlike things would be wrong.
    pub const FORMAT: u32 = 2;

    /// Which part it is.
    pub fn part(&self) -> Part {
        self.driver.part
    }

    /// Reads a part's result, as `--part` and `--json` leave it.
    ///
    /// # Errors
    /// A sentence: what is wrong with which file, and what to do.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let bytes = std::fs::read(path).map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&name, &bytes)
    }

    pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let not_ours = |error: serde_json::Error| {
            format!("{name}: {error}; give files that `tidegate load --part I/N --json` wrote")
        };
        let head: Head = serde_json::from_slice(bytes).map_err(not_ours)?;
        if head.runs.is_some() {
            return Err(format!(
                "{name}: holds the runs of --repeat, and no part of a test; compare them with \
                 `tidegate load compare`"
            ));
        }
        if let Some(other) = head.format.filter(|format| *format != Summary::FORMAT) {
            return Err(other_format(name, "format", other, Summary::FORMAT));
        }
        match head.portion {
            Some(PortionHead { format: Self::FORMAT }) => {}
            Some(PortionHead { format }) => {
                return Err(other_format(name, "parts of format", format, Self::FORMAT));
            }
            None => {
                return Err(format!(
                    "{name}: is a whole run, or no result at all, and no part of a test; a part is \
                     what `tidegate load --part 1/2 --json FILE` leaves"
                ));
            }
        }
        let portion = serde_json::from_slice::<Saved>(bytes).map_err(not_ours)?.portion;
        portion.check().map_err(|what| {
            format!("{name}: {what}; the file is damaged: give it as it was written")
        })?;
        Ok(portion)
    }

    /// Sees that it can be added to others.
    fn check(&self) -> Result<(), String> {
        if self.seconds.len() > MOST_SECONDS {
            return Err(format!("has {} seconds", self.seconds.len()));
        }
        let longest = Plan::LONGEST + Duration::from_secs(1);
        let times = self.seconds.iter().flat_map(|it| [it.interval.at, it.interval.length]);
        if times.chain([self.measured, self.test.warm_up]).any(|time| time > longest) {
            return Err("lasts longer than a day".to_owned());
        }
        if let Some(bad) = self.tally.stretches.iter().position(|it| {
            histogram(&it.response).is_none() || !(0.0..=86_401.0).contains(&it.length_s)
        }) {
            return Err(format!("stretch {bad} is none"));
        }
        let seconds = self.seconds.iter().map(|it| it.interval.most()).max();
        let most = self.tally.most().max(seconds.unwrap_or_default());
        if most > MOST_COUNTED { Err(format!("counts {most}")) } else { Ok(()) }
    }
}

/// A histogram that a run may have saved.
pub(crate) fn histogram(text: &str) -> Option<Latency> {
    Latency::decode(text).filter(|latency| latency.count() <= MOST_COUNTED)
}

fn other_format(name: &str, what: &str, other: u32, ours: u32) -> String {
    format!(
        "{name}: has {what} {other}, and this tidegate reads {ours}; merge with the version that \
         wrote it"
    )
}

/// A number for everything in a plan that decides what customers do: two plans
/// with the same one are parts of the same test, whatever their files are called.
///
/// Source: G. Fowler, L. C. Noll and P. Vo, FNV-1a of 64 bits.
pub(crate) fn fingerprint(plan: &Plan) -> String {
    struct Fnv(u64);
    impl std::fmt::Write for Fnv {
        fn write_str(&mut self, text: &str) -> std::fmt::Result {
            for byte in text.bytes() {
                self.0 = (self.0 ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01B3);
            }
            Ok(())
        }
    }
    let mut hash = Fnv(0xCBF2_9CE4_8422_2325);
    let scenario = plan.scenario.parts();
    // By name: a figure has a function, whose address is another in each process.
    let limits: Vec<_> = scenario.thresholds.iter().map(|t| (t.metric(), t.min, t.max)).collect();
    // Writing to it cannot fail.
    let _ = write!(
        hash,
        "{:?}",
        (
            (&scenario.session, &scenario.pages, &scenario.classes),
            (&scenario.parameters, &scenario.fields, limits),
            (plan.arrivals().ok(), plan.warm_up, plan.measure, plan.seed, plan.max_sessions),
            (plan.time_scale, plan.patience_scale, plan.customers),
            (plan.tls, &plan.suites, &plan.groups, plan.full_share, plan.tickets_of()),
            (plan.forged_tickets, &plan.server_name),
            (plan.keep, plan.close, plan.http),
        )
    );
    format!("{:016x}", hash.0)
}
