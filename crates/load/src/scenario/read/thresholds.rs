//! Reads `[thresholds]`.

use tidegate_config::Preset::{Is, Unset};
use tidegate_config::{Boolean, Number, Section, Time, Value, keys};

use crate::scenario::page::Page;
use crate::scenario::thresholds::{Has, METRICS, Scope, Threshold};

/// Tables of `[thresholds]` that hold the limits of one page or class each.
const PAGE: &str = "page";
const CLASS: &str = "class";

keys! {
    /// A limit of a figure: at least one of `min` and `max`.
    pub(super) static THRESHOLD: ThresholdKeys {
        /// Smallest value of the figure.
        min: Number(0.0, f64::MAX) = Unset;
        /// Largest value of the figure.
        max: Number(0.0, f64::MAX) = Unset;
        /// Whether the run ends as soon as the figure, over the window so far, misses its limit.
        abort_on_fail: Boolean = Is("false");
        /// How much of the measured window passes before that; with `abort_on_fail` only.
        abort_after: Time("0s", "24h") = Is("10s");
    }
}

/// `classes` are the names of the classes, if there are any.
pub(super) fn read(section: &Section<'_>, pages: &[Page], classes: &[&str]) -> Vec<Threshold> {
    let of_run = METRICS.iter().filter(|metric| metric.has != Has::PagesOnly);
    let names: Vec<&str> = of_run.map(|metric| metric.name).collect();
    section.only(&[&names[..], &[PAGE, CLASS]].concat());
    let mut all = limits(section, &Scope::Run);
    all.retain(|limit| limit.metric.has != Has::PagesOnly);
    let pages: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    all.extend(each(section, PAGE, &pages, "a page; name one of [pages]", Scope::Page));
    all.extend(each(section, CLASS, classes, "a class; name one of [[classes]]", Scope::Class));
    all
}

/// The limits of each page or class that a table names.
fn each(
    section: &Section<'_>,
    key: &str,
    known: &[&str],
    what: &str,
    scope: fn(String) -> Scope,
) -> Vec<Threshold> {
    let Some(table) = section.get(key).and_then(|value| value.section()) else { return Vec::new() };
    let mut all = Vec::new();
    for (name, value) in table.entries() {
        if !known.contains(&name) {
            let (what, remedy) = what.split_once("; ").unwrap_or((what, "remove it"));
            value.wrong(format!("is not {what}"), remedy);
        } else if let Some(inner) = value.section() {
            let scope = scope(name.to_owned());
            let has = |has: Has| match scope {
                Scope::Run => has != Has::PagesOnly,
                Scope::Class(_) => !matches!(has, Has::Run | Has::PagesOnly),
                Scope::Page(_) => matches!(has, Has::Pages | Has::PagesOnly),
            };
            let names = METRICS.iter().filter(|metric| has(metric.has)).map(|metric| metric.name);
            inner.only(&names.collect::<Vec<_>>());
            all.extend(limits(&inner, &scope).into_iter().filter(|limit| has(limit.metric.has)));
        }
    }
    all
}

fn limits(section: &Section<'_>, scope: &Scope) -> Vec<Threshold> {
    let known = |name: &str| METRICS.iter().any(|metric| metric.name == name);
    let entries = section.entries().into_iter().filter(|(name, _)| known(name));
    entries.filter_map(|(name, value)| limit(name, &value, scope.clone())).collect()
}

fn limit(name: &str, value: &Value<'_>, scope: Scope) -> Option<Threshold> {
    let inner = value.section()?;
    inner.known(&THRESHOLD);
    let (min, max) = (inner.given(&THRESHOLD.min), inner.given(&THRESHOLD.max));
    if inner.get("min").is_none() && inner.get("max").is_none() {
        inner.wrong("has no limit", "write { max = 500 } or { min = 0.98 }");
    }
    if let (Some(min), Some(max)) = (min, max)
        && min > max
    {
        inner.wrong(format!("has min = {min} above max = {max}"), "exchange them");
    }
    let aborts = inner.read(&THRESHOLD.abort_on_fail);
    if let (Some(value), Some(false)) = (inner.get(THRESHOLD.abort_after.name), aborts) {
        value.wrong("goes with abort_on_fail", "add abort_on_fail = true, or remove it");
    }
    let abort_after = inner.read(&THRESHOLD.abort_after);
    let abort_after = abort_after.filter(|_| aborts == Some(true));
    Some(Threshold { scope, abort_after, ..Threshold::new(name, min, max)? })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::mistakes;
    use crate::scenario::Scenario;

    const SHOP: &str = "[session]\nsteps = [\"Home\"]\n[pages]\nHome = { path = \"/\" }\n\
                        \"New items\" = { path = \"/new\" }\n\
                        [[classes]]\nname = \"people\"\nshare = 1\n\
                        [[classes]]\nname = \"bots\"\nshare = 1\n[thresholds]\n";

    #[test]
    fn limits_are_read_for_the_run_for_pages_and_for_classes() {
        let text = format!(
            "{SHOP}response_p95_ms = {{ max = 500 }}\n\
             page.Home.response_p95_ms = {{ max = 200, abort_on_fail = true }}\n\
             page.\"New items\".requests_failed_ratio = {{ max = 0.01 }}\n\
             class.bots.refused_ratio = {{ min = 0.9, abort_on_fail = true, abort_after = \"1s\" }}\n"
        );
        let scenario = Scenario::from_toml(&text, "shop.toml").unwrap();
        let limits: Vec<_> = scenario.thresholds().iter().map(ToString::to_string).collect();
        assert_eq!(
            limits,
            [
                "response_p95_ms",
                "page.Home.response_p95_ms",
                "page.New items.requests_failed_ratio",
                "class.bots.refused_ratio"
            ]
        );
        let aborts: Vec<_> = scenario.thresholds().iter().map(|limit| limit.abort_after).collect();
        let seconds = |s| Some(Duration::from_secs(s));
        assert_eq!(aborts, [None, seconds(10), None, seconds(1)]);
    }

    #[test]
    fn every_mistake_of_a_threshold_is_reported() {
        let text = format!(
            "{SHOP}page.Hmoe.response_p95_ms = {{ max = 1 }}\n\
             page.Home.completed_ratio = {{ min = 1 }}\n\
             class.bot.refused_ratio = {{ min = 1 }}\n\
             class.bots.full_handshake_share = {{ min = 1 }}\n\
             response_p50_ms = {{ abort_on_fail = true }}\n\
             response_p90_ms = {{ max = 1, abort_after = \"1s\" }}\n\
             response_p99_ms = {{ min = 2, max = 1 }}\n"
        );
        let found = mistakes(&text);
        let rules = [
            "thresholds.page.Hmoe: is not a page; name one of [pages]",
            "thresholds.page.Home.completed_ratio: is not a known key;",
            "thresholds.class.bot: is not a class; name one of [[classes]]",
            "thresholds.class.bots.full_handshake_share: is not a known key;",
            "thresholds.response_p50_ms: has no limit;",
            "thresholds.response_p90_ms.abort_after = \"1s\": goes with abort_on_fail;",
            "thresholds.response_p99_ms: has min = 2 above max = 1; exchange them",
        ];
        for rule in rules {
            assert!(found.iter().any(|line| line.contains(rule)), "{rule}\n{found:#?}");
        }
        assert_eq!(found.len(), rules.len(), "{found:#?}");
    }
}
