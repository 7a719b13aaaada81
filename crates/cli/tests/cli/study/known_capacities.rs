//! `tidegate study capacity` on sites whose capacity is known: the table of docs/studies/capacity.md.

use std::path::Path;
use std::time::Duration;

use serde_json::Value;

use crate::common::{Text, tidegate};
use crate::study::known_site::{Kind, KnownSite};

/// A site, its sessions, and what the study should find.
struct Row {
    name: &'static str,
    site: KnownSite,
    pages: usize,
    think: &'static str,
    limit: &'static str,
    resource: &'static str,
    more: &'static [&'static str],
}

/// Each kind of site with visits of one page, and with sessions.
fn rows() -> Vec<Row> {
    let of = |kind, workers, ms| KnownSite { kind, ..KnownSite::pool(workers, ms) };
    let computes = of(Kind::Computes, 1, 5);
    let lock = of(Kind::Lock, 8, 10);
    let leak = of(Kind::Leak, 4, 20);
    let pool = |workers| KnownSite::pool(workers, 20);
    let row = |name, site: KnownSite, pages, think, limit, resource| {
        // The site has the last processor. Short, so that nobody else needs them for the while.
        let computes: &[&str] = &["--driver-cores", "0", "--step", "4s"];
        let more = if site.kind == Kind::Computes { computes } else { &[] };
        Row { name, site, pages, think, limit, resource, more }
    };
    vec![
        row("one processor, 5 ms each", computes, 1, "1s", "200ms", "processors"),
        row("one processor, 5 ms each", computes, 5, "200ms", "300ms", "processors"),
        row("8 workers and one lock, 10 ms each", lock, 1, "1s", "200ms", "one_at_a_time"),
        row("8 workers and one lock, 10 ms each", lock, 5, "1s", "300ms", "one_at_a_time"),
        row("4 workers, 20 ms each", pool(4), 1, "1s", "200ms", "concurrency"),
        row("4 workers, 20 ms each", pool(4), 5, "1s", "300ms", "concurrency"),
        row("16 workers, 20 ms each", pool(16), 5, "1s", "300ms", "concurrency"),
        row("4 workers, 20 ms each, a leak", leak, 1, "1s", "200ms", "not_processors"),
        row("4 workers, 20 ms each, a leak", leak, 5, "200ms", "300ms", "not_processors"),
    ]
}

impl Row {
    /// Studies the site; the result, and the steps.
    fn study(&self, out: &Path) -> (Value, Vec<Value>) {
        let (site, url) = self.site.process();
        let scenario = out.join("scenario.toml");
        let steps = vec!["\"Page\""; self.pages].join(", ");
        let think = self.think;
        let text = format!(
            "[session]\nsteps = [{steps}]\nthink = \"{think}\"\n[pages]\nPage = {{ path = \"/\" }}\n"
        );
        std::fs::write(&scenario, text).unwrap();
        let process = site.id().to_string();
        let (scenario, folder) = (scenario.display().to_string(), out.display().to_string());
        let args = ["study", "capacity", "--quick", "--target", &url, "--scenario", &scenario];
        let more = ["--out", &folder, "--limit", self.limit, "--process", &process];
        let output = tidegate(&[&args[..], &more, self.more].concat());
        let shown = format!("{}{}", output.stdout_text(), output.stderr_text());
        assert_eq!(output.status.code(), Some(0), "{shown}");
        let read = std::fs::read(out.join("summary.json")).unwrap();
        let tables = &serde_json::from_slice::<Value>(&read).unwrap()["tables"];
        (tables["result"][0].clone(), tables["steps"].as_array().unwrap().clone())
    }
}

/// Requests that were answered up to the middle of up and down: a leak takes from the capacity with
/// each.
fn answered_before_up_and_down(steps: &[Value]) -> f64 {
    let is_middle = |step: &Value| step["phase"] == "up_and_down";
    let first = steps.iter().position(is_middle).unwrap();
    let last = steps.iter().rposition(is_middle).unwrap();
    let number = |step: &Value, name: &str| step[name].as_f64().unwrap();
    let until = |pair: &[Value]| {
        number(&pair[0], "requests_per_s") * (number(&pair[1], "at_s") - number(&pair[0], "at_s"))
    };
    steps[..=usize::midpoint(first, last)].windows(2).map(until).sum()
}

/// Prints a row of the table as soon as it is measured, and checks all of them at the end.
/// `TIDEGATE_ROWS=0,3` measures these alone; `TIDEGATE_OUT` keeps the folders of the studies.
#[test]
#[ignore = "takes three quarters of an hour, on a machine with two processors that nobody else uses"]
fn are_found_within_a_tenth_with_the_limit_that_they_have() {
    let chosen = std::env::var("TIDEGATE_ROWS").unwrap_or_default();
    let chosen: Vec<usize> = chosen.split(',').filter_map(|number| number.parse().ok()).collect();
    let (temporary, kept) = (tempfile::tempdir().unwrap(), std::env::var_os("TIDEGATE_OUT"));
    let folder = kept.as_deref().map_or(temporary.path(), Path::new);
    println!("\n| site | sessions | known /s | told /s | 95 % | named limit | at a time |");
    println!("| --- | --- | --- | --- | --- | --- | --- |");
    let mut wrong = Vec::new();
    for (number, row) in rows().iter().enumerate() {
        if !chosen.is_empty() && !chosen.contains(&number) {
            continue;
        }
        let out = folder.join(number.to_string());
        std::fs::create_dir_all(&out).unwrap();
        let (result, steps) = row.study(&out);
        let get = |name: &str| result[name].as_f64().unwrap_or(f64::NAN);
        let first = row.site.requests_per_s() / row.pages as f64;
        let known = match row.site.kind {
            Kind::Leak => first / KnownSite::slower(answered_before_up_and_down(&steps)),
            _ => first,
        };
        let drift = result["drift"].as_array().map_or(0, Vec::len);
        let named = result["resource"].as_str().unwrap_or("none").to_owned();
        let shown =
            if drift > 0 { format!("{named}; {drift} signs of a leak") } else { named.clone() };
        let told = get("carried_per_s_value");
        let sessions = match row.pages {
            1 => "one page".to_owned(),
            pages => format!("{pages} pages, think time {}", row.think),
        };
        println!(
            "| {} | {sessions} | {known:.1} | {told:.1} | {:.1} to {:.1} | {shown} | {:.1} |",
            row.name,
            get("carried_per_s_low"),
            get("carried_per_s_high"),
            get("requests_at_a_time"),
        );
        let is_right = (0.9 * known..=1.1 * known).contains(&told)
            && named == row.resource
            && (drift > 0) == (row.site.kind == Kind::Leak);
        if !is_right {
            wrong.push(format!("{number}: {result}"));
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
}

#[test]
fn of_sites_follow_from_their_workers_and_the_time_of_a_request() {
    let per_s: Vec<f64> = rows().iter().map(|row| row.site.requests_per_s()).collect();
    assert_eq!(per_s, [200.0, 200.0, 100.0, 100.0, 200.0, 200.0, 800.0, 200.0, 200.0]);
    assert_eq!(KnownSite::slower(20_000.0), 1.2);
    assert_eq!(KnownSite::pool(16, 20).time, Duration::from_millis(20));
}
