//! The demand forecast: requests that active sessions will make, learned by the time
//! since their last response.

use serde::{Deserialize, Serialize};

use crate::average::Average;
use crate::experience::Experience;
use crate::reading::Reading;
use crate::think_time_census::AGES;
use crate::tide::tuning::Tuning;

/// Names of the age classes in an [`Experience`].
const HAZARDS: [&str; AGES] = [
    "hazard_0",
    "hazard_1",
    "hazard_2",
    "hazard_3",
    "hazard_4",
    "hazard_5",
    "hazard_6",
    "hazard_7",
    "hazard_8",
    "hazard_9",
    "hazard_10",
];

/// The hazard of think times: how often a thinking customer makes the next request, by
/// age class.
///
/// Customers who wait for a response do not think, so the estimate stays right at
/// saturation, where requests per session are too few.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct DemandForecast {
    /// Requests per second of thinking; for the youngest class, per response: these
    /// requests follow a response within the same tick.
    hazards: [Average; AGES],
    /// Thinking customers at the last reading, by age class.
    thinking: [u64; AGES],
    answered_per_s: f64,
}

impl DemandForecast {
    pub(crate) fn new() -> Self {
        Self {
            hazards: std::array::from_fn(|_| Average::new(0.0, 0.0, 4000.0)),
            thinking: [0; AGES],
            answered_per_s: 0.0,
        }
    }

    /// Adds what was measured here.
    pub(crate) fn tell(&self, all: &mut Experience) {
        for (name, hazard) in HAZARDS.into_iter().zip(&self.hazards) {
            all.insert(name, hazard.evidence());
        }
    }

    /// Takes what others know where little was measured here.
    pub(crate) fn assume(&mut self, known: &Experience) {
        for (name, hazard) in HAZARDS.into_iter().zip(&mut self.hazards) {
            known.get(name).into_iter().for_each(|known| hazard.assume(known));
        }
    }

    pub(crate) fn observe(&mut self, reading: &Reading, interval_s: f64, tuning: &Tuning) {
        let answered = reading.upstream_responses as f64;
        for (age, hazard) in self.hazards.iter_mut().enumerate() {
            let thought_s = self.thinking[age] as f64 * interval_s;
            hazard.fade((-interval_s / tuning.forecast_memory_s).exp());
            hazard.add(
                reading.requests_by_age[age] as f64,
                if age == 0 { answered } else { thought_s },
            );
        }
        self.thinking = reading.thinking;
        self.answered_per_s = answered / interval_s;
    }

    /// Requests that follow a response within the same tick, 0 to 1.
    fn at_once(&self, tuning: &Tuning) -> f64 {
        let prior = 0.1 * tuning.forecast_prior_per_s;
        self.hazards[0].value_or(prior, tuning.forecast_prior_weight).min(1.0)
    }

    /// Requests per second that active sessions will make in the next interval.
    pub(crate) fn per_s(&self, tuning: &Tuning) -> f64 {
        let mut per_s = self.at_once(tuning) * self.answered_per_s;
        // An age class with little evidence takes the hazard of the next younger one.
        let mut hazard_per_s = tuning.forecast_prior_per_s;
        for (thinking, hazard) in self.thinking.iter().zip(&self.hazards).skip(1) {
            hazard_per_s = hazard.value_or(hazard_per_s, tuning.forecast_prior_weight);
            per_s += *thinking as f64 * hazard_per_s;
        }
        per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tuning() -> Tuning {
        Tuning::default()
    }

    /// After ten seconds of ticks with this reading.
    fn after(reading: &Reading) -> DemandForecast {
        let mut forecast = DemandForecast::new();
        (0..100).for_each(|_| forecast.observe(reading, 0.1, &tuning()));
        forecast
    }

    fn at(age: usize, number: u64) -> [u64; AGES] {
        std::array::from_fn(|other| if other == age { number } else { 0 })
    }

    #[test]
    fn without_evidence_each_customer_asks_once_a_second() {
        let mut forecast = DemandForecast::new();
        assert_eq!((forecast.per_s(&tuning()), forecast.at_once(&tuning())), (0.0, 0.1));
        let reading = Reading { thinking: at(1, 300), ..Reading::default() };
        forecast.observe(&reading, 0.1, &tuning());
        assert_eq!(forecast.per_s(&tuning()), 300.0);
    }

    #[test]
    fn each_age_class_has_its_own_hazard() {
        let mut reading =
            Reading { thinking: at(1, 100), requests_by_age: at(1, 50), ..Reading::default() };
        reading.thinking[8] = 5000;
        reading.requests_by_age[8] = 1;
        // 5 a second of the young, 0.002 a second of the old.
        let forecast = after(&reading);
        let per_s = forecast.per_s(&tuning());
        assert!((per_s - (500.0 + 10.0)).abs() < 5.0, "{per_s}");
        // The young leave; many old ones that are left are no load.
        let mut later = forecast.clone();
        later.observe(&Reading { thinking: at(8, 5000), ..reading.clone() }, 0.1, &tuning());
        let per_s = later.per_s(&tuning());
        assert!((per_s - 10.0).abs() < 1.0, "{per_s}");
    }

    #[test]
    fn an_age_class_without_evidence_takes_the_hazard_of_the_next_younger_one() {
        let reading =
            Reading { thinking: at(1, 100), requests_by_age: at(1, 50), ..Reading::default() };
        let mut forecast = after(&reading);
        forecast.observe(&Reading { thinking: at(4, 100), ..reading }, 0.1, &tuning());
        let per_s = forecast.per_s(&tuning());
        assert!((per_s - 500.0).abs() < 5.0, "{per_s}");
    }

    #[test]
    fn responses_bring_requests_within_the_same_tick() {
        // Of 100 responses a tick 30 are followed by a request at once.
        let reading =
            Reading { upstream_responses: 100, requests_by_age: at(0, 30), ..Reading::default() };
        let forecast = after(&reading);
        assert!((forecast.at_once(&tuning()) - 0.3).abs() < 0.001);
        assert!((forecast.per_s(&tuning()) - 300.0).abs() < 1.0);
    }

    #[test]
    fn a_wrong_reading_does_not_make_more_than_all_ask_at_once() {
        let reading =
            Reading { upstream_responses: 1, requests_by_age: at(0, 900), ..Reading::default() };
        assert_eq!(after(&reading).at_once(&tuning()), 1.0);
    }
}
