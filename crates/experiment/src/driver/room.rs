//! What the gate says of its waiting room while customers come, and what they saw of it.

use serde_json::Value;
use tidegate_load::{Snapshot, Totals};

use crate::metrics::Figures;
use crate::system::Started;

/// The gate's waiting room at the first and the last look at the measured window.
#[derive(Default)]
pub struct RoomReadings(Option<[Reading; 2]>);

#[derive(Clone, Copy)]
struct Reading {
    at_s: f64,
    /// CPU time of handshakes and pages.
    cpu_s: f64,
    /// Customers admitted, as the gate and as the customers count.
    admitted: f64,
    let_in: u64,
}

impl RoomReadings {
    /// Looks at the gate's status.
    pub fn look(&mut self, snapshot: &Snapshot, started: &Started) {
        let Some(status) = started.admin("/status") else { return };
        let Ok(status) = serde_json::from_str::<Value>(&status) else { return };
        let number = |path: &str| status.pointer(path).and_then(Value::as_f64);
        let now = (number("/work_cpu_seconds/room"), number("/waiting_room/visits/admitted"));
        if let (Some(cpu_s), Some(admitted)) = now {
            let let_in = snapshot.totals.waited;
            let now = Reading { at_s: snapshot.elapsed_s, cpu_s, admitted, let_in };
            self.0 = Some([self.0.map_or(now, |[first, _]| first), now]);
        }
    }

    /// The figures of a run on so many cores, with the sessions completed as a share of the
    /// capacity.
    pub fn figures(&self, totals: &Totals, of_capacity: Option<f64>, cpus: f64) -> Figures {
        let share = |part: u64, all: u64| (all > 0).then(|| part as f64 / all as f64);
        let cpu_share = self
            .0
            .filter(|[first, last]| last.at_s > first.at_s)
            .map(|[first, last]| (last.cpu_s - first.cpu_s) / (last.at_s - first.at_s) / cpus);
        let admissions_each = self.0.and_then(|[first, last]| {
            let let_in = last.let_in - first.let_in;
            (let_in > 0).then(|| (last.admitted - first.admitted) / let_in as f64)
        });
        let net = of_capacity.zip(cpu_share).map(|(sessions, room)| sessions / (1.0 - room));
        let figures = [
            ("room_cpu_share", cpu_share),
            ("completed_of_capacity_net", net),
            ("room_wait_mean_s", share(totals.waited_ms, totals.waited).map(|ms| ms / 1e3)),
            ("room_estimates_kept", share(totals.waited_as_estimated, totals.waited_with_estimate)),
            ("room_disorder", share(totals.waited_pairs_disordered, totals.waited_pairs)),
            ("room_admissions_each", admissions_each),
            ("room_pages_inside", Some(totals.waiting_pages_inside as f64)),
        ];
        let known = figures.into_iter().filter_map(|(name, value)| Some((name.into(), value?)));
        known.collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_of_a_room_by_hand() {
        let at = |at_s, cpu_s, admitted, let_in| Reading { at_s, cpu_s, admitted, let_in };
        let readings = RoomReadings(Some([at(5.0, 1.0, 10.0, 8), at(15.0, 2.0, 50.0, 48)]));
        let totals = Totals {
            waited: 40,
            waited_ms: 120_000,
            waited_with_estimate: 20,
            waited_as_estimated: 19,
            waited_pairs: 200,
            waited_pairs_disordered: 1,
            ..Totals::default()
        };
        let figures = readings.figures(&totals, Some(0.9), 2.0);
        // A second in ten of two cores; 0.9 / 0.95.
        assert_eq!(figures["room_cpu_share"], 0.05);
        assert!((figures["completed_of_capacity_net"] - 0.947_368).abs() < 1e-6);
        assert_eq!((figures["room_wait_mean_s"], figures["room_estimates_kept"]), (3.0, 0.95));
        assert_eq!((figures["room_disorder"], figures["room_admissions_each"]), (0.005, 1.0));
        assert_eq!(figures["room_pages_inside"], 0.0);
        // Nobody waited, and the gate was not asked.
        let none = RoomReadings::default().figures(&Totals::default(), Some(0.9), 2.0);
        assert_eq!(none.into_keys().collect::<Vec<_>>(), ["room_pages_inside"]);
    }
}
