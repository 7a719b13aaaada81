//! Reads `[tls]`.

use tidegate_toml::Section;

use crate::plan::{TicketsOf, TlsRules, TlsVersions};

pub(super) fn read(section: &Section<'_>) -> TlsRules {
    section.only(&["versions", "full_share", "tickets"]);
    let versions = section.get("versions").and_then(|value| {
        let all = [TlsVersions::Both, TlsVersions::Only12, TlsVersions::Only13];
        Some(all[value.choice(&["both", "1.2", "1.3"])?])
    });
    let tickets = section.get("tickets").and_then(|value| {
        Some([TicketsOf::Customer, TicketsOf::All][value.choice(&["customer", "all"])?])
    });
    TlsRules {
        versions: versions.unwrap_or_default(),
        full_share: section.get("full_share").and_then(|value| value.number(0.0..=1.0)),
        tickets,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read_text(text: &str) -> Result<TlsRules, Vec<String>> {
        tidegate_toml::read(text, "shop.toml", |root| Some(read(&root.get("tls")?.section()?)))
            .map_err(|mistakes| mistakes.0.iter().map(ToString::to_string).collect())
    }

    #[test]
    fn tls_is_read_and_every_mistake_is_told() {
        let good = "[tls]\nversions = \"1.3\"\nfull_share = 0.3\ntickets = \"customer\"";
        let rules = read_text(good).unwrap();
        assert_eq!((rules.versions, rules.full_share), (TlsVersions::Only13, Some(0.3)));
        assert_eq!(rules.tickets, Some(TicketsOf::Customer));
        let bad = "[tls]\nversions = \"1.1\"\nfull_share = 30\nticket = \"all\"";
        assert_eq!(
            read_text(bad).unwrap_err(),
            [
                "shop.toml:2: tls.versions: = \"1.1\" is not known; did you mean 1.2?",
                "shop.toml:3: tls.full_share: = 30 must be 0 to 1; choose a value in this range",
                "shop.toml:4: tls.ticket: is not a known key; did you mean tickets?",
            ]
        );
    }
}
