//! The 250 securities that are traded: companies that do not exist.

use tidegate_sitekit::population::Random;

/// How many there are.
pub const COUNT: usize = LANDMARKS.len() * TRADES.len();

/// First words of the names, each with the two letters that begin its symbols.
const LANDMARKS: [(&str, &str); 50] = [
    ("AL", "Alder"),
    ("AM", "Amber Bay"),
    ("AS", "Ashford"),
    ("BA", "Barrow"),
    ("BE", "Beacon"),
    ("BI", "Birchwood"),
    ("BR", "Bramble"),
    ("CA", "Cairn"),
    ("CE", "Cedar Point"),
    ("CO", "Copper Hill"),
    ("CR", "Crestline"),
    ("DA", "Dalton"),
    ("DE", "Deepwater"),
    ("DU", "Dunmore"),
    ("EA", "Easton"),
    ("EL", "Elmfield"),
    ("EV", "Evergreen"),
    ("FA", "Falcon Ridge"),
    ("FE", "Fenwick"),
    ("FO", "Foxglove"),
    ("GA", "Garnet"),
    ("GL", "Glenmore"),
    ("GR", "Granite Bay"),
    ("HA", "Harbourside"),
    ("HE", "Heather"),
    ("HO", "Hollybrook"),
    ("IR", "Ironbridge"),
    ("IV", "Ivory Coast"),
    ("JU", "Juniper"),
    ("KE", "Keystone"),
    ("KI", "Kingsway"),
    ("LA", "Larkspur"),
    ("LI", "Linden"),
    ("LO", "Longacre"),
    ("MA", "Maple"),
    ("ME", "Meridian"),
    ("MO", "Moorland"),
    ("NE", "Newhaven"),
    ("NO", "Northgate"),
    ("OA", "Oakridge"),
    ("OR", "Orchard"),
    ("PE", "Pebble Beach"),
    ("PI", "Pinecrest"),
    ("QU", "Quarry"),
    ("RI", "Riverbend"),
    ("SA", "Sandstone"),
    ("SI", "Silverlake"),
    ("TH", "Thornbury"),
    ("VA", "Valley"),
    ("WI", "Willow"),
];

/// Second words of the names, each with the two letters that end its symbols.
const TRADES: [(&str, &str); 5] = [
    ("EN", "Energy"),
    ("FI", "Financial"),
    ("LG", "Logistics"),
    ("MD", "Medical"),
    ("SY", "Systems"),
];

/// A security.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// Its number, from 1.
    pub id: i64,
    /// Its symbol: four letters.
    pub symbol: String,
    /// The company.
    pub name: String,
}

/// All securities, by symbol.
pub fn all() -> Vec<Listed> {
    let pairs = LANDMARKS.iter().flat_map(|first| TRADES.iter().map(move |last| (first, last)));
    let mut all: Vec<Listed> = (1..)
        .zip(pairs)
        .map(|(id, ((start, landmark), (end, trade)))| Listed {
            id,
            symbol: format!("{start}{end}"),
            name: format!("{landmark} {trade}"),
        })
        .collect();
    all.sort_by(|one, other| one.symbol.cmp(&other.symbol));
    all
}

/// The number of the security with this symbol.
pub fn number(symbol: &str) -> Option<i64> {
    let (start, end) = symbol.split_at_checked(2)?;
    let landmark = LANDMARKS.iter().position(|(letters, _)| *letters == start)?;
    let trade = TRADES.iter().position(|(letters, _)| *letters == end)?;
    i64::try_from(landmark * TRADES.len() + trade + 1).ok()
}

/// The price of a security when a population is made, in cents: 5 to 300 dollars. The
/// random walk stays near it.
pub fn first_price(seed: u64, id: i64) -> i64 {
    let mut random = Random::of(seed, crate::random::Kind::Security, id);
    // Cheap shares are more common than dear ones.
    let dollars = random.between(5, 100) + random.between(0, 20) * random.between(0, 10);
    dollars * 100 + random.between(0, 99)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn there_are_250_with_symbols_and_names_of_their_own() {
        let all = all();
        assert_eq!((all.len(), COUNT), (250, 250));
        let symbols: HashSet<_> = all.iter().map(|listed| &listed.symbol).collect();
        let names: HashSet<_> = all.iter().map(|listed| &listed.name).collect();
        let ids: HashSet<_> = all.iter().map(|listed| listed.id).collect();
        assert_eq!((symbols.len(), names.len(), ids.len()), (250, 250, 250));
        assert!(all.iter().all(|listed| listed.symbol.len() == 4));
        assert!(all.is_sorted_by_key(|listed| listed.symbol.clone()));
        assert!(all.iter().all(|listed| number(&listed.symbol) == Some(listed.id)));
        assert_eq!(["", "ALXX", "XXEN", "ALEN1", "é"].map(number), [None; 5]);
    }

    #[test]
    fn first_prices_are_in_their_range_and_differ_by_seed() {
        let prices: Vec<i64> = (1..=250).map(|id| first_price(1, id)).collect();
        assert!(prices.iter().all(|price| (500..=30_099).contains(price)));
        assert_ne!(prices, (1..=250).map(|id| first_price(2, id)).collect::<Vec<_>>());
    }
}
