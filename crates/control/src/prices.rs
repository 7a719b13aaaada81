//! Prices of handshakes by kind, learned while running.

use serde::{Deserialize, Serialize};

use crate::average::Average;
use crate::costs::Priors;
use crate::experience::Experience;
use crate::handshake::FullHandshake;
use crate::number::{sane, times};

/// Full handshakes of one kind since the previous reading.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct KindWork {
    /// The kind that was predicted at the decision.
    pub kind: FullHandshake,
    /// Handshakes finished, successfully or not.
    pub handshakes: u64,
    /// CPU seconds spent on them.
    pub cpu_s: f64,
}

impl KindWork {
    /// The same with the number of handshakes multiplied by `factor`.
    pub(crate) fn counting(self, factor: f64) -> Self {
        Self { handshakes: times(self.handshakes, factor), ..self }
    }
}

/// What a kind of handshakes costs, for a page.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct KindPrice {
    /// The kind's name.
    pub kind: &'static str,
    /// CPU seconds of the gate.
    pub handshake_cpu_s: f64,
    /// Handshakes that it was learned from, at most some hundred.
    pub evidence: f64,
}

/// Handshakes after which a kind's own figures count alone.
const ENOUGH: f64 = 3.0;
/// Handshakes that are remembered of each kind.
const REMEMBERED: f64 = 300.0;

/// Prices of all kinds.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Prices {
    /// In the order of [`FullHandshake::index`].
    learned: Vec<Average>,
    /// CPU seconds per second of the reference, over all kinds: how slow this machine is.
    slowness: Average,
}

impl Prices {
    /// Before anything was learned: all kinds are as far from the reference as the prior of
    /// a full handshake is from that of RSA-2048.
    pub(crate) fn new(priors: &Priors) -> Self {
        let usual = FullHandshake::RSA_2048.reference_cpu_s();
        let slowness = sane(priors.full_handshake_cpu_s) / usual;
        Self {
            learned: vec![Average::new(0.0, 0.0, REMEMBERED); FullHandshake::COUNT],
            slowness: Average::new(slowness, ENOUGH * usual, REMEMBERED * usual),
        }
    }

    /// Whether all kinds are there: those of another version may be others.
    pub(crate) fn is_complete(&self) -> bool {
        self.learned.len() == FullHandshake::COUNT
    }

    /// CPU seconds of a handshake of this kind: the average of the last few hundred. What is
    /// missing to three of them counts as the reference, times the slowness of the machine.
    pub(crate) fn cpu_s(&self, kind: FullHandshake) -> f64 {
        let prior = kind.reference_cpu_s() * self.slowness.value();
        self.learned[kind.index()].value_or(prior, ENOUGH)
    }

    /// Learns from what was measured in a tick.
    pub(crate) fn observe(&mut self, work: &[KindWork]) {
        for KindWork { kind, handshakes, cpu_s } in work {
            let (number, cpu_s) = (*handshakes as f64, sane(*cpu_s));
            let known = self.cpu_s(*kind);
            self.learned[kind.index()].add_near(known, cpu_s, number);
            self.slowness.add_measured(cpu_s, number * kind.reference_cpu_s());
        }
    }

    /// Adds what was measured here.
    pub(crate) fn tell(&self, all: &mut Experience) {
        all.insert("slowness", self.slowness.evidence());
        for (kind, learned) in FullHandshake::all().zip(&self.learned) {
            all.insert(kind.name(), learned.evidence());
        }
    }

    /// Takes what others know where little was measured here.
    pub(crate) fn assume(&mut self, known: &Experience) {
        known.get("slowness").into_iter().for_each(|known| self.slowness.assume(known));
        for (kind, learned) in FullHandshake::all().zip(&mut self.learned) {
            known.get(kind.name()).into_iter().for_each(|known| learned.assume(known));
        }
    }

    /// The kinds that were seen, with their prices. Allocates.
    pub(crate) fn seen(&self) -> Vec<KindPrice> {
        let price = |(kind, learned): (FullHandshake, &Average)| KindPrice {
            kind: kind.name(),
            handshake_cpu_s: self.cpu_s(kind),
            evidence: learned.weight(),
        };
        let all = FullHandshake::all().zip(&self.learned);
        all.filter(|(_, learned)| learned.weight() > 0.0).map(price).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::handshake::{CertificateKey, KeyExchange};

    const RSA: FullHandshake = FullHandshake::RSA_2048;
    const COSTLY: FullHandshake = FullHandshake {
        key: CertificateKey::Rsa4096,
        exchange: KeyExchange::X25519MlKem768,
        mutual: true,
    };

    fn work(kind: FullHandshake, handshakes: u64, each_s: f64) -> KindWork {
        KindWork { kind, handshakes, cpu_s: handshakes as f64 * each_s }
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 0.01, "{actual} is not {expected}");
    }

    #[test]
    fn kinds_are_priced_apart_and_each_by_its_own_clock() {
        let mut prices = Prices::new(&Priors::default());
        (0..20).for_each(|_| prices.observe(&[work(RSA, 90, 4e-4), work(COSTLY, 10, 5e-3)]));
        close(prices.cpu_s(RSA), 4e-4);
        close(prices.cpu_s(COSTLY), 5e-3);
        let seen: Vec<_> = prices.seen().iter().map(|price| price.kind).collect();
        assert_eq!(seen, ["rsa-2048/x25519", "rsa-4096/X25519MLKEM768/mutual"]);
    }

    #[test]
    fn a_kind_that_was_never_seen_is_priced_by_the_machines_speed() {
        let mut prices = Prices::new(&Priors::default());
        close(prices.cpu_s(RSA), 500e-6);
        // A machine half as fast as that of the reference.
        let twice = 2.0 * RSA.reference_cpu_s();
        (0..20).for_each(|_| prices.observe(&[work(RSA, 100, twice)]));
        close(prices.cpu_s(COSTLY), 2.0 * COSTLY.reference_cpu_s());
        // Three handshakes are enough, and a third of them is a third of the evidence.
        prices.observe(&[work(COSTLY, 1, 5e-3)]);
        close(prices.cpu_s(COSTLY), (5e-3 + 4.0 * COSTLY.reference_cpu_s()) / 3.0);
        prices.observe(&[work(COSTLY, 2, 5e-3)]);
        close(prices.cpu_s(COSTLY), 5e-3);
    }

    #[test]
    fn an_outlier_counts_as_eight_times_what_is_known() {
        let mut prices = Prices::new(&Priors::default());
        (0..10).for_each(|_| prices.observe(&[work(RSA, 100, 4e-4)]));
        prices.observe(&[work(RSA, 1, 1e6), work(COSTLY, 1, f64::NAN)]);
        // (299 × 400 µs + 8 × 400 µs) / 300, or nearly so.
        close(prices.cpu_s(RSA), 4e-4 * (1.0 + 7.0 / 301.0));
        assert!(prices.cpu_s(COSTLY).is_finite() && prices.cpu_s(COSTLY) > 0.0);
    }
}
