//! Servers that can be bought, and how many of them a load needs.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::headroom::Headroom;

/// A type of server.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ServerType {
    /// Its name.
    pub name: String,
    /// What one costs to buy.
    pub price: f64,
    /// What one costs in a year.
    pub yearly: f64,
    /// Years until it is replaced, above 0.
    pub life_years: f64,
    /// Its cores.
    pub cores: f64,
    /// Speed of a core relative to the one that costs were measured on.
    pub speed: f64,
    /// Speeds for operations where they differ from that.
    pub speeds: BTreeMap<String, f64>,
    /// The operations that it can serve; empty for all.
    pub only: Vec<String>,
}

impl ServerType {
    /// What one costs per year, its price spread over its life.
    pub fn cost_per_year(&self) -> f64 {
        self.price / self.life_years + self.yearly
    }

    /// Speed of a core at an operation; `None` if it cannot serve it.
    pub fn speed_at(&self, operation: &str) -> Option<f64> {
        let serves = self.only.is_empty() || self.only.iter().any(|it| it == operation);
        serves.then(|| self.speeds.get(operation).copied().unwrap_or(self.speed))
    }
}

/// Servers of a group from which on a plan is refused: more is a mistake in its inputs.
pub const MOST_SERVERS: u32 = 100_000_000;

/// How many spare servers and cores a load gets.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Staffing {
    /// Spare cores.
    pub headroom: Headroom,
    /// Servers that may fail at once without loss, in each group.
    pub redundancy: u32,
}

impl Staffing {
    /// Servers of a type for a load that keeps `busy` of its cores busy; at least one, at
    /// most [`MOST_SERVERS`], and those that may fail in addition.
    pub fn servers(&self, server: &ServerType, busy: f64) -> u32 {
        // Without rounding errors: 3.0000000001 servers are three.
        let needed = (self.headroom.cores(busy) / server.cores - 1e-9).ceil().max(1.0);
        (needed as u32).min(MOST_SERVERS).saturating_add(self.redundancy)
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;

    pub(crate) fn server(name: &str, price: f64, speed: f64) -> ServerType {
        ServerType {
            name: name.into(),
            price,
            yearly: 0.0,
            life_years: 3.0,
            cores: 2.0,
            speed,
            speeds: BTreeMap::new(),
            only: Vec::new(),
        }
    }

    #[test]
    fn servers_are_whole_and_some_are_spare() {
        let staffing = |redundancy| Staffing { headroom: Headroom::Use(0.5), redundancy };
        let two_cores = server("a", 1.0, 1.0);
        assert_eq!(staffing(0).servers(&two_cores, 3.0), 3);
        assert_eq!(staffing(0).servers(&two_cores, 3.01), 4);
        assert_eq!(staffing(1).servers(&two_cores, 0.0), 2);
    }

    #[test]
    fn the_paper_needs_a_third_of_a_thousand_servers_for_100_000_shoppers() {
        // 300 shoppers fill a server of two CPUs: 2/300 CPUs each. 333.3 servers are 334; the
        // paper prints 333 and $4,995,000.
        let full = Staffing { headroom: Headroom::Use(1.0), redundancy: 0 };
        let xeon = server("dual Xeon", 15_000.0, 1.0);
        let servers = full.servers(&xeon, 100_000.0 * 2.0 / 300.0);
        assert_eq!(servers, 334);
        assert_eq!(f64::from(servers - 1) * xeon.price, 4_995_000.0);
    }

    #[test]
    fn a_server_that_serves_some_operations_has_no_speed_at_others() {
        let mut fast = server("static", 1.0, 1.0);
        fast.only = vec!["browse".into()];
        fast.speeds.insert("browse".into(), 25.0);
        assert_eq!((fast.speed_at("browse"), fast.speed_at("checkout")), (Some(25.0), None));
    }
}
