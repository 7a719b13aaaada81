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
