//! What the site carries by the costs of its operations and the profile of its customers. Pure.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning": capacity =
//! usable processor time ÷ Σ operations per session · cost; the same for each resource.

use serde::Serialize;
use tidegate_plan::Range;
use tidegate_plan::profile::Profile;
use tidegate_stats::least_squares::{non_negative, normal_equations};

use super::costs::Costs;
use super::resources::{Resource, Unit};
use super::runs::Run;

/// What a session uses of a resource, and how many sessions it suffices for.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sum {
    /// Name of the resource.
    pub resource: String,
    /// What it is in.
    pub unit: Unit,
    /// It is the load generator's.
    pub driver: bool,
    /// What a session uses.
    pub session: Range,
    /// What is used per second without customers.
    pub idle: Range,
    /// How much of it may be used in a second; `None` where that is not known.
    pub usable_per_s: Option<f64>,
    /// Sessions per second that it suffices for.
    pub sessions_per_s: Option<Range>,
}

/// What the site carries.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Predicted {
    /// Each resource.
    pub sums: Vec<Sum>,
    /// Index of the tightest; `None` where no limit is known.
    pub tightest: Option<usize>,
    /// Sessions per second that the tightest suffices for.
    pub sessions_per_s: Option<Range>,
    /// The same where the load generator takes its processor time of the site's.
    pub with_driver_per_s: Option<f64>,
    /// Customers at a time, by Little's law.
    pub customers: Option<Range>,
    /// Operations per hour.
    pub page_views_per_hour: Option<Range>,
    /// Orders per hour, where an operation is the order.
    pub orders_per_hour: Option<Range>,
    /// Operations of the profile whose cost is not known.
    pub unknown: Vec<String>,
}

/// Name of the sum over all groups of processes.
const TOGETHER: &str = "all its processes";
/// Name of what limits a site whose processors have time left.
pub const AT_A_TIME: &str = "requests at a time";

/// What is known of the machine.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Machine {
    /// Processors of all of the site's processes.
    pub processors: f64,
    /// The load generator may use the same.
    pub shared_with_driver: bool,
    /// Use that processors may come to, above 0, at most 1.
    pub target: f64,
}

/// Predicts. `shares` are what operations use up of what the site can do where its processors have
/// time left: see [`shares`].
pub fn predict(
    costs: &Costs,
    resources: &[Resource],
    profile: &Profile,
    machine: Machine,
    shares: Option<&[f64]>,
) -> Predicted {
    let per_session = |operation: &str| profile.per_session(operation);
    let mut sums: Vec<Sum> = Vec::new();
    for (at, it) in resources.iter().enumerate() {
        let terms = costs
            .operations
            .iter()
            .filter_map(|cost| Some((per_session(&cost.operation)?, cost.used[at]?)));
        sums.push(Sum::of(it, total(terms), costs.idle[at], machine.target));
    }
    let site: Vec<usize> = (0..resources.len())
        .filter(|at| resources[*at].unit == Unit::CpuSeconds && !resources[*at].driver)
        .collect();
    if site.len() > 1 {
        let all = |of: fn(&Sum) -> Range| sum(site.iter().map(|at| of(&sums[*at])));
        let whole = Resource {
            name: TOGETHER.into(),
            unit: Unit::CpuSeconds,
            per_s: Some(machine.processors),
            driver: false,
        };
        let (session, idle) = (all(|it| it.session), all(|it| it.idle));
        sums.push(Sum::of(&whole, session, idle, machine.target));
    }
    if let Some(shares) = shares {
        let terms = costs.operations.iter().zip(shares).filter_map(|(cost, share)| {
            Some((per_session(&cost.operation)?, Range::exactly(*share)))
        });
        let limit =
            Resource { name: AT_A_TIME.into(), unit: Unit::Share, per_s: Some(1.0), driver: false };
        let session = total(terms);
        if session.value > 0.0 {
            sums.push(Sum::of(&limit, session, Range::exactly(0.0), 1.0));
        }
    }
    let limited = sums.iter().enumerate().filter_map(|(at, it)| Some((at, it.sessions_per_s?)));
    let tightest = limited.min_by(|a, b| a.1.value.total_cmp(&b.1.value));
    let sessions_per_s = tightest.map(|(_, it)| it);
    let with_driver_per_s = machine.shared_with_driver.then(|| {
        let cpu = |driver: bool| -> (f64, f64) {
            let of =
                sums.iter().filter(|it| it.unit == Unit::CpuSeconds && it.resource != TOGETHER);
            let of = of.filter(|it| it.driver == driver);
            of.fold((0.0, 0.0), |sum, it| (sum.0 + it.session.value, sum.1 + it.idle.value))
        };
        let ((site, idle), (driver, _)) = (cpu(false), cpu(true));
        (machine.processors - idle).max(0.0) / (site + driver)
    });
    let hourly = |each: Range| sessions_per_s.map(|it| product(it, each, 3600.0));
    let views = total(
        profile
            .operations
            .iter()
            .filter(|it| it.operation != super::costs::CONNECTION)
            .map(|it| (it.per_session, Range::exactly(1.0))),
    );
    let unknown = profile.operations.iter().filter(|visits| {
        let of = costs.operations.iter().find(|it| it.operation == visits.operation);
        visits.per_session.high > 0.0
            && of.is_none_or(|it| it.used.first().is_none_or(Option::is_none))
            && visits.operation != super::costs::CONNECTION
    });
    Predicted {
        tightest: tightest.map(|(at, _)| at),
        sessions_per_s,
        with_driver_per_s: with_driver_per_s.filter(|it| it.is_finite()),
        customers: sessions_per_s.map(|it| product(it, profile.session_s, 1.0)),
        page_views_per_hour: hourly(views),
        orders_per_hour: profile.checkouts_each().and_then(hourly),
        unknown: unknown.map(|it| it.operation.clone()).collect(),
        sums,
    }
}

impl Predicted {
    /// The highest rate that can be measured here: the site's, or less where the load generator
    /// needs its processors.
    pub fn peak_per_s(&self) -> Option<f64> {
        let site = self.sessions_per_s?.value;
        Some(self.with_driver_per_s.map_or(site, |with| with.min(site)))
    }
}

impl Sum {
    fn of(resource: &Resource, session: Range, idle: Range, target: f64) -> Self {
        let usable_per_s = resource.per_s.map(|it| it * target);
        let carries = |usable: f64| {
            let rate = |idle: f64, session: f64| ((usable - idle) / session).max(0.0);
            Range {
                value: rate(idle.value, session.value),
                low: rate(idle.high, session.high),
                high: rate(idle.low, session.low),
            }
        };
        Self {
            resource: resource.name.clone(),
            unit: resource.unit,
            driver: resource.driver,
            session,
            idle,
            usable_per_s,
            sessions_per_s: usable_per_s.filter(|_| session.low > 0.0).map(carries),
        }
    }
}

/// The sum of products of independent figures; half widths add up as squares do.
fn total(terms: impl Iterator<Item = (Range, Range)>) -> Range {
    let (mut value, mut below, mut above) = (0.0, 0.0, 0.0);
    for (a, b) in terms {
        value += a.value * b.value;
        below += ((a.value - a.low) * b.value).powi(2) + ((b.value - b.low) * a.value).powi(2);
        above += ((a.high - a.value) * b.value).powi(2) + ((b.high - b.value) * a.value).powi(2);
    }
    Range { value, low: (value - below.sqrt()).max(0.0), high: value + above.sqrt() }
}

/// The sum of independent figures.
pub(super) fn sum(of: impl IntoIterator<Item = Range>) -> Range {
    total(of.into_iter().map(|it| (Range::exactly(1.0), it)))
}

/// The product of two independent figures and a factor.
fn product(a: Range, b: Range, factor: f64) -> Range {
    let of = total([(a, b)].into_iter());
    Range { value: of.value * factor, low: of.low * factor, high: of.high * factor }
}

/// What each operation uses up of all that the site can do, by the runs that it did not follow
/// though no measured resource was used up: then all of it is used. Operations that met no such
/// limit use none of it. `None` without such a run.
pub fn shares(operations: usize, runs: &[Run]) -> Option<Vec<f64>> {
    let at_the_limit: Vec<&Run> = runs.iter().filter(|run| run.is_ceiling()).collect();
    if at_the_limit.is_empty() {
        return None;
    }
    // An operation that was not alone at a limit is paid by nobody: it has none of its own.
    let alone = |at: usize| at_the_limit.iter().any(|run| run.operation == Some(at));
    let row = |run: &Run| -> Vec<f64> {
        let counts = run.counts_per_s.iter().enumerate().take(operations);
        counts.map(|(at, count)| if alone(at) { *count } else { 0.0 }).collect()
    };
    let rows: Vec<Vec<f64>> = at_the_limit.iter().map(|run| row(run)).collect();
    let (matrix, right) =
        normal_equations(operations, rows.iter().map(|row| (row.as_slice(), 1.0, 1.0)));
    non_negative(&matrix, &right)
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::costs::tests::{names, resources, run, shop_costs};
    use super::*;
    use tidegate_plan::profile::Visits;

    pub(in crate::tca) const MACHINE: Machine =
        Machine { processors: 2.0, shared_with_driver: false, target: 1.0 };

    pub(in crate::tca) fn profile() -> Profile {
        let visits = |name: &str, per_session: f64| Visits {
            operation: name.into(),
            per_session: Range::exactly(per_session),
        };
        Profile {
            session_s: Range::exactly(60.0),
            sessions: 100,
            checkout: Some("Order".into()),
            operations: vec![
                visits("Home", 1.0),
                visits("Item", 4.0),
                visits("Order", 0.1),
                visits("connection", 1.0),
            ],
        }
    }

    #[test]
    fn capacity_is_the_usable_time_over_the_cost_of_a_session() {
        let found = predict(&shop_costs(), &resources(), &profile(), MACHINE, None);
        // 10 + 80 + 5 + 2 ms; 1.95 processors: 20.1 sessions per second.
        let carried = found.sessions_per_s.unwrap();
        assert!((carried.value - 1.95 / 0.097).abs() < 0.5, "{carried:?}");
        assert!(carried.low <= carried.value && carried.value <= carried.high);
        assert_eq!(found.sums[found.tightest.unwrap()].resource, "shop");
        let value = |of: Option<Range>| of.unwrap().value;
        assert!((value(found.customers) - 60.0 * carried.value).abs() < 1e-6);
        assert!((value(found.page_views_per_hour) - 3600.0 * 5.1 * carried.value).abs() < 1e-6);
        assert!((value(found.orders_per_hour) - 360.0 * carried.value).abs() < 1e-6);
        assert!(found.unknown.is_empty() && found.with_driver_per_s.is_none());
        let half = Machine { target: 0.5, ..MACHINE };
        let half = predict(&shop_costs(), &resources(), &profile(), half, None);
        assert!((value(half.sessions_per_s) - 0.95 / 0.097).abs() < 0.5, "{half:?}");
    }

    #[test]
    fn a_load_generator_on_the_sites_processors_takes_its_part() {
        let shared = Machine { shared_with_driver: true, ..MACHINE };
        let found = predict(&shop_costs(), &resources(), &profile(), shared, None);
        // 97 ms, and 5.1 ms of the load generator.
        let with = found.with_driver_per_s.unwrap();
        assert!((with - 1.95 / 0.1021).abs() < 0.5, "{with}");
        assert_eq!(found.peak_per_s(), Some(with));
    }

    #[test]
    fn a_lock_is_tighter_than_processors_that_have_time_left() {
        let mut runs = vec![
            run(Some(0), &[50.0, 0.0, 0.0], 5.0, [0.5, 0.05]),
            run(Some(1), &[20.0, 20.0, 0.0], 5.0, [0.6, 0.05]),
        ];
        runs.iter_mut().for_each(|run| (run.follows, run.busy) = (false, 0.3));
        let shares = shares(3, &runs).unwrap();
        // A fiftieth of a second each for Home, so that Item has 60 % of the second for 20.
        assert!((shares[0] - 0.02).abs() < 1e-9 && (shares[1] - 0.03).abs() < 1e-9, "{shares:?}");
        let found = predict(&shop_costs(), &resources(), &profile(), MACHINE, Some(&shares));
        assert_eq!(found.sums[found.tightest.unwrap()].resource, AT_A_TIME);
        assert!((found.sessions_per_s.unwrap().value - 1.0 / 0.14).abs() < 1e-6);
        runs.iter_mut().for_each(|run| run.waiting_threads = 1.5);
        assert!(super::shares(3, &runs).is_none(), "others have the processors");
        assert!(super::shares(3, &[run(None, &[1.0; 3], 1.0, [2.0, 0.1])]).is_none());
    }

    #[test]
    fn operations_whose_cost_is_not_known_are_named() {
        let mut costs = shop_costs();
        costs.operations[1].used[0] = None;
        let found = predict(&costs, &resources(), &profile(), MACHINE, None);
        assert_eq!(found.unknown, ["Item"]);
        costs.operations.truncate(2);
        let found = predict(&costs, &resources(), &profile(), MACHINE, None);
        assert_eq!(found.unknown, ["Item", "Order"]);
        assert_eq!(names().len(), 3);
    }
}
