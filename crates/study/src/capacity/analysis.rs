//! What a staircase says: the knee, the rate and the number of customers that the site carries,
//! and the law that its throughput follows. Pure.

use serde::Serialize;
use tidegate_experiment::scalability::{Fitting, ScaleFit, ScalePoint, universal_scalability};
use tidegate_stats::{Carried, Interval};

use super::bottleneck::{Bottleneck, bottleneck};
use super::staircase::End;
use crate::site::step::{Limit, Outcome, Step};

/// Least share of the differences in throughput that a law explains which the site follows.
pub(super) const EXPLAINED: f64 = 0.9;
/// Growth of the sessions in progress from the first to the last quarter of a window beyond which
/// the window says little of a lasting load.
const STEADY: f64 = 1.5;
/// Steps within this factor below the carried rate tell how long a session takes there.
const NEAR: f64 = 0.7;

/// What was found.
#[derive(Clone, Debug, PartialEq)]
pub struct Analysis {
    /// How the search ended.
    pub end: End,
    /// Sessions per second that the site carries within the limit; `None` if none. A point, and a
    /// lower bound, where the site's limit was not reached.
    pub carried_per_s: Option<Interval>,
    /// Mean time that a session takes at that rate, in seconds, with think times as they are.
    pub session_s: Option<Interval>,
    /// Customers at a time at that rate.
    pub customers: Option<Interval>,
    /// The highest rate at which throughput follows the load, whatever the response times, and
    /// the lowest at which it does not.
    pub knee: Option<Knee>,
    /// The most sessions completed per second in any step.
    pub peak_per_s: f64,
    /// The Universal Scalability Law of throughput over sessions in progress, or why there is none.
    pub law: Result<ScaleFit, String>,
    /// Steps that are left out of it, in which the load had not settled.
    pub unsettled: usize,
    /// What limits the site.
    pub bottleneck: Bottleneck,
}

/// Where throughput ceases to follow the load.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The highest rate that was followed; 0 if none was.
    pub followed_per_s: f64,
    /// The lowest rate above it that was not; `None` if all were.
    pub broke_at_per_s: Option<f64>,
}

/// Whether throughput follows the law: its coefficients are possible, and it explains enough of the
/// differences to be read beyond the steps.
pub(super) fn follows(fit: &ScaleFit) -> bool {
    fit.unphysical.is_empty() && fit.r_squared >= EXPLAINED
}

/// Analyses the steps of a staircase. `think_s` is the time that a session thinks in reality,
/// `scale` the factor on it in the steps, and `alone_ms` the time that a request takes alone.
pub fn analyse(
    steps: &[Step],
    end: End,
    carried: Option<Interval>,
    limit: Limit,
    (think_s, scale): (f64, f64),
    alone_ms: f64,
) -> Analysis {
    let session_s = carried.and_then(|carried| session_time(steps, carried.value)).map(|session| {
        let longer = think_s * (1.0 - scale);
        session.map(|time| time + longer)
    });
    Analysis {
        end,
        carried_per_s: carried,
        customers: carried.zip(session_s).map(|(rate, session)| product(rate, session)),
        session_s,
        knee: knee(steps),
        peak_per_s: site(steps).map(|step| step.completed_per_s).fold(0.0, f64::max),
        law: law(steps),
        unsettled: site(steps).filter(|step| !is_settled(step)).count(),
        bottleneck: bottleneck(steps, end, carried.map(|it| it.value), limit, alone_ms),
    }
}

/// The steps that say something of the site.
fn site(steps: &[Step]) -> impl Iterator<Item = &Step> {
    steps.iter().filter(|step| step.is_sound())
}

/// The time that a session takes at about this rate, by Little's law.
fn session_time(steps: &[Step], rate: f64) -> Option<Interval> {
    let carried = || steps.iter().filter(|step| step.outcome == Outcome::Carried);
    let near = |step: &&Step| step.rate_per_s >= NEAR * rate && step.rate_per_s <= 1.02 * rate;
    let mut times: Vec<f64> = carried().filter(near).filter_map(Step::session_s).collect();
    if times.is_empty() {
        let highest = carried().max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s))?;
        times.extend(highest.session_s());
    }
    let alone = || times.first().map(|time| Interval::point(*time));
    Interval::of_mean(&times).map(Interval::not_negative).or_else(alone)
}

/// The product of two independent figures; the relative half widths add up as squares do.
fn product(a: Interval, b: Interval) -> Interval {
    let value = a.value * b.value;
    let share =
        |it: Interval, end: f64| if it.value > 0.0 { (end - it.value) / it.value } else { 0.0 };
    let below = share(a, a.low).hypot(share(b, b.low)).min(1.0);
    let above = share(a, a.high).hypot(share(b, b.high));
    Interval { value, low: value * (1.0 - below), high: value * (1.0 + above) }
}

fn knee(steps: &[Step]) -> Option<Knee> {
    // What a step lost was judged with its chance; here it only counts whether it followed.
    let stair = |step: &Step| tidegate_stats::Step {
        offered_per_s: step.rate_per_s,
        completed_per_s: if step.follows() { step.rate_per_s } else { 0.0 },
        completed_ratio: if step.follows() { 1.0 } else { 0.0 },
    };
    let steps: Vec<_> = site(steps).map(stair).collect();
    let found = tidegate_stats::capacity(&steps, Carried::default())?;
    Some(Knee { followed_per_s: found.sessions_per_s, broke_at_per_s: found.broke_at_per_s })
}

/// Whether the load had settled in the window of a step.
fn is_settled(step: &Step) -> bool {
    step.in_flight_growth <= STEADY
}

/// Fits the law to sessions in progress and throughput.
fn law(steps: &[Step]) -> Result<ScaleFit, String> {
    let settled = site(steps).filter(|step| is_settled(step) && step.in_flight > 0.0);
    let point = |step: &Step| ScalePoint { n: step.in_flight, throughput: step.completed_per_s };
    let points: Vec<ScalePoint> = settled.map(point).collect();
    universal_scalability(&points, Fitting::default()).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::step::tests::{LIMIT, step};
    use proptest::prelude::*;

    /// A site that carries 100 per s and collapses beyond.
    fn collapse() -> Vec<Step> {
        [(25.0, 25.0, 50.0), (50.0, 50.0, 60.0), (80.0, 80.0, 90.0), (95.0, 95.0, 300.0)]
            .into_iter()
            .chain([(110.0, 110.0, 700.0), (150.0, 60.0, 3000.0), (200.0, 30.0, 9000.0)])
            .map(|(rate, completed, ms)| step(rate, completed, ms))
            .collect()
    }

    fn around(value: f64, by: f64) -> Interval {
        Interval { value, low: value - by, high: value + by }
    }

    #[test]
    fn customers_at_a_time_are_rate_times_time_by_littles_law() {
        let found =
            analyse(&collapse(), End::Found, Some(around(100.0, 10.0)), LIMIT, (0.0, 1.0), 10.0);
        // A session takes 2 s in every step.
        let customers = found.customers.unwrap();
        assert!((customers.value - 200.0).abs() < 1e-9);
        assert!((customers.low - 180.0).abs() < 1e-6 && (customers.high - 220.0).abs() < 1e-6);
    }

    #[test]
    fn think_times_that_were_shortened_are_added_again() {
        // 40 s of thinking at a tenth: 36 s were left out.
        let found =
            analyse(&collapse(), End::Found, Some(around(100.0, 0.0)), LIMIT, (40.0, 0.1), 10.0);
        assert!((found.session_s.unwrap().value - 38.0).abs() < 1e-9);
        assert!((found.customers.unwrap().value - 3800.0).abs() < 1e-6);
    }

    #[test]
    fn the_knee_is_where_throughput_ceases_to_follow_whatever_the_response_time() {
        let found =
            analyse(&collapse(), End::Found, Some(around(100.0, 5.0)), LIMIT, (0.0, 1.0), 10.0);
        let knee = found.knee.unwrap();
        assert_eq!((knee.followed_per_s, knee.broke_at_per_s), (110.0, Some(150.0)));
        assert_eq!(found.peak_per_s, 110.0);
    }

    #[test]
    fn steps_of_a_saturated_driver_say_nothing() {
        let mut steps = collapse();
        steps.truncate(3);
        let mut late = step(160.0, 160.0, 10.0);
        late.driver_saturated_because = vec!["late".into()];
        late.outcome = late.judge(LIMIT);
        steps.push(late);
        let found = analyse(&steps, End::Driver, Some(around(80.0, 0.0)), LIMIT, (0.0, 1.0), 10.0);
        assert_eq!((found.peak_per_s, found.knee.unwrap().broke_at_per_s), (80.0, None));
        assert_eq!(found.bottleneck.resource, super::super::bottleneck::Resource::Driver);
    }

    #[test]
    fn steps_that_had_not_settled_are_left_out_of_the_law() {
        let mut steps = collapse();
        steps[6].in_flight_growth = 3.0;
        let found = analyse(&steps, End::Found, Some(around(100.0, 5.0)), LIMIT, (0.0, 1.0), 10.0);
        assert_eq!((found.unsettled, found.law.unwrap().points), (1, 6));
    }

    #[test]
    fn a_site_that_carries_nothing_has_no_figures_and_no_law() {
        let steps = [step(10.0, 1.0, 9000.0), step(5.0, 0.0, 9000.0)];
        let found = analyse(&steps, End::NothingCarried, None, LIMIT, (0.0, 1.0), 10.0);
        assert_eq!((found.carried_per_s, found.customers), (None, None));
        assert!(found.law.is_err());
        assert_eq!(found.knee.unwrap().followed_per_s, 0.0);
    }

    proptest! {
        #[test]
        fn no_staircase_causes_a_panic_or_customers_without_order(
            of in prop::collection::vec((0.1f64..1e4, 0.0f64..1.0, 0.0f64..1e5), 0..20),
            carried in prop::option::of(0.1f64..1e4),
        ) {
            let steps: Vec<Step> =
                of.into_iter().map(|(rate, share, ms)| step(rate, rate * share, ms)).collect();
            let carried = carried.map(|value| around(value, value / 10.0));
            let found = analyse(&steps, End::Found, carried, LIMIT, (5.0, 0.5), 10.0);
            if let Some(customers) = found.customers {
                prop_assert!(customers.low <= customers.value && customers.value <= customers.high);
            }
        }
    }
}
