//! The scenarios that come with the program.

/// Names of the built-in scenarios. `auction-bidding` and `auction-browsing`
/// are the `-effective` ones.
pub const BUILT_IN: [&str; 4] = [
    "auction-bidding-effective",
    "auction-bidding-normalised",
    "auction-browsing-effective",
    "auction-browsing-normalised",
];

const AUCTION: &str = include_str!("../../scenarios/auction.toml");

/// The table of RUBiS by name, as published.
pub(super) fn table(name: &str) -> Option<&'static str> {
    match name {
        "rubis-bidding" => Some(include_str!("../../scenarios/rubis-bidding.csv")),
        "rubis-browsing" => Some(include_str!("../../scenarios/rubis-browsing.csv")),
        _ => None,
    }
}

/// The names that [`table`] knows.
pub(super) const TABLES: [&str; 2] = ["rubis-bidding", "rubis-browsing"];

/// Text and full name of a built-in scenario.
pub(super) fn text(name: &str) -> Option<(String, &'static str)> {
    let canonical = match name {
        "auction-bidding" => "auction-bidding-effective",
        "auction-browsing" => "auction-browsing-effective",
        other => BUILT_IN.into_iter().find(|known| *known == other)?,
    };
    let mut words = canonical.split('-').skip(1);
    let (mix, form) = (words.next()?, words.next()?);
    let text = AUCTION
        .replace("name = \"auction\"", &format!("name = \"{canonical}\""))
        .replace("table = \"rubis-bidding\"", &format!("table = \"rubis-{mix}\""))
        .replace("form = \"effective\"", &format!("form = \"{form}\""));
    Some((text, canonical))
}

#[cfg(test)]
mod tests {
    use super::BUILT_IN;
    use crate::scenario::{Move, Scenario};

    fn state(scenario: &Scenario, name: &str) -> u16 {
        scenario.pages().iter().position(|page| page.name == name).unwrap() as u16
    }

    fn probability(scenario: &Scenario, from: &str, to: Move) -> f64 {
        let moves = scenario.table().moves(state(scenario, from));
        moves.filter(|(found, _)| *found == to).map(|(_, p)| p).sum()
    }

    #[test]
    fn every_built_in_scenario_is_in_order_and_has_27_states() {
        for name in BUILT_IN {
            let scenario = Scenario::built_in(name).unwrap();
            assert_eq!(scenario.name(), name);
            assert_eq!(scenario.table().states(), 27);
            for state in 0..27 {
                let sum: f64 = scenario.table().moves(state).map(|(_, p)| p).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{name} {state} {sum}");
            }
        }
        assert_eq!(Scenario::built_in("auction-bidding").unwrap().name(), BUILT_IN[0]);
        assert!(Scenario::built_in("auction").is_none());
    }

    #[test]
    fn the_two_forms_differ_as_published() {
        let effective = Scenario::built_in("auction-bidding-effective").unwrap();
        // 0.22 of the published row survive, End does not.
        let bid = Move::Page(state(&effective, "PutBidAuth"));
        assert!((probability(&effective, "ViewItem", bid) - 0.22).abs() < 1e-9);
        assert!((probability(&effective, "ViewItem", Move::Back) - 0.4921).abs() < 1e-9);
        assert_eq!(probability(&effective, "ViewItem", Move::End), 0.0);
        assert!((probability(&effective, "Home", Move::Stay) - 0.03).abs() < 1e-9);
        let normalised = Scenario::built_in("auction-bidding-normalised").unwrap();
        assert!((probability(&normalised, "ViewItem", Move::End) - 0.2 / 1.2079).abs() < 1e-9);
    }

    #[test]
    fn sessions_are_as_long_as_the_reference_client_makes_them() {
        // Mean and median of 20,000 sessions, simulated by another program.
        for (name, mean, median) in [
            ("auction-browsing-effective", 454.7, 374),
            ("auction-browsing-normalised", 9.6, 8),
            ("auction-bidding-effective", 51.4, 37),
            ("auction-bidding-normalised", 12.3, 9),
        ] {
            let length = Scenario::built_in(name).unwrap().session_length();
            let off = (length.mean_requests / mean - 1.0).abs();
            assert!(off < 0.06, "{name}: {length:?}");
            let off = (f64::from(length.median_requests) / f64::from(median) - 1.0).abs();
            assert!(off < 0.13, "{name}: {length:?}");
        }
    }
}
