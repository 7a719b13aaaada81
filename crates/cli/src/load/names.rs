//! What a user may have meant by a name that is neither a scenario nor a URL.

use std::path::Path;

use tidegate_config::did_you_mean;
use tidegate_load::scenario::BUILT_IN;

/// Short names of built-in scenarios.
const SHORT: [&str; 2] = ["auction-bidding", "auction-browsing"];

/// What is wrong with a name that no scenario has, and what to write.
pub(super) fn unknown(given: &str) -> String {
    let path = Path::new(given);
    if path.extension().is_some() || given.contains('/') {
        return format!(
            "{given}: there is no such scenario file; `tidegate load --list` shows the scenarios \
             that come with the program"
        );
    }
    format!("{given}: neither a file nor a built-in scenario; {}", built_in(given))
}

/// The built-in scenario that a name may stand for, else all.
pub(super) fn built_in(given: &str) -> String {
    let all = [&SHORT[..], &BUILT_IN].concat();
    did_you_mean(given, &all).unwrap_or_else(|| {
        let alike: Vec<&str> =
            BUILT_IN.into_iter().filter(|name| !given.is_empty() && name.contains(given)).collect();
        let shown = if alike.is_empty() { &BUILT_IN[..] } else { &alike };
        format!("`tidegate load --list` describes them: {}", shown.join(", "))
    })
}

/// The URL that was meant by one whose `://` is misspelt.
pub(super) fn mended_url(given: &str) -> Option<String> {
    ["https", "http"].into_iter().find_map(|scheme| {
        let rest = given.strip_prefix(scheme)?;
        let host = rest.trim_start_matches([':', '/', '.']);
        (host.len() < rest.len() && !host.is_empty()).then(|| format!("{scheme}://{host}"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_misspelt_url_is_mended_and_other_names_are_not_urls() {
        for (given, meant) in [
            ("http:/127.0.0.1:80/a", "http://127.0.0.1:80/a"),
            ("http//shop", "http://shop"),
            ("https:shop.example", "https://shop.example"),
            ("https:///shop", "https://shop"),
        ] {
            assert_eq!(mended_url(given).as_deref(), Some(meant));
        }
        for name in ["httpbin", "http", "http://", "shop.toml", ""] {
            assert_eq!(mended_url(name), None, "{name}");
        }
    }

    #[test]
    fn names_that_are_alike_are_suggested() {
        assert_eq!(built_in("auction-biding"), "did you mean auction-bidding?");
        assert!(
            built_in("browsing").ends_with("auction-browsing-normalised, auction-browsing-2007")
        );
        assert!(BUILT_IN.iter().all(|name| built_in("").contains(name)));
    }
}
