//! Whether a site became slower or larger while it was studied, as by a leak. Pure.

use tidegate_report::number::{number, time};

use crate::site::step::{Outcome, Phase, Step};

/// Loads up to this share of the carried rate are light.
const LIGHT: f64 = 0.6;
/// A response that takes this many times as long as before, and this much longer, is slower.
const SLOWER: f64 = 1.15;
const LEAST_MS: f64 = 1.0;
/// Memory that grows by this factor and amount is more than caches that fill, if the second half
/// of the study has at least this share of the growth.
const LARGER: f64 = 1.2;
const LEAST_MIB: f64 = 16.0;
const STILL: f64 = 0.15;

/// What changed from the beginning to the end of the steps, a sentence each.
pub(super) fn drift(steps: &[Step], carried: f64) -> Vec<String> {
    [slower(steps, carried), larger(steps)].into_iter().flatten().collect()
}

/// Compares each light step of the curve with one of the search before it, of no lower rate: if the
/// later one is slower, it is not by the load.
fn slower(steps: &[Step], carried: f64) -> Option<String> {
    let light = |phase: Phase| {
        let of = move |step: &&Step| {
            step.phase == phase
                && step.outcome == Outcome::Carried
                && step.rate_per_s <= LIGHT * carried
                && step.service_ms > 0.0
        };
        steps.iter().filter(of)
    };
    let by_rate = |a: &&Step, b: &&Step| a.rate_per_s.total_cmp(&b.rate_per_s);
    let pairs: Vec<(&Step, &Step)> = light(Phase::Curve)
        .filter_map(|late| {
            let before = light(Phase::Search).filter(|it| it.rate_per_s >= 0.95 * late.rate_per_s);
            Some((before.min_by(by_rate)?, late))
        })
        .collect();
    let grew = |(early, late): &(&Step, &Step)| {
        late.service_ms >= SLOWER * early.service_ms
            && late.service_ms - early.service_ms >= LEAST_MS
    };
    let (early, late) = pairs.iter().max_by(|a, b| a.1.at_s.total_cmp(&b.1.at_s))?;
    pairs.iter().all(grew).then(|| {
        format!(
            "The site became slower during the study: at {} sessions/s a request took {} after {}, and at {} sessions/s {} after {}.",
            number(early.rate_per_s),
            time(early.service_ms),
            minutes(early.at_s),
            number(late.rate_per_s),
            time(late.service_ms),
            minutes(late.at_s),
        )
    })
}

/// Of steps that were carried: an overload needs memory for the customers whom it keeps waiting.
fn larger(steps: &[Step]) -> Option<String> {
    let carried = steps.iter().filter(|step| step.outcome == Outcome::Carried);
    let memory: Vec<f64> = carried.filter_map(|it| Some(it.host.as_ref()?.resident_mib)).collect();
    let (first, last) = (*memory.first()?, *memory.last()?);
    let middle = memory[memory.len() / 2];
    let grew = last - first;
    let requests: f64 = steps.iter().map(|step| step.requests_per_s * step.measured_s).sum();
    let rises = last >= LARGER * first && grew >= LEAST_MIB && last - middle >= STILL * grew;
    (rises && requests > 0.0).then(|| {
        format!(
            "Its memory rose from {first:.0} to {last:.0} MiB, and still rose at the end: about {} KiB for each request.",
            number(1024.0 * grew / requests)
        )
    })
}

fn minutes(seconds: f64) -> String {
    match seconds {
        seconds if seconds < 120.0 => format!("{seconds:.0} s"),
        seconds => format!("{:.1} min", seconds / 60.0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::host_use::HostUse;
    use crate::site::step::tests::step;

    /// Steps before and after up and down, with the times of requests and the memory at each.
    fn study(times: [f64; 4], memory: [f64; 4]) -> Vec<Step> {
        let at = [
            (Phase::Search, 25.0),
            (Phase::Search, 50.0),
            (Phase::Curve, 25.0),
            (Phase::Curve, 50.0),
        ];
        let of = |number: usize| Step {
            phase: at[number].0,
            at_s: 100.0 * number as f64,
            service_ms: times[number],
            host: Some(HostUse { resident_mib: memory[number], ..HostUse::default() }),
            ..step(at[number].1, at[number].1, 50.0)
        };
        (0..at.len()).map(of).collect()
    }

    #[test]
    fn a_site_that_slows_down_under_the_same_light_load_is_told() {
        let found = drift(&study([20.0, 21.0, 25.0, 27.0], [30.0; 4]), 100.0);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("at 50.0 sessions/s a request took 21.0\u{a0}ms after 100 s"),
            "{found:?}"
        );
        assert!(found[0].contains("27.0\u{a0}ms after 5.0 min"), "{found:?}");
        // One of two is chance; and what takes twice as long under twice the load is the load's.
        assert!(drift(&study([20.0, 21.0, 25.0, 21.0], [30.0; 4]), 100.0).is_empty());
        assert!(drift(&study([20.0, 40.0, 20.0, 40.0], [30.0; 4]), 100.0).is_empty());
        assert!(drift(&[], 100.0).is_empty());
    }

    #[test]
    fn memory_that_rises_to_the_end_is_told_and_a_cache_that_fills_is_not() {
        let found = drift(&study([20.0; 4], [30.0, 50.0, 70.0, 90.0]), 100.0);
        // 60 MiB in 10 · (25 + 50 + 25 + 50) · 100 requests.
        assert_eq!(found.len(), 1);
        assert!(
            found[0].contains("from 30 to 90 MiB") && found[0].contains("0.41 KiB"),
            "{found:?}"
        );
        assert!(drift(&study([20.0; 4], [30.0, 88.0, 90.0, 90.0]), 100.0).is_empty());
        // Nor is what an overload needs for those who wait.
        let mut overload = study([20.0; 4], [30.0, 31.0, 31.0, 90.0]);
        overload[3].outcome = Outcome::Behind;
        assert!(drift(&overload, 100.0).is_empty());
    }
}
