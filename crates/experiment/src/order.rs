//! The order of the runs: in rounds; in each round the blocks of the same capacity in random
//! order, and in each block its runs in random order. The speed of a machine drifts; what is
//! compared follows each other closely, and no combination always comes first.

use crate::turns::Order;

use crate::experiment::Combination;

/// Runs of one round that have the same capacity.
#[derive(Clone, Debug, PartialEq)]
pub struct Block {
    /// Round, from 0.
    pub round: u32,
    /// The combinations by index, in the order of their runs.
    pub runs: Vec<usize>,
}

/// All blocks in their order. The same seed gives the same order.
pub fn blocks(combinations: &[Combination], rounds: u32, seed: u64) -> Vec<Block> {
    let mut order = Order::seeded(seed);
    let mut groups: Vec<(String, Vec<usize>)> = Vec::new();
    for (index, combination) in combinations.iter().enumerate() {
        let key = combination.settings.capacity_key();
        match groups.iter_mut().find(|(known, _)| *known == key) {
            Some((_, members)) => members.push(index),
            None => groups.push((key, vec![index])),
        }
    }
    let turns: Vec<_> = order.turns(groups.len(), rounds).collect();
    let block = |turn: crate::turns::Turn| {
        let members = &groups[turn.contender].1;
        let inner = order.turns(members.len(), 1);
        Block { round: turn.round, runs: inner.map(|turn| members[turn.contender]).collect() }
    };
    turns.into_iter().map(block).collect()
}

/// The name of a run: round, number of the combination, and its levels.
pub fn id(round: u32, index: usize, combination: &Combination) -> String {
    let mut id = format!("r{:02}-{index:03}", round + 1);
    for level in combination.levels.values() {
        let mut word = String::new();
        for letter in level.chars() {
            match letter {
                letter if letter.is_ascii_alphanumeric() || letter == '.' => word.push(letter),
                _ if word.ends_with('-') || word.is_empty() => {}
                _ => word.push('-'),
            }
        }
        id += "-";
        id += word.trim_end_matches('-');
    }
    id.chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Levels, Settings};
    use std::collections::BTreeSet;

    fn combinations() -> Vec<Combination> {
        let mut all = Vec::new();
        for processors in [1, 2] {
            for policy in ["off", "tide"] {
                for load in [0.5, 2.0] {
                    all.push(Combination {
                        levels: Levels::from([
                            ("policy".into(), policy.into()),
                            ("load".into(), load.to_string()),
                        ]),
                        settings: Settings {
                            processors,
                            policy: policy.into(),
                            load: Some(load),
                            ..Settings::default()
                        },
                    });
                }
            }
        }
        all
    }

    #[test]
    fn every_combination_is_measured_once_in_every_round_beside_those_of_its_capacity() {
        for seed in 0..20 {
            let all = blocks(&combinations(), 3, seed);
            assert_eq!(all.len(), 6);
            for round in 0..3 {
                let of_round: Vec<&Block> = all.iter().filter(|one| one.round == round).collect();
                let runs: BTreeSet<usize> =
                    of_round.iter().flat_map(|block| block.runs.clone()).collect();
                assert_eq!(runs, (0..8).collect(), "seed {seed}");
                for block in of_round {
                    let low = block.runs.iter().all(|run| *run < 4);
                    assert!(low || block.runs.iter().all(|run| *run >= 4), "{block:?}");
                }
            }
        }
    }

    #[test]
    fn the_order_follows_from_the_seed_and_differs_between_rounds() {
        assert_eq!(blocks(&combinations(), 9, 4), blocks(&combinations(), 9, 4));
        assert_ne!(blocks(&combinations(), 9, 4), blocks(&combinations(), 9, 5));
        let all = blocks(&combinations(), 9, 4);
        let orders: BTreeSet<&[usize]> = all.iter().map(|block| &block.runs[..]).collect();
        assert!(orders.len() > 4, "{orders:?}");
    }

    #[test]
    fn names_of_runs_are_unique_and_safe_as_folders() {
        let mut all = combinations();
        all[0].levels.insert("handshake".into(), "TLS 1.2, RSA/../x".into());
        let ids: BTreeSet<String> =
            all.iter().enumerate().map(|(index, one)| id(0, index, one)).collect();
        assert_eq!(ids.len(), all.len());
        assert!(ids.contains("r01-000-TLS-1.2-RSA-..-x-0.5-off"), "{ids:?}");
        assert!(ids.iter().all(|id| !id.contains('/')));
    }
}
