//! The scenarios that come with the program.

use std::time::Duration;

/// Names of the built-in scenarios. `auction-bidding` and `auction-browsing`
/// are the `-effective` ones.
pub const BUILT_IN: [&str; 37] = [
    "auction-bidding-effective",
    "auction-bidding-normalised",
    "auction-bidding-waiting",
    "auction-browsing-effective",
    "auction-browsing-normalised",
    "auction-browsing-2007",
    "auction-buyers",
    "auction-crowd",
    "auction-bots",
    "handshake-flood",
    "tomcat-auction",
    "node",
    "shop",
    "shop-browse",
    "shop-search",
    "shop-buyers",
    "shop-teastore",
    "shop-boutique",
    "brokerage-1",
    "brokerage-2",
    "brokerage-3",
    "brokerage-4",
    "brokerage-5",
    "brokerage-6",
    "brokerage-7",
    "brokerage-page-30",
    "brokerage-page-36k",
    "brokerage-page-1m",
    "b2b",
    "b2b-soap",
    "b2b-new-customer",
    "b2b-change-payment-method",
    "b2b-create-order",
    "b2b-order-status",
    "b2b-new-products",
    "b2b-product-detail",
    "b2b-change-item",
];

/// The line of [`AUCTION`] that its variants replace.
const DESCRIPTION: &str = "description = \"Customers of an auction site: they browse, look at items, bid, buy, sell and register.\"";
const AUCTION: &str = include_str!("../../scenarios/auction.toml");

/// Rules of customers who refresh late, leave a waiting room, and come back.
const WAITS: &str = "\nwaits = \"1min\"\nwaits_late = 0.1\nwaits_late_by = \"10s\"\nimpatience = { come_back = { back_off = \"5min\", attempts = 3 } }";

/// The text of the brokerage's transactions, and the lines that they replace.
const BROKERAGE: &str = include_str!("../../scenarios/brokerage.toml");
const NAME: &str = "name = \"brokerage\"";
const STEPS: &str = "steps = [\"Front\"]";
const CUSTOMERS: &str = "description = \"Customers of the brokerage.\"";

/// The text of the businesses' mix, and the lines that the scenarios of one service replace.
const BUSINESSES: &str = include_str!("../../scenarios/b2b.toml");
const MIX: &str = "description = \"Emulated businesses: the mix of the seven services, 20 interactions on one connection.\"";
const START: &str = "start = \"Create Order\"";
const WEIGHTS: &str = "[transitions.weights]";

/// The services between businesses, and how the mix weighs them.
const SERVICES: [(&str, &str, u32); 7] = [
    ("new-customer", "New Customer", 1),
    ("change-payment-method", "Change Payment Method", 5),
    ("create-order", "Create Order", 50),
    ("order-status", "Order Status", 5),
    ("new-products", "New Products", 7),
    ("product-detail", "Product Detail", 30),
    ("change-item", "Change Item", 2),
];

/// Businesses that ask for one service alone.
fn one_service(name: &str) -> Option<String> {
    let (_, page, _) = SERVICES.iter().find(|(service, ..)| *service == name)?;
    let mut sections = BUSINESSES.split("\n[pages.");
    let mut text = sections.next()?.to_owned();
    let own = sections.find(|section| section.starts_with(&format!("\"{page}\"]")))?;
    for (_, page, weight) in SERVICES {
        text = text.replace(&format!("\n\"{page}\" = {weight}\n"), "\n");
    }
    let text = text
        .replace("name = \"b2b\"", &format!("name = \"b2b-{name}\""))
        .replace(MIX, &format!("description = \"Emulated businesses that ask for {page} alone.\""))
        .replace(START, &format!("start = \"{page}\""))
        .replace(WEIGHTS, &format!("{WEIGHTS}\n\"{page}\" = 1"));
    Some(format!("{text}\n[pages.{own}"))
}

/// What the customers of a transaction do, and their steps: after signing in the same request
/// again and again, or the mix.
///
/// Source: Kinicki et al. 1998, Table 1.
fn transaction(number: &str) -> Option<(&'static str, &'static str)> {
    Some(match number {
        "1" => ("get the static front page", r#"[{ page = "Front", repeat = 1000 }]"#),
        // Again in the same session, so that connections can be kept and TLS sessions resumed.
        "2" => ("sign in and get their main page", r#"[{ page = "SignIn", repeat = 100 }]"#),
        "3" => {
            ("look at their open orders", r#"["SignIn", { page = "OpenOrders", repeat = 1000 }]"#)
        }
        "4" => ("look at their history", r#"["SignIn", { page = "History", repeat = 1000 }]"#),
        "5" => (
            "load the page of a new order, with all securities",
            r#"["SignIn", { page = "OrderEntry", repeat = 1000 }]"#,
        ),
        // An account has cash for so many shares.
        "6" => ("give orders", r#"["SignIn", { page = "CreateOrder", repeat = 50 }]"#),
        "7" => (
            "do all of it, in the mix of eight requests",
            r#"["SignIn", "OrderEntry", "CreateOrder", "History", "SignIn", "OrderEntry", "CreateOrder", "OpenOrders"]"#,
        ),
        "page-30" => ("get a page of 30 bytes", r#"[{ page = "Page30", repeat = 1000 }]"#),
        "page-36k" => ("get a page of 36 KiB", r#"[{ page = "Page36k", repeat = 1000 }]"#),
        "page-1m" => ("get a page of 1 MiB", r#"[{ page = "Page1m", repeat = 1000 }]"#),
        _ => return None,
    })
}

/// A scenario that stands in one file.
fn file(name: &str) -> Option<&'static str> {
    match name {
        "auction-buyers" => Some(include_str!("../../scenarios/auction-buyers.toml")),
        "auction-crowd" => Some(include_str!("../../scenarios/auction-crowd.toml")),
        "auction-bots" => Some(include_str!("../../scenarios/auction-bots.toml")),
        "handshake-flood" => Some(include_str!("../../scenarios/handshake-flood.toml")),
        "tomcat-auction" => Some(include_str!("../../scenarios/tomcat-auction.toml")),
        "node" => Some(include_str!("../../scenarios/node.toml")),
        "shop" => Some(include_str!("../../scenarios/shop.toml")),
        "shop-browse" => Some(include_str!("../../scenarios/shop-browse.toml")),
        "shop-search" => Some(include_str!("../../scenarios/shop-search.toml")),
        "shop-buyers" => Some(include_str!("../../scenarios/shop-buyers.toml")),
        "shop-teastore" => Some(include_str!("../../scenarios/shop-teastore.toml")),
        "shop-boutique" => Some(include_str!("../../scenarios/shop-boutique.toml")),
        "b2b" => Some(BUSINESSES),
        "b2b-soap" => Some(include_str!("../../scenarios/b2b-soap.toml")),
        _ => None,
    }
}

/// A table of RUBiS or TPC-W by name, as published.
pub(super) fn table(name: &str) -> Option<&'static str> {
    match name {
        "rubis-bidding" => Some(include_str!("../../scenarios/rubis-bidding.csv")),
        "rubis-browsing" => Some(include_str!("../../scenarios/rubis-browsing.csv")),
        "tpcw-browsing" => Some(include_str!("../../scenarios/tpcw-browsing.csv")),
        "tpcw-ordering" => Some(include_str!("../../scenarios/tpcw-ordering.csv")),
        "tpcw-shopping" => Some(include_str!("../../scenarios/tpcw-shopping.csv")),
        _ => None,
    }
}

/// Mean of how long sessions by a table last at least, as published with it; they
/// end at its first state then.
///
/// Source: TPC-W 1.8, clause 6.2.
pub(super) fn duration(table: &str) -> Option<Duration> {
    table.starts_with("tpcw-").then_some(Duration::from_secs(15 * 60))
}

/// The names that [`table`] knows.
pub(super) const TABLES: [&str; 5] =
    ["rubis-bidding", "rubis-browsing", "tpcw-browsing", "tpcw-ordering", "tpcw-shopping"];

/// Text and full name of a built-in scenario.
pub(super) fn text(name: &str) -> Option<(String, &'static str)> {
    let canonical = match name {
        "auction-bidding" => "auction-bidding-effective",
        "auction-browsing" => "auction-browsing-effective",
        other => BUILT_IN.into_iter().find(|known| *known == other)?,
    };
    if let Some(text) = file(canonical) {
        return Some((text.to_owned(), canonical));
    }
    if let Some(service) = canonical.strip_prefix("b2b-") {
        return Some((one_service(service)?, canonical));
    }
    if let Some(number) = canonical.strip_prefix("brokerage-") {
        let (what, steps) = transaction(number)?;
        let description = format!(
            "Customers of the brokerage who {what}: {}.",
            match number.parse::<u8>() {
                Ok(_) => format!("transaction {number} of the paper"),
                Err(_) => "one that --measured-pages adds".to_owned(),
            }
        );
        // A page that no step names would be one that no session reaches.
        let reached =
            |part: &&str| match part.strip_prefix("[pages.").and_then(|it| it.split_once(']')) {
                Some((page, _)) => steps.contains(&format!("\"{page}\"")),
                None => true,
            };
        let parts: Vec<&str> = BROKERAGE.split("\n\n").filter(reached).collect();
        let text = parts
            .join("\n\n")
            .replace(NAME, &format!("name = \"{canonical}\""))
            .replace(CUSTOMERS, &format!("description = \"{description}\""))
            .replace(STEPS, &format!("steps = {steps}"));
        return Some((text, canonical));
    }
    let mut words = canonical.split('-').skip(1);
    let (mix, form) = (words.next()?, words.next()?);
    let (who, interpretation) = (
        if mix == "bidding" { "bid, buy and sell" } else { "browse" },
        match form {
            "effective" => "as RUBiS runs it",
            "2007" => "as RUBiS runs it, for 45 requests at most",
            "waiting" => {
                "as published, normalised. In a waiting room one in ten asks late after each page, \
                 and who has waited for a minute leaves and comes back"
            }
            _ => "as published, normalised",
        },
    );
    let description =
        format!("People who {who} at the auction site: the table of RUBiS {interpretation}.");
    // Source: Guitart et al. 2007, Table 1: 90 replies per second at two new clients per second.
    let (form, most, waits) = match form {
        "2007" => ("effective", 45, ""),
        "waiting" => ("normalised", 1000, WAITS),
        form => (form, 1000, ""),
    };
    let text = AUCTION
        .replace("name = \"auction\"", &format!("name = \"{canonical}\""))
        .replace(DESCRIPTION, &format!("description = \"{description}\""))
        .replace("table = \"rubis-bidding\"", &format!("table = \"rubis-{mix}\""))
        .replace("form = \"effective\"", &format!("form = \"{form}\""))
        .replace("max_requests = 1000", &format!("max_requests = {most}{waits}"));
    Some((text, canonical))
}

#[cfg(test)]
mod tests {
    use super::BUILT_IN;
    use crate::scenario::Scenario;
    use crate::scenario::table::Move;

    fn state(scenario: &Scenario, name: &str) -> u16 {
        scenario.pages().iter().position(|page| page.name == name).unwrap() as u16
    }

    fn probability(scenario: &Scenario, from: &str, to: Move) -> f64 {
        let moves = scenario.classes()[0].navigation.table().unwrap().moves(state(scenario, from));
        moves.filter(|(found, _)| *found == to).map(|(_, p)| p).sum()
    }

    #[test]
    fn every_built_in_scenario_is_in_order_and_those_of_the_published_tables_have_27_states() {
        let mut descriptions = std::collections::BTreeSet::new();
        for name in BUILT_IN {
            let scenario = Scenario::built_in(name).unwrap();
            assert_eq!(scenario.name(), name);
            assert!(!scenario.description().is_empty());
            assert!(descriptions.insert(scenario.description().to_owned()), "{name}");
            if super::file(name).is_some()
                || name.starts_with("brokerage-")
                || name.starts_with("b2b-")
            {
                assert!(scenario.notes().is_empty(), "{name}: {:?}", scenario.notes());
                continue;
            }
            assert_eq!(scenario.classes()[0].navigation.table().unwrap().states(), 27);
            for state in 0..27 {
                let sum: f64 = scenario.classes()[0]
                    .navigation
                    .table()
                    .unwrap()
                    .moves(state)
                    .map(|(_, p)| p)
                    .sum();
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
    fn sessions_of_2007_have_the_replies_per_client_of_its_first_table() {
        let mean = |name| Scenario::built_in(name).unwrap().session_length().mean_requests;
        // Few end before the most: the table as RUBiS runs it hardly ever ends a session.
        let found = mean("auction-browsing-2007");
        assert!((40.0..=45.0).contains(&found), "{found}");
        assert!(mean("auction-browsing-effective") > 100.0);
        assert!(mean("auction-browsing-normalised") < 20.0);
    }

    #[test]
    fn customers_of_tpc_w_visit_each_page_as_often_as_its_mixes_say() {
        // Shares in percent: TPC-W 1.8, clause 5.2, in the order of the pages below.
        const PAGES: [&str; 14] = [
            "Home",
            "New Products",
            "Best Sellers",
            "Product Detail",
            "Search Request",
            "Search Results",
            "Shopping Cart",
            "Customer Registration",
            "Buy Request",
            "Buy Confirm",
            "Order Inquiry",
            "Order Display",
            "Admin Request",
            "Admin Confirm",
        ];
        let mixes = [
            ("browsing", [29.0, 11.0, 11.0, 21.0, 12.0, 11.0, 2.0, 0.82, 0.75, 0.69, 0.3, 0.25]),
            ("shopping", [16.0, 5.0, 5.0, 17.0, 20.0, 17.0, 11.6, 3.0, 2.6, 1.2, 0.75, 0.66]),
            (
                "ordering",
                [9.12, 0.46, 0.46, 12.35, 14.53, 13.08, 13.53, 12.86, 12.73, 10.18, 0.25, 0.22],
            ),
        ];
        for (mix, wanted) in mixes {
            let pages: String =
                PAGES.iter().map(|page| format!("\"{page}\" = {{ path = \"/\" }}\n")).collect();
            let text = format!(
                "[session]\nstart = \"Home\"\nmax_requests = 100\n[pages]\n{pages}\
                 [transitions]\ntable = \"tpcw-{mix}\"\nform = \"normalised\"\n"
            );
            let scenario = Scenario::from_toml(&text, "bookstore.toml").unwrap();
            // Where a customer is after a long walk, by the powers of the table.
            let mut shares = [1.0 / 14.0; 14];
            for _ in 0..2000 {
                let mut next = [0.0; 14];
                for (from, share) in shares.iter().enumerate() {
                    for (to, p) in
                        scenario.classes()[0].navigation.table().unwrap().moves(from as u16)
                    {
                        let Move::Page(to) = to else { panic!("{to:?}") };
                        next[to as usize] += share * p;
                    }
                }
                shares = next;
            }
            for (page, wanted) in wanted.into_iter().enumerate() {
                let found = 100.0 * shares[page];
                // What the matrix of shopping gives differs from its mix by this much.
                let most = if mix == "shopping" { 0.5 } else { 0.03 };
                assert!((found - wanted).abs() < most, "{mix} {}: {found:.2}", PAGES[page]);
            }
        }
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
