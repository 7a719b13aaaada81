//! Scripts are followed to the letter, and classes of customers stand side by
//! side.

use std::time::Duration;

use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Arrivals, Plan, Scenario, Summary, report, run};

const PAGES: &str = r#"
[pages]
Home = { path = "/" }
Search = { path = "/search" }
Item = { link = "/items/{item}" }
Buy = { form = "/items/{item}/buy" }
"#;

/// Every item leads to the next one; only the search finds the first.
fn shop(seen: &Seen) -> (&'static str, String, String) {
    let item: Option<u32> = seen.path.strip_prefix("/items/").and_then(|n| n.parse().ok());
    let body = match (seen.path.as_str(), item) {
        ("/search", _) => "<a href=/items/1>first</a>".to_owned(),
        (_, Some(item)) => format!("<a href=/items/{}>next</a>", item + 1),
        _ => "<a href=/about>about</a><form action=/find></form>".to_owned(),
    };
    ("200 OK", String::new(), body)
}

fn server() -> Server {
    Server::with_site(Manner::Answer { after: Duration::ZERO }, shop)
}

fn scenario(text: &str) -> Scenario {
    Scenario::from_toml(&format!("{text}{PAGES}"), "shop.toml").unwrap()
}

fn quiet(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

#[test]
fn the_steps_of_a_script_are_taken_in_order_exactly() {
    let server = server();
    let text = "[session]\nthink = \"1ms\"\nsteps = [\"Home\", { page = \"Search\", repeat = 2 }, \
                { page = \"Item\", repeat = 3, think = \"0s\" }, \"Home\"]\n";
    let summary = quiet(plan(scenario(text), &server, 200.0, 1));
    assert_eq!((summary.totals.completed, summary.session_length.mean_requests), (1, 7.0));
    let expected = ["/", "/search", "/search", "/items/1", "/items/2", "/items/3", "/"];
    assert_eq!(server.paths(), expected);
    assert!(summary.classes.is_empty());
}

#[test]
fn a_step_that_the_page_does_not_offer_fails_the_session() {
    for (last, looked_for) in [("Item", "a link to /items/{item}"), ("Buy", "a form for ")] {
        let server = server();
        let text = format!(
            "[session]\nthink = \"1ms\"\nsteps = [\"Search\", \"Item\", \"Home\", \"{last}\"]\n"
        );
        let summary = quiet(plan(scenario(&text), &server, 200.0, 4));
        let totals = &summary.totals;
        assert_eq!(totals.failed_by_kind.get("not_offered"), Some(&4), "{totals:?}");
        // Nothing of the table's falling back: not even the item seen last.
        assert_eq!((totals.requests_ok, totals.fallback_back + totals.fallback_last_id), (12, 0));
        let unmet = &summary.failed_checks[0];
        assert_eq!((unmet.page.as_str(), &*unmet.kind, unmet.count), (last, "not_offered", 4));
        assert!(unmet.expected.starts_with(looked_for), "{}", unmet.expected);
        assert_eq!(unmet.example, "/about, form /find");
    }
}

const CLASSES: &str = r#"
[session]
think = "1ms"
steps = ["Home", "Home"]
[[classes]]
name = "people"
share = 3
[[classes]]
name = "bots"
share = 1
steps = ["Search"]
"#;

#[test]
fn classes_come_by_their_shares_and_their_figures_add_up() {
    let visit = |cores: usize| {
        let server = server();
        let mut plan = plan(scenario(CLASSES), &server, 400.0, 400);
        plan.cores = vec![0; cores];
        (quiet(plan), server)
    };
    let (summary, server) = visit(1);
    let [people, bots] = &summary.classes[..] else { panic!("{:?}", summary.classes) };
    assert_eq!((people.name.as_str(), bots.name.as_str()), ("people", "bots"));
    assert_eq!(people.offered + bots.offered, 400);
    // 100, give or take five standard deviations of 8.7.
    assert!((57..=143).contains(&bots.offered), "{}", bots.offered);
    let searches = server.paths().iter().filter(|path| *path == "/search").count() as u64;
    assert_eq!((bots.completed, bots.requests_ok), (searches, searches));
    assert_eq!(people.requests_ok, 2 * people.completed);
    assert_eq!(people.response.count + bots.response.count, summary.response.count);
    let lines = report(&summary);
    let rows = lines.lines().skip_while(|line| *line != "class bots");
    let row = rows.take(2).last().expect("a row of its own");
    assert!(row.contains(&format!(" {} ", bots.offered)), "{row}");
    assert!(serde_json::to_value(&summary).unwrap()["classes"][1]["completed"] == searches);
    // The seed decides, however many threads there are.
    let (again, _) = visit(2);
    assert_eq!(again.classes[1].offered, bots.offered);
}

#[test]
fn a_class_may_have_arrivals_of_its_own() {
    let server = server();
    let text = CLASSES.replace("share = 1\n", "")
        + "[[arrivals]]\nrate = 100\nprocess = \"even\"\n\
           [[arrivals]]\nclass = \"bots\"\ntimes = [\"0s\", \"100ms\", \"150ms\"]\n";
    let mut own = plan(scenario(&text), &server, 1.0, 1_000);
    own.arrivals = None;
    own.measure = Duration::from_millis(500);
    let summary = quiet(own);
    let [people, bots] = &summary.classes[..] else { panic!("{:?}", summary.classes) };
    assert_eq!(bots.offered, 3);
    assert!((49..=51).contains(&people.offered), "{}", people.offered);

    // What flags say is checked against the scenario before the run.
    let mut other = plan(scenario(CLASSES), &server, 1.0, 1);
    other.arrivals = Some(Arrivals::poisson(1.0).by("robots"));
    let message = other.check().unwrap_err().to_string();
    assert!(message.contains("\"robots\" is not a class of shop"), "{message}");
    let closed = Arrivals::closed(2).by("bots");
    other.arrivals = Some(closed);
    other.measure = Duration::from_millis(300);
    let summary = quiet(other);
    assert_eq!(summary.classes[0].offered, 0);
}
