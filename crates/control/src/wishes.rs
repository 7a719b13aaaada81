//! What those inside will ask for, learned by how long they have thought.

use crate::average::Average;
use crate::reading::Reading;
use crate::thinking::AGES;

/// How long what customers wish for is remembered at most, in seconds.
const MEMORY_S: f64 = 20.0;
/// Requests per second of thinking of whom nothing is known: dearer than people are,
/// whose think times are seconds.
const PRIOR_PER_S: f64 = 1.0;
/// Seconds of thinking, or answers, up to which a prior stands for what is missing.
const BELIEVED: f64 = 2.0;

/// How often who thinks asks, by the age of her thoughts.
///
/// Those who wait for an answer do not think, so that what is learned stays right at
/// saturation, where requests per session are too few.
#[derive(Clone, Debug)]
pub(crate) struct Wishes {
    /// Requests per second of thinking; for the youngest, per answer: it is those who
    /// ask again within the tick in which they were answered.
    hazards: [Average; AGES],
    /// Those who thought at the last reading, by age.
    thinking: [u64; AGES],
    answered_per_s: f64,
}

impl Wishes {
    pub(crate) fn new() -> Self {
        Self {
            hazards: std::array::from_fn(|_| Average::new(0.0, 0.0, 4000.0)),
            thinking: [0; AGES],
            answered_per_s: 0.0,
        }
    }

    pub(crate) fn observe(&mut self, reading: &Reading, interval_s: f64) {
        let answered = reading.upstream_responses as f64;
        for (age, hazard) in self.hazards.iter_mut().enumerate() {
            let thought_s = self.thinking[age] as f64 * interval_s;
            hazard.fade((-interval_s / MEMORY_S).exp());
            hazard.add(reading.asked[age] as f64, if age == 0 { answered } else { thought_s });
        }
        self.thinking = reading.thinking;
        self.answered_per_s = answered / interval_s;
    }

    /// Requests that follow an answer within the same tick, 0 to 1.
    fn at_once(&self) -> f64 {
        self.hazards[0].value_or(0.1 * PRIOR_PER_S, BELIEVED).min(1.0)
    }

    /// Requests per second that those inside will make in the next interval.
    pub(crate) fn per_s(&self) -> f64 {
        let mut per_s = self.at_once() * self.answered_per_s;
        // Of whom little is known is taken to be like those who are a little younger.
        let mut hazard_per_s = PRIOR_PER_S;
        for (thinking, hazard) in self.thinking.iter().zip(&self.hazards).skip(1) {
            hazard_per_s = hazard.value_or(hazard_per_s, BELIEVED);
            per_s += *thinking as f64 * hazard_per_s;
        }
        per_s
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After ten seconds of ticks that read so.
    fn after(reading: &Reading) -> Wishes {
        let mut wishes = Wishes::new();
        (0..100).for_each(|_| wishes.observe(reading, 0.1));
        wishes
    }

    fn at(age: usize, number: u64) -> [u64; AGES] {
        std::array::from_fn(|other| if other == age { number } else { 0 })
    }

    #[test]
    fn nobody_known_asks_once_a_second() {
        let mut wishes = Wishes::new();
        assert_eq!((wishes.per_s(), wishes.at_once()), (0.0, 0.1));
        wishes.observe(&Reading { thinking: at(1, 300), ..Reading::default() }, 0.1);
        assert_eq!(wishes.per_s(), 300.0);
    }

    #[test]
    fn each_age_asks_as_often_as_it_did() {
        let mut reading = Reading { thinking: at(1, 100), asked: at(1, 50), ..Reading::default() };
        reading.thinking[8] = 5000;
        reading.asked[8] = 1;
        // 5 a second of the young, 0.002 a second of the old.
        let wishes = after(&reading);
        assert!((wishes.per_s() - (500.0 + 10.0)).abs() < 5.0, "{}", wishes.per_s());
        // The young leave; many old ones that are left are no load.
        let mut later = wishes.clone();
        later.observe(&Reading { thinking: at(8, 5000), ..reading.clone() }, 0.1);
        assert!((later.per_s() - 10.0).abs() < 1.0, "{}", later.per_s());
    }

    #[test]
    fn an_age_of_which_nothing_is_known_asks_as_the_next_younger_one() {
        let reading = Reading { thinking: at(1, 100), asked: at(1, 50), ..Reading::default() };
        let mut wishes = after(&reading);
        wishes.observe(&Reading { thinking: at(4, 100), ..reading }, 0.1);
        assert!((wishes.per_s() - 500.0).abs() < 5.0, "{}", wishes.per_s());
    }

    #[test]
    fn answers_bring_requests_within_the_same_tick() {
        // Of 100 answers a tick 30 are followed by a request at once.
        let reading = Reading { upstream_responses: 100, asked: at(0, 30), ..Reading::default() };
        let wishes = after(&reading);
        assert!((wishes.at_once() - 0.3).abs() < 0.001 && (wishes.per_s() - 300.0).abs() < 1.0);
    }

    #[test]
    fn a_wrong_reading_does_not_make_more_than_all_ask_at_once() {
        let reading = Reading { upstream_responses: 1, asked: at(0, 900), ..Reading::default() };
        assert_eq!(after(&reading).at_once(), 1.0);
    }
}
