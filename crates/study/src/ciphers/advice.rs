//! What to choose, and why, in words. Pure.
//!
//! A difference is decided where its 95 % interval excludes zero and it is more than a hundredth of
//! what a session costs. Security comes before cost where the cost is small: TLS 1.3 is chosen
//! wherever it is offered, and a group with ML-KEM where it adds less than a tenth.

use serde::Serialize;
use tidegate_report::number::{bytes, number, percent, time};
use tidegate_stats::Interval;

use super::analysis::Found;
use super::kinds::{Factor, Kind, NotOffered};
use super::modes::Mode;

/// What is said of one factor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Finding {
    /// The factor.
    pub factor: Factor,
    /// The level to choose.
    pub choose: String,
    /// Whether every other level that the site offers differs beyond chance.
    pub decided: bool,
    /// What it costs against the others, and what was not measured.
    pub text: String,
}

/// The recommendation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Advice {
    /// What to choose, in a sentence.
    pub headline: String,
    /// By factor.
    pub findings: Vec<Finding>,
    /// Connections: kept, resumed, and what that is worth beside the factors.
    pub connections: Vec<String>,
}

/// Share of a session's cost below which a difference does not matter.
const MATTERS: f64 = 0.01;
/// Share of it that security may cost.
const SMALL: f64 = 0.1;

/// What is chosen, from what was found.
pub(super) struct Chooser<'a> {
    pub(super) found: &'a Found,
    pub(super) kinds: &'a [Kind],
    pub(super) not_offered: &'a [NotOffered],
    /// How the scenario's customers use connections.
    pub(super) own: Mode,
}

impl Chooser<'_> {
    /// The recommendation.
    pub(super) fn advice(&self) -> Advice {
        let findings: Vec<Finding> = Factor::ALL.map(|factor| self.finding(factor)).into();
        let of = |factor: Factor| findings[factor as usize].choose.clone();
        let [protocol, cipher, key, group] = Factor::ALL.map(of);
        let headline =
            format!("Choose {protocol} with {cipher}, a key of {key} and the group {group}.");
        Advice { headline, connections: self.connections(), findings }
    }

    /// What costs are, in words.
    fn cost(&self) -> &'static str {
        if self.found.is_cpu { "CPU time" } else { "response time" }
    }

    /// A difference from today that is decided; in the scenario's own use of connections, or with
    /// a full handshake for each interaction, which shows handshakes best.
    fn decided(&self, kind: usize) -> Option<(Mode, Interval)> {
        [self.own, Mode::Full].into_iter().find_map(|mode| {
            let more = self.found.difference((kind, mode), (0, mode))?;
            let whole = self.found.cost(0, mode)?.value;
            let is_apart = more.low > 0.0 || more.high < 0.0;
            (is_apart && more.value.abs() > MATTERS * whole).then_some((mode, more))
        })
    }

    fn finding(&self, factor: Factor) -> Finding {
        let others: Vec<usize> =
            (1..self.kinds.len()).filter(|at| self.kinds[*at].factor == Some(factor)).collect();
        let today = self.kinds[0].level(factor);
        let chosen = self.chosen(factor, &others);
        let choose = self.kinds[chosen].level(factor);
        let decided = others.iter().all(|at| self.decided(*at).is_some());
        let mut text: Vec<String> = Vec::new();
        text.push(match others.is_empty() {
            true => format!("{today} is the only {} that the site offers.", factor.name()),
            false if chosen == 0 => format!("Stay with {today}, which customers get today."),
            false => format!("Take {choose} in place of {today}, which customers get today."),
        });
        text.extend(self.reason(factor, chosen));
        text.extend(others.iter().map(|at| self.beside(*at, factor)));
        text.extend(self.lacking(factor));
        Finding { factor, choose, decided, text: text.join(" ") }
    }

    /// Index of the kind that has the best level of a factor.
    fn chosen(&self, factor: Factor, others: &[usize]) -> usize {
        let all = || std::iter::once(0).chain(others.iter().copied());
        let level = |at: usize| self.kinds[at].level(factor);
        // What it costs more than today where that is known; else nothing is known against it.
        let more = |at: usize| match self.decided(at) {
            Some((_, more)) if at > 0 => more.value,
            _ => 0.0,
        };
        let cheapest = |among: &mut dyn Iterator<Item = usize>| {
            among.min_by(|a, b| more(*a).total_cmp(&more(*b)))
        };
        let secure = |at: &usize| match factor {
            Factor::Protocol => level(*at) == "TLS 1.3",
            Factor::Group => level(*at).contains("MLKEM") && self.is_small(*at),
            Factor::Cipher | Factor::Key => false,
        };
        cheapest(&mut all().filter(secure)).or_else(|| cheapest(&mut all())).unwrap_or(0)
    }

    /// Whether a kind adds less than a tenth to a session as the scenario has it.
    fn is_small(&self, kind: usize) -> bool {
        let more = self.found.difference((kind, self.own), (0, self.own));
        let whole = self.found.cost(0, self.own);
        more.zip(whole).is_some_and(|(more, whole)| more.value <= SMALL * whole.value)
    }

    /// The upper end of what a kind adds to a session as the scenario has it, as a share.
    fn adds(&self, kind: usize) -> Option<f64> {
        let more = self.found.difference((kind, self.own), (0, self.own))?;
        Some(more.high / self.found.cost(0, self.own)?.value)
    }

    /// Why a level is chosen that need not be the cheapest.
    fn reason(&self, factor: Factor, chosen: usize) -> Option<String> {
        let level = self.kinds[chosen].level(factor);
        match factor {
            Factor::Protocol if level == "TLS 1.2" => Some(
                "TLS 1.3 saves a round trip for each full handshake: switch it on at the site."
                    .to_owned(),
            ),
            Factor::Group if level.contains("MLKEM") => Some(format!(
                "It protects what is recorded today from a later quantum computer{}.",
                match self.adds(chosen) {
                    _ if chosen == 0 => "",
                    Some(most) if most <= SMALL => ", and adds less than a tenth to a session",
                    _ => "; whether it adds less than a tenth to a session is undecided",
                }
            )),
            _ => None,
        }
    }

    /// A level beside today's: what it costs more or less.
    fn beside(&self, kind: usize, factor: Factor) -> String {
        let level = self.kinds[kind].level(factor);
        let (mode, more, is_decided) = match self.decided(kind) {
            Some((mode, more)) => (mode, Some(more), true),
            None => (Mode::Full, self.found.difference((kind, Mode::Full), (0, Mode::Full)), false),
        };
        let Some((more, whole)) = more.zip(self.found.cost(0, mode)) else {
            return format!("{level} was not measured often enough.");
        };
        let share = more.map(|it| it / whole.value);
        let interval = format!("{} to {}", signed(share.low), signed(share.high));
        let costs = match is_decided {
            true => format!("{level} costs {} {} ({interval})", signed(share.value), self.cost()),
            false => format!("{level} is undecided in {} ({interval})", self.cost()),
        };
        let clause = mode.clause();
        format!("{costs} {clause}{}.", self.on_the_way(kind, mode))
    }

    /// Bytes and round trips that a kind adds to a session.
    fn on_the_way(&self, kind: usize, mode: Mode) -> String {
        let of = |kind| self.found.session(kind, mode);
        let (Some(one), Some(today)) = (of(kind), of(0)) else { return String::new() };
        let mut text = String::new();
        if let Some((one, today)) = one.bytes.zip(today.bytes) {
            let more = one - today;
            text += &match more.abs() < MATTERS * today {
                true => ", the same bytes".to_owned(),
                false => format!(", {}{}", sign(more), bytes(more.abs())),
            };
        }
        if let Some((one, today)) = one.round_trips.zip(today.round_trips) {
            let more = one - today;
            if more.abs() >= 0.1 {
                text += &format!(" and {}{} round trips", sign(more), number(more.abs()));
            }
        }
        text + " a session"
    }

    /// Levels that the site does not offer and that are worth a thought.
    fn lacking(&self, factor: Factor) -> Option<String> {
        let lacks = |level: &str| {
            self.not_offered.iter().any(|it| it.factor == factor && it.level == level)
        };
        let only_rsa = || self.kinds.iter().all(|it| it.level(Factor::Key).starts_with("RSA"));
        match factor {
            Factor::Group if lacks("X25519MLKEM768") => Some(
                "The site does not offer X25519MLKEM768, so what is recorded today can be read once there is a quantum computer."
                    .to_owned(),
            ),
            Factor::Key if lacks("ECDSA P-256") && only_rsa() => Some(
                "The site has no ECDSA P-256 key, which signs with less CPU time than RSA: put a certificate with one beside the others and measure again."
                    .to_owned(),
            ),
            _ => None,
        }
    }

    /// Kept and resumed connections beside the choice of everything else.
    fn connections(&self) -> Vec<String> {
        let found = self.found;
        let mut text = Vec::new();
        if let Some(price) = found.price(0) {
            let resumed = price.resumed.map(|it| format!(", one that resumes {}", interval(it)));
            text.push(format!(
                "A connection with a full handshake costs {} of {}{}.",
                interval(price.full),
                self.cost(),
                resumed.unwrap_or_default()
            ));
        }
        if let Some(share) = found.share(0, self.own) {
            text.push(format!(
                "{}, as in this scenario, handshakes are {} of what a session costs{}.",
                tidegate_report::words::capital(self.own.clause()),
                percent(share),
                if share < SMALL { ": no choice of key or group changes much" } else { "" }
            ));
        }
        let full = (0, Mode::Full);
        let best = (1..self.kinds.len())
            .filter_map(|kind| found.difference((kind, Mode::Full), full))
            .filter(|more| more.high < 0.0)
            .map(|more| -more.value)
            .fold(0.0, f64::max);
        for (mode, what) in [
            (Mode::Resumed, "Resumption, with a connection for each interaction,"),
            (Mode::Kept, "A connection for a session in place of one for each interaction"),
        ] {
            let Some(saved) = found.difference(full, (0, mode)) else { continue };
            let Some(whole) = found.cost(0, Mode::Full) else { continue };
            if saved.low <= 0.0 {
                text.push(format!("{what} saves nothing that can be told from chance."));
                continue;
            }
            text.push(format!(
                "{what} saves {} a session, {} of it: {}.",
                interval(saved),
                percent(saved.value / whole.value),
                match () {
                    () if best <= 0.0 =>
                        "more than any choice of protocol, cipher, key and group, none of which saves anything that can be told from chance"
                            .to_owned(),
                    () if saved.value > best => format!(
                        "{} times as much as the best single choice of protocol, cipher, key and group",
                        number(saved.value / best)
                    ),
                    () => format!(
                        "less than the best single choice of protocol, cipher, key and group, which saves {}",
                        time(best)
                    ),
                }
            ));
        }
        text
    }
}

fn sign(of: f64) -> &'static str {
    if of < 0.0 { "−" } else { "+" }
}

fn signed(share: f64) -> String {
    format!("{}{}", sign(share), percent(share.abs()))
}

/// Milliseconds with their interval.
fn interval(ms: Interval) -> String {
    tidegate_report::number::with_interval(ms.value, ms.ends(), time)
}

#[cfg(test)]
mod tests {
    use super::super::analysis::tests::trials;
    use super::super::kinds::tests::{today, with_group, with_key};
    use super::*;
    use tidegate_load::{ServerKey, SigningKey};

    fn kinds() -> Vec<Kind> {
        let rsa = ServerKey { signs: Some(SigningKey::Rsa), bits: 2048 };
        vec![today(), with_key(rsa), with_group("X25519MLKEM768"), with_group("secp256r1")]
    }

    /// Costs of a session, in milliseconds, in which nothing is left of the drift.
    fn found(work: f64, handshake: [f64; 4]) -> Found {
        let mut all = Vec::new();
        for (kind, ms) in handshake.into_iter().enumerate() {
            all.push((kind, Mode::Full, work + 10.0 * ms, [10.0, 0.0]));
            all.push((kind, Mode::Resumed, work + ms + 9.0 * 0.1, [1.0, 9.0]));
            all.push((kind, Mode::Kept, work + ms, [1.0, 0.0]));
        }
        all.push((0, Mode::Open, work, [0.0, 0.0]));
        Found::of(&trials(&all))
    }

    fn advice(found: &Found, own: Mode) -> Advice {
        let lacking = [NotOffered { factor: Factor::Key, level: "Ed25519".to_owned() }];
        Chooser { found, kinds: &kinds(), not_offered: &lacking, own }.advice()
    }

    fn of(advice: &Advice, factor: Factor) -> (&str, &str) {
        let finding = &advice.findings[factor as usize];
        (&finding.choose, &finding.text)
    }

    #[test]
    fn a_key_that_costs_less_is_chosen_and_the_costlier_one_is_told_with_its_cost() {
        let cheap_rsa = advice(&found(10.0, [3.0, 1.0, 3.1, 3.0]), Mode::Full);
        let (choose, text) = of(&cheap_rsa, Factor::Key);
        assert_eq!(choose, "RSA-2048");
        assert!(text.contains("Take RSA-2048 in place of ECDSA P-256"), "{text}");
        let dear_rsa = advice(&found(10.0, [1.0, 3.0, 1.1, 1.0]), Mode::Full);
        let (choose, text) = of(&dear_rsa, Factor::Key);
        assert_eq!(choose, "ECDSA P-256");
        // 20 ms of 20 and a mean drift of 10 ms.
        assert!(text.contains("RSA-2048 costs +66.6\u{a0}% CPU time"), "{text}");
    }

    #[test]
    fn a_hybrid_group_is_chosen_while_it_adds_less_than_a_tenth() {
        let cheap = advice(&found(10.0, [1.0, 3.0, 1.05, 1.0]), Mode::Full);
        let (choose, text) = of(&cheap, Factor::Group);
        assert_eq!(choose, "X25519MLKEM768");
        assert!(text.contains("recorded today"), "{text}");
        assert!(text.contains("adds less than a tenth to a session."), "{text}");
        // Half of a session more.
        let dear = advice(&found(10.0, [1.0, 3.0, 2.5, 1.0]), Mode::Full);
        assert_eq!(of(&dear, Factor::Group).0, "x25519");
        // With one handshake for a session it is little again.
        let kept = advice(&found(100.0, [1.0, 3.0, 2.5, 1.0]), Mode::Kept);
        assert_eq!(of(&kept, Factor::Group).0, "X25519MLKEM768");
    }

    #[test]
    fn what_chance_explains_is_called_undecided_and_one_offer_the_only_one() {
        let advice = advice(&found(10.0, [1.0, 3.0, 1.1, 1.0]), Mode::Full);
        let group = &advice.findings[Factor::Group as usize];
        assert!(!group.decided && group.text.contains("secp256r1 is undecided"), "{group:?}");
        assert!(of(&advice, Factor::Protocol).1.contains("the only protocol"));
        assert_eq!(
            advice.headline,
            "Choose TLS 1.3 with AES-128-GCM, a key of ECDSA P-256 and the group X25519MLKEM768."
        );
    }

    #[test]
    fn keeping_connections_is_set_beside_the_best_choice_of_everything_else() {
        // The other key saves 5 ms of 50, keeping saves 36 ms.
        let text = advice(&found(10.0, [4.0, 3.5, 4.1, 4.0]), Mode::Kept).connections.join(" ");
        assert!(text.contains("7.20 times as much as the best single choice"), "{text}");
        assert!(text.contains("with a full handshake costs 4.00\u{a0}ms"), "{text}");
        assert!(text.contains("one that resumes 0.1"), "{text}");
        let none = advice(&found(10.0, [4.0, 5.0, 5.0, 4.0]), Mode::Kept).connections.join(" ");
        assert!(none.contains("more than any choice of protocol"), "{none}");
    }
}
