//! How long a role takes and how often it fails, as a person writes it.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rand::RngExt as _;
use tidegate_config::{parse_duration, show_duration};

/// Longest latency.
const LONGEST: Duration = Duration::from_secs(60);

/// How a role behaves: `latency=20ms..80ms,fail=0.01,lose=0.01,hang=0.001,decline=0.02`, each of
/// them left out or given once. Shares are 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Behaviour {
    /// Shortest and longest time until it answers; every time between them is as likely.
    pub latency: (Duration, Duration),
    /// Share of requests that fail before anything is done.
    pub fail: f64,
    /// Share of requests that are carried out, whose answer is lost.
    pub lose: f64,
    /// Share of requests that are never answered.
    pub hang: f64,
    /// Share of purchase orders that are declined. It follows from the key of a request whether
    /// it is among them.
    pub decline: f64,
}

impl Default for Behaviour {
    /// Answers everything within 20 to 80 ms.
    fn default() -> Self {
        let latency = (Duration::from_millis(20), Duration::from_millis(80));
        Self { latency, fail: 0.0, lose: 0.0, hang: 0.0, decline: 0.0 }
    }
}

/// What one request meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fate {
    /// It is never answered.
    Hang,
    /// It fails before anything is done.
    Fail,
    /// It is carried out, and its answer is lost.
    Lose,
    /// It is carried out and answered.
    Answer,
}

impl Behaviour {
    /// What the next request meets, and after how long.
    pub(crate) fn draw(&self) -> (Fate, Duration) {
        let (shortest, longest) = self.latency;
        let latency = rand::rng().random_range(shortest..=longest);
        (self.fate(rand::random()), latency)
    }

    /// The fate at a point of 0 to 1, on which the shares stand one behind the other.
    fn fate(&self, point: f64) -> Fate {
        let (hang, fail) = (self.hang, self.hang + self.fail);
        match point {
            point if point < hang => Fate::Hang,
            point if point < fail => Fate::Fail,
            point if point < fail + self.lose => Fate::Lose,
            _ => Fate::Answer,
        }
    }

    /// Whether the purchase order of this key is declined.
    pub(crate) fn declines(&self, key: &str) -> bool {
        share_of(key) < self.decline
    }
}

/// A number of 0 to 1 that follows from a text.
///
/// Source: FNV-1a, 64 bits (draft-eastlake-fnv), then the finaliser of MurmurHash3 (A. Appleby).
fn share_of(text: &str) -> f64 {
    let fnv = text.bytes().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    });
    let mixed = [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53]
        .iter()
        .fold(fnv, |hash, factor| (hash ^ (hash >> 33)).wrapping_mul(*factor));
    ((mixed ^ (mixed >> 33)) >> 11) as f64 / (1_u64 << 53) as f64
}

impl FromStr for Behaviour {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let mut behaviour = Self::default();
        let mut seen = Vec::new();
        for setting in text.split(',').map(str::trim) {
            let (name, value) = setting.split_once('=').ok_or_else(|| {
                format!("{setting:?} must be a name and a value, such as latency=20ms..80ms")
            })?;
            if seen.contains(&name) {
                return Err(format!("{name:?} is given twice"));
            }
            seen.push(name);
            match name {
                "latency" => behaviour.latency = latency(value)?,
                "fail" => behaviour.fail = share(name, value)?,
                "lose" => behaviour.lose = share(name, value)?,
                "hang" => behaviour.hang = share(name, value)?,
                "decline" => behaviour.decline = share(name, value)?,
                _ => {
                    return Err(format!(
                        "{name:?} must be latency, fail, lose, hang or decline; try fail=0.01"
                    ));
                }
            }
        }
        if behaviour.fail + behaviour.lose + behaviour.hang > 1.0 {
            return Err("fail, lose and hang must together be at most 1".into());
        }
        Ok(behaviour)
    }
}

fn share(name: &str, value: &str) -> Result<f64, String> {
    let share = value.parse::<f64>().ok().filter(|share| (0.0..=1.0).contains(share));
    share.ok_or_else(|| format!("{name}={value}: must be a share of 0 to 1; try {name}=0.01"))
}

fn latency(value: &str) -> Result<(Duration, Duration), String> {
    let (shortest, longest) = value.split_once("..").unwrap_or((value, value));
    let read = parse_duration(shortest).zip(parse_duration(longest));
    read.filter(|(shortest, longest)| shortest <= longest && *longest <= LONGEST).ok_or_else(|| {
        format!(
            "latency={value}: must be a time of at most {}, or two in their order; \
             try latency=20ms..80ms",
            show_duration(LONGEST)
        )
    })
}

impl fmt::Display for Behaviour {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (shortest, longest) = self.latency;
        write!(f, "latency={}..{}", show_duration(shortest), show_duration(longest))?;
        let shares = [
            ("fail", self.fail),
            ("lose", self.lose),
            ("hang", self.hang),
            ("decline", self.decline),
        ];
        shares
            .iter()
            .filter(|(_, share)| *share > 0.0)
            .try_for_each(|(name, share)| write!(f, ",{name}={share}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_displayed_behaviour_parses_to_itself() {
        for text in ["latency=20ms..80ms", "latency=0s..0s,fail=0.1,lose=0.2,hang=0.3,decline=1"] {
            assert_eq!(text.parse::<Behaviour>().unwrap().to_string(), text);
        }
        let one = "latency=5ms".parse::<Behaviour>().unwrap().latency;
        assert_eq!(one, (Duration::from_millis(5), Duration::from_millis(5)));
        assert_eq!("fail=0".parse(), Ok(Behaviour::default()));
    }

    #[test]
    fn a_mistake_names_what_is_possible() {
        for (text, expected) in [
            ("", "a name and a value"),
            ("slow", "a name and a value"),
            ("speed=1", "latency, fail, lose, hang or decline"),
            ("fail=2", "a share of 0 to 1"),
            ("fail=NaN", "a share of 0 to 1"),
            ("fail=0.1,fail=0.1", "twice"),
            ("fail=0.6,hang=0.6", "at most 1"),
            ("latency=80ms..20ms", "in their order"),
            ("latency=2h", "at most 1m"),
            ("latency=20", "such as latency=20ms..80ms"),
        ] {
            let error = text.parse::<Behaviour>().unwrap_err();
            let expected = expected.replace("such as latency", "try latency");
            assert!(error.contains(&expected), "{text}: {error}");
        }
    }

    #[test]
    fn shares_are_those_of_the_requests() {
        let behaviour: Behaviour = "hang=0.1,fail=0.2,lose=0.3".parse().unwrap();
        let fates = [0.05, 0.15, 0.29, 0.35, 0.59, 0.65].map(|point| behaviour.fate(point));
        let expected = [Fate::Hang, Fate::Fail, Fate::Fail, Fate::Lose, Fate::Lose, Fate::Answer];
        assert_eq!(fates, expected);
        let declining: Behaviour = "decline=0.25".parse().unwrap();
        let declined = (0..4000).filter(|n| declining.declines(&format!("order-{n}"))).count();
        // 4000 × 0.25, within four standard deviations of 27.
        assert!((890..=1110).contains(&declined), "{declined}");
        assert!(!Behaviour::default().declines("order-1"));
    }
}
