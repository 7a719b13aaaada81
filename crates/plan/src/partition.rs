//! Which operations get servers of their own.
//!
//! The cost of a group of operations follows from the group alone, and costs of groups add up. So
//! the cheapest partition is found exactly by a dynamic programme over subsets: with whole servers,
//! redundancy for each group and types of server as they are.

use serde::{Deserialize, Serialize};

use crate::inputs::Inputs;
use crate::servers::{ServerType, Staffing};

/// Most parts that a partition can be made of: 3^16 is 43 million steps.
pub const MOST: usize = 16;

/// Operations that stay together, and what they need.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Names of its operations.
    pub operations: Vec<String>,
    /// CPU seconds per second of each operation, on a core of speed 1.
    pub busy: Vec<f64>,
}

/// Operations with servers of their own.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Group {
    /// Names of its operations, in the order of the inputs.
    pub operations: Vec<String>,
    /// Type of its servers.
    pub server: String,
    /// Their number, with those that may fail.
    pub servers: u32,
    /// Share of the time in which their cores are busy; more than 1 is more than they can do.
    pub utilisation: f64,
}

impl Part {
    /// These operations, by the number of customers in session.
    pub fn of(inputs: &Inputs<f64>, shoppers: f64, operations: &[String]) -> Self {
        let each = inputs.operations.iter().zip(inputs.busy(shoppers));
        let own = each.filter(|(operation, _)| operations.contains(&operation.name));
        let (operations, busy) = own.map(|(it, busy)| (it.name.clone(), busy)).unzip();
        Self { operations, busy }
    }

    /// Busy cores of a type of server; `None` if it cannot serve one of the operations.
    pub fn busy_on(&self, server: &ServerType) -> Option<f64> {
        let each = self.operations.iter().zip(&self.busy);
        each.map(|(operation, busy)| Some(busy / server.speed_at(operation)?)).sum()
    }
}

/// The cheapest servers for operations that stay together; `None` if no type serves all of them.
pub fn group(parts: &[&Part], types: &[ServerType], staffing: Staffing) -> Option<Group> {
    let on = |server: &ServerType| {
        let busy = parts.iter().map(|part| part.busy_on(server)).sum::<Option<f64>>()?;
        let servers = staffing.servers(server, busy);
        Some((
            f64::from(servers) * server.cost_per_year(),
            server.name.clone(),
            servers,
            busy,
            server.cores,
        ))
    };
    let best = types.iter().filter_map(on).min_by(|a, b| a.0.total_cmp(&b.0))?;
    let (_, server, servers, busy, cores) = best;
    Some(Group {
        operations: parts.iter().flat_map(|part| part.operations.clone()).collect(),
        server,
        servers,
        utilisation: busy / (f64::from(servers) * cores),
    })
}

/// The partition whose servers cost least per year; `None` if a part can be served by no type.
/// Among equally dear ones the one with fewer groups.
///
/// # Panics
/// With more than [`MOST`] parts.
pub fn cheapest(parts: &[Part], types: &[ServerType], staffing: Staffing) -> Option<Vec<Group>> {
    assert!(parts.len() <= MOST, "a partition has at most {MOST} parts");
    let costs = costs_of_groups(parts, types, staffing);
    let all = costs.len() - 1;
    // The least cost and number of groups of each subset, and the group with its lowest part.
    let mut best = vec![(f64::INFINITY, u32::MAX, 0_usize); costs.len()];
    best[0] = (0.0, 0, 0);
    for subset in 1..=all {
        let lowest = subset & subset.wrapping_neg();
        let rest = subset ^ lowest;
        // Every group of this subset that has its lowest part.
        let mut others = rest;
        loop {
            let members = lowest | others;
            let (cost, groups, _) = best[subset ^ members];
            let with = (cost + costs[members], groups.saturating_add(1), members);
            if (with.0, with.1) < (best[subset].0, best[subset].1) {
                best[subset] = with;
            }
            if others == 0 {
                break;
            }
            others = (others - 1) & rest;
        }
    }
    let mut groups = Vec::new();
    let mut left = all;
    while left != 0 {
        let members = best[left].2;
        let chosen: Vec<&Part> = parts
            .iter()
            .enumerate()
            .filter(|(at, _)| members >> at & 1 == 1)
            .map(|(_, part)| part)
            .collect();
        groups.push(group(&chosen, types, staffing)?);
        left ^= members;
    }
    Some(groups)
}

/// Cost per year of each subset of the parts as a group, by its bits; infinite where no type
/// serves it.
fn costs_of_groups(parts: &[Part], types: &[ServerType], staffing: Staffing) -> Vec<f64> {
    let mut costs = vec![f64::INFINITY; 1 << parts.len()];
    costs[0] = 0.0;
    let mut busy = vec![0.0; costs.len()];
    for server in types {
        let each: Vec<f64> =
            parts.iter().map(|part| part.busy_on(server).unwrap_or(f64::INFINITY)).collect();
        for subset in 1..costs.len() {
            busy[subset] = busy[subset & (subset - 1)] + each[subset.trailing_zeros() as usize];
            if busy[subset].is_finite() {
                let servers = staffing.servers(server, busy[subset]);
                let cost = f64::from(servers) * server.cost_per_year();
                costs[subset] = costs[subset].min(cost);
            }
        }
    }
    costs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::headroom::Headroom;
    use crate::servers::tests::server;
    use proptest::prelude::*;

    const FULL: Staffing = Staffing { headroom: Headroom::Use(1.0), redundancy: 0 };

    fn part(name: &str, busy: f64) -> Part {
        Part { operations: vec![name.into()], busy: vec![busy] }
    }

    fn cost(groups: &[Group], types: &[ServerType]) -> f64 {
        let of = |group: &Group| {
            let server = types.iter().find(|it| it.name == group.server).unwrap();
            f64::from(group.servers) * server.cost_per_year()
        };
        groups.iter().map(of).sum()
    }

    /// The least cost over every partition of these parts.
    fn by_trying_all(parts: &[Part], types: &[ServerType], staffing: Staffing) -> f64 {
        fn place<'a>(
            left: &'a [Part],
            groups: &mut Vec<Vec<&'a Part>>,
            of: &dyn Fn(&[Vec<&Part>]) -> f64,
        ) -> f64 {
            let Some((first, left)) = left.split_first() else { return of(groups) };
            let mut least = f64::INFINITY;
            for at in 0..=groups.len() {
                if at == groups.len() {
                    groups.push(Vec::new());
                }
                groups[at].push(first);
                least = least.min(place(left, groups, of));
                groups[at].pop();
                if groups[at].is_empty() {
                    groups.pop();
                }
            }
            least
        }
        let of = |groups: &[Vec<&Part>]| {
            let each = groups.iter().map(|it| group(it, types, staffing));
            each.map(|it| it.map_or(f64::INFINITY, |it| cost(&[it], types))).sum()
        };
        place(parts, &mut Vec::new(), &of)
    }

    #[test]
    fn one_type_that_serves_all_is_cheapest_without_a_partition() {
        let parts = [part("a", 1.2), part("b", 1.2), part("c", 1.2)];
        let types = [server("only", 10.0, 1.0)];
        // 3.6 cores are two servers of two cores; apart they would be three.
        let groups = cheapest(&parts, &types, FULL).unwrap();
        assert_eq!((groups.len(), groups[0].servers), (1, 2));
        assert!((groups[0].utilisation - 0.9).abs() < 1e-9);
    }

    #[test]
    fn an_operation_moves_to_the_servers_that_are_cheap_for_it() {
        let parts = [part("browse", 40.0), part("checkout", 4.0)];
        let mut fast = server("static", 10.0, 1.0);
        (fast.only, fast.speeds) = (vec!["browse".into()], [("browse".into(), 20.0)].into());
        let types = [server("usual", 10.0, 1.0), fast];
        let groups = cheapest(&parts, &types, FULL).unwrap();
        let found: Vec<_> = groups.iter().map(|it| (it.server.as_str(), it.servers)).collect();
        // 22 servers for both; 40/20 busy cores are one static server, and the rest needs two.
        assert_eq!(found, [("static", 1), ("usual", 2)]);
        assert_eq!(groups[0].operations, ["browse"]);
    }

    #[test]
    fn redundancy_for_each_group_can_make_a_partition_too_dear() {
        let parts = [part("browse", 10.0), part("checkout", 4.0)];
        let mut fast = server("static", 10.0, 1.0);
        (fast.only, fast.speeds) = (vec!["browse".into()], [("browse".into(), 2.0)].into());
        let types = [server("usual", 10.0, 1.0), fast];
        // Mixed 7, apart 3 + 2; with two that may fail in each group 9 and 5 + 4.
        for (redundancy, groups) in [(0, 2), (2, 1)] {
            let staffing = Staffing { redundancy, ..FULL };
            assert_eq!(cheapest(&parts, &types, staffing).unwrap().len(), groups, "{redundancy}");
        }
    }

    #[test]
    fn a_part_that_no_type_serves_has_no_plan() {
        let mut some = server("some", 1.0, 1.0);
        some.only = vec!["a".into()];
        assert_eq!(cheapest(&[part("a", 1.0), part("b", 1.0)], &[some], FULL), None);
    }

    proptest! {
        #[test]
        fn the_programme_finds_what_trying_all_partitions_finds(
            busy in prop::collection::vec(0.01f64..6.0, 1..8),
            fast in prop::collection::vec(1.0f64..12.0, 8),
            only in prop::collection::vec(any::<bool>(), 8),
            price in 1.0f64..30.0,
            redundancy in 0u32..3,
        ) {
            let parts: Vec<Part> =
                busy.iter().enumerate().map(|(at, busy)| part(&at.to_string(), *busy)).collect();
            let mut other = server("other", price, 1.0);
            other.speeds = (0..8).map(|at| (at.to_string(), fast[at])).collect();
            other.only = (0..8).filter(|at| only[*at]).map(|at| at.to_string()).collect();
            let types = [server("usual", 10.0, 1.0), other];
            let staffing = Staffing { headroom: Headroom::Wait(0.1), redundancy };
            let groups = cheapest(&parts, &types, staffing).unwrap();
            let least = by_trying_all(&parts, &types, staffing);
            prop_assert!((cost(&groups, &types) - least).abs() < 1e-9);
            let mut served: Vec<_> = groups.iter().flat_map(|it| it.operations.clone()).collect();
            served.sort();
            let all: Vec<String> = (0..busy.len()).map(|at| at.to_string()).collect();
            prop_assert_eq!(served, all, "each operation is in one group");
        }
    }
}
