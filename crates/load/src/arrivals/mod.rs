//! When customers arrive: the model (open, partly open, closed) with a schedule for the
//! open ones; one or several at once.

pub(crate) mod limits;
mod rate;
pub(crate) mod replay;
mod schedule;
pub(crate) mod seed;

use std::fmt;
use std::time::Duration;

pub use rate::{Bursts, Rate, Segment, Wave};
#[cfg(test)]
pub(crate) use schedule::tests::any_schedule;
pub use schedule::{Process, Schedule, Stream};

/// The arrivals of a run: one model or several at once.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    models: Vec<Model>,
    /// For each model the class of its customers, if it is set.
    classes: Vec<Option<String>>,
}

/// One kind of arrivals.
///
/// Source: B. Schroeder, A. Wierman and M. Harchol-Balter, Open versus closed: a
/// cautionary tale, NSDI 2006.
#[derive(Clone, Debug, PartialEq)]
pub enum Model {
    /// Sessions arrive independently of the service; within a session the next request waits
    /// for the last response.
    PartlyOpen(Schedule),
    /// Requests arrive independently of the service, as sessions of one request for the start
    /// page.
    Open(Schedule),
    /// A fixed set of customers.
    Closed(Closed),
}

/// A fixed set of customers. Each begins a new session after the end of the last one, whatever
/// its outcome, and a think time. The intended start of a session is the end of that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Closed {
    /// How many; at least 1.
    pub customers: u32,
    /// Mean think time between two sessions, negative exponential; `None` takes
    /// the scenario's.
    pub think: Option<Duration>,
    /// Their first sessions begin evenly spaced over this time; `None` takes the
    /// mean think time, so that they do not come all at once.
    pub within: Option<Duration>,
}

impl Arrivals {
    /// The highest rate that is accepted, in arrivals per second.
    pub const FASTEST: f64 = Rate::FASTEST;
    /// Most customers of the closed model.
    pub const CUSTOMERS: u32 = 1_000_000;
    /// Most models side by side.
    pub const MODELS: usize = 100;

    /// Sessions in a Poisson process at a constant rate.
    pub fn poisson(per_s: f64) -> Self {
        Schedule::Rate(Process::Poisson, Rate::constant(per_s)).into()
    }

    /// Sessions with equal gaps at a constant rate.
    pub fn even(per_s: f64) -> Self {
        Schedule::Rate(Process::Even, Rate::constant(per_s)).into()
    }

    /// Sessions by steps and ramps, see [`Rate::segments`].
    pub fn segments(process: Process, segments: Vec<Segment>) -> Self {
        Schedule::Rate(process, Rate::segments(segments)).into()
    }

    /// Sessions at exactly these instants.
    pub fn times(times: Vec<Duration>) -> Self {
        Schedule::times(times).into()
    }

    /// A fixed number of customers with the think time of the scenario.
    pub fn closed(customers: u32) -> Self {
        Self::of(Model::Closed(Closed { customers, think: None, within: None }))
    }

    /// One model alone.
    pub fn of(model: Model) -> Self {
        Self { models: vec![model], classes: vec![None] }
    }

    /// The same, all of them customers of this class of the scenario.
    #[must_use]
    pub fn by(mut self, class: &str) -> Self {
        self.classes.fill(Some(class.to_owned()));
        self
    }

    /// All of these side by side.
    pub fn side_by_side(all: impl IntoIterator<Item = Self>) -> Self {
        let (mut models, mut classes) = (Vec::new(), Vec::new());
        for arrivals in all {
            models.extend(arrivals.models);
            classes.extend(arrivals.classes);
        }
        Self { models, classes }
    }

    /// The models, side by side.
    pub fn models(&self) -> &[Model] {
        &self.models
    }

    /// For each model the class of its customers; `None` where it is drawn for
    /// each session.
    pub fn classes(&self) -> &[Option<String>] {
        &self.classes
    }

    /// Each model in words, such as `open: requests at 20/s, Poisson (bots)`.
    pub fn words(&self) -> impl Iterator<Item = String> {
        self.models.iter().zip(&self.classes).map(|(model, class)| match class {
            Some(class) => format!("{model} ({class})"),
            None => model.to_string(),
        })
    }

    /// Sessions or requests that schedules offer at an instant, per second; 0
    /// for a list of times and for the closed model, which has no rate.
    pub fn rate_at(&self, at: Duration) -> f64 {
        let of = |model: &Model| match model {
            Model::PartlyOpen(Schedule::Rate(_, rate)) | Model::Open(Schedule::Rate(_, rate)) => {
                rate.at(at)
            }
            _ => 0.0,
        };
        self.models.iter().map(of).sum()
    }

    /// Whether there are closed models alone.
    pub fn is_closed(&self) -> bool {
        self.models.iter().all(|model| matches!(model, Model::Closed(_)))
    }

    /// The end of the latest schedule that has one: of its last segment, or its last listed or
    /// replayed time. `None` where no schedule has an end.
    pub fn end(&self) -> Option<Duration> {
        self.models.iter().filter_map(|model| model.schedule()?.end()).max()
    }

    /// Whether every schedule has an end.
    pub fn have_an_end(&self) -> bool {
        let ends = |model: &Model| model.schedule().is_some_and(|it| it.end().is_some());
        self.models.iter().all(ends)
    }

    /// Whether everything arrives in segments, whose length is that of the run.
    pub fn has_lengths_only(&self) -> bool {
        let in_segments = |model: &Model| match model.schedule() {
            Some(Schedule::Rate(_, rate)) => rate.length().is_some(),
            _ => false,
        };
        self.models.iter().all(in_segments)
    }

    /// Whether there is a closed model among them.
    pub fn has_closed(&self) -> bool {
        self.models.iter().any(|model| matches!(model, Model::Closed(_)))
    }

    /// Whether every session has one request.
    pub fn is_open(&self) -> bool {
        self.models.iter().all(|model| matches!(model, Model::Open(_)))
    }
}

impl Model {
    /// The schedule of the open models.
    fn schedule(&self) -> Option<&Schedule> {
        match self {
            Self::PartlyOpen(schedule) | Self::Open(schedule) => Some(schedule),
            Self::Closed(_) => None,
        }
    }
}

impl From<Schedule> for Arrivals {
    /// Sessions by a schedule.
    fn from(schedule: Schedule) -> Self {
        Self::of(Model::PartlyOpen(schedule))
    }
}

impl fmt::Display for Arrivals {
    /// All models in words, such as `closed: 50 customers + open: 20/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.words().collect::<Vec<_>>().join(" + "))
    }
}

impl fmt::Display for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::PartlyOpen(schedule) => write!(f, "partly open: sessions {schedule}"),
            Self::Open(schedule) => write!(f, "open: requests {schedule}"),
            Self::Closed(closed) => write!(f, "closed: {} customers", closed.customers),
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (process, rate) = match self {
            Self::Times(times) => return write!(f, "at {} listed times", times.len()),
            Self::Rate(process, rate) => (process, rate),
        };
        match rate {
            Rate::Segments(segments) => match segments.as_slice() {
                [only] if only.from_per_s == only.to_per_s => {
                    write!(f, "at {}/s", shown(only.to_per_s))?;
                }
                many => write!(f, "in {} steps or ramps", many.len())?,
            },
            Rate::Wave(wave) => {
                let mean = shown(wave.mean_per_s);
                write!(f, "in a wave of {mean}/s ± {:.0} %", 100.0 * wave.swing)?;
            }
            Rate::Bursts(bursts) => {
                let (calm, burst) = (shown(bursts.calm_per_s), shown(bursts.burst_per_s));
                write!(f, "in bursts of {calm} and {burst}/s")?;
            }
        }
        f.write_str(match process {
            Process::Poisson => ", Poisson",
            Process::Even => ", evenly spaced",
        })
    }
}

/// A rate with at most six digits that count: one a minute is 0.0166667/s.
fn shown(per_s: f64) -> f64 {
    if per_s <= 0.0 {
        return per_s;
    }
    let unit = 10f64.powi(5 - per_s.log10().floor() as i32);
    let rounded = (per_s * unit).round() / unit;
    if rounded.is_finite() { rounded } else { per_s }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_in_words_has_the_digits_that_count() {
        for (per_s, words) in [
            (0.2, "0.2"),
            (20.0, "20"),
            (1.0 / 60.0, "0.0166667"),
            (1.0 / 3600.0, "0.000277778"),
            (1234.5678, "1234.57"),
            (1e6, "1000000"),
            (1e-300, "0.000"),
        ] {
            let name = Arrivals::poisson(per_s).to_string();
            let expected = format!("partly open: sessions at {words}");
            assert!(name.starts_with(&expected), "{name}");
        }
        assert_eq!(Arrivals::poisson(0.0).to_string(), "partly open: sessions at 0/s, Poisson");
    }

    #[test]
    fn concurrent_rates_add_up_and_have_a_description() {
        let requests = Schedule::Rate(Process::Even, Rate::constant(20.0));
        let both = Arrivals::side_by_side([
            Arrivals::poisson(5.0),
            Arrivals::closed(50),
            Arrivals::of(Model::Open(requests)),
        ]);
        assert_eq!(both.rate_at(Duration::ZERO), 25.0);
        assert!(!both.is_closed() && Arrivals::closed(1).is_closed());
        assert_eq!(
            both.to_string(),
            "partly open: sessions at 5/s, Poisson + closed: 50 customers + \
             open: requests at 20/s, evenly spaced"
        );
    }
}
