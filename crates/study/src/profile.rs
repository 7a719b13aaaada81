//! Profiles of customers, from a scenario and from an access log.

use tidegate_config::did_you_mean;
use tidegate_load::Scenario;
use tidegate_load::observed::Observed;
use tidegate_plan::{Profile, Range, Visits};
use tidegate_stats::{Estimate, Interval};

/// The profile of a scenario's customers, whom nothing disturbs. `order` is the page that is an
/// order.
///
/// # Errors
/// No page has that name.
pub fn of_scenario(scenario: &Scenario, order: Option<&str>) -> Result<Profile, String> {
    let visits = scenario.page_visits();
    let pages = scenario.pages().iter().enumerate();
    let thinks: Vec<f64> =
        scenario.drawn_sessions().iter().map(|it| it.think.as_secs_f64()).collect();
    let mean = scenario.session_duration().as_secs_f64();
    let length = match Estimate::of_mean(&thinks) {
        // The mean is of mean think times, and no less sure than that of drawn ones.
        Some(drawn) => Interval::from(Estimate { value: mean, ..drawn }).not_negative(),
        None => Interval::point(mean),
    };
    let operations = pages.map(|(at, page)| (page.name.clone(), visits.per_session(at))).collect();
    profile(length, visits.sessions(), operations, order)
}

/// The profile of an access log's customers.
///
/// # Errors
/// No operation has the name of the order.
pub fn of_log(observed: &Observed, order: Option<&str>) -> Result<Profile, String> {
    let operations = observed.operations.iter();
    let operations = operations.map(|it| (it.name.clone(), it.per_session)).collect();
    profile(observed.length_s, observed.sessions, operations, order)
}

fn profile(
    length_s: Interval,
    sessions: u64,
    operations: Vec<(String, Interval)>,
    order: Option<&str>,
) -> Result<Profile, String> {
    let range = |it: Interval| Range { value: it.value, low: it.low, high: it.high };
    if let Some(order) = order
        && !operations.iter().any(|(name, _)| name == order)
    {
        let known: Vec<&str> = operations.iter().map(|(name, _)| name.as_str()).collect();
        let remedy = did_you_mean(order, &known)
            .unwrap_or_else(|| format!("use one of {}", first(&known).join(", ")));
        return Err(format!("{order} is none of the operations; {remedy}"));
    }
    let visits = |(operation, it): (String, Interval)| Visits { operation, per_session: range(it) };
    Ok(Profile {
        session_s: range(length_s),
        sessions,
        checkout: order.map(str::to_owned),
        operations: operations.into_iter().map(visits).collect(),
    })
}

/// As many names as a message has room for.
fn first<'a>(names: &'a [&'a str]) -> &'a [&'a str] {
    &names[..names.len().min(20)]
}

#[cfg(test)]
mod tests {
    use tidegate_load::access_log::{AccessLog, Reading};
    use tidegate_load::observed::{Observing, observe};

    use super::*;

    #[test]
    fn a_scenario_has_the_profile_of_its_sessions() {
        let text = "[session]\nsteps = [\"Home\", \"Item\", \"Item\", \"Buy\"]\nthink = \"10s\"\n\
                    [pages]\nHome = { path = \"/\" }\nItem = { path = \"/item\" }\n\
                    Buy = { path = \"/buy\", method = \"POST\" }\n";
        let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        let found = of_scenario(&scenario, Some("Buy")).unwrap();
        let each: Vec<f64> = found.operations.iter().map(|it| it.per_session.value).collect();
        assert_eq!((each, found.browse_to_buy()), (vec![1.0, 2.0, 1.0], Some(3.0)));
        // Three think times of 10 s, with the interval of their simulation.
        let length = found.session_s;
        assert!((length.value - 30.0).abs() < 0.1 && length.low < 30.0 && length.high > 30.0);
        assert!(length.high - length.low < 2.0, "{length:?}");
        let error = of_scenario(&scenario, Some("By")).unwrap_err();
        assert!(error.contains("By is none of the operations; did you mean Buy?"), "{error}");
        let error = of_scenario(&scenario, Some("Pay everything")).unwrap_err();
        assert!(error.contains("use one of Home, Item, Buy"), "{error}");
    }

    #[test]
    fn a_log_has_the_profile_of_its_sessions_and_its_file_reads_back() {
        let line = |second: u32, path: &str| {
            format!("a - - [10/Oct/2000:13:55:{second:02} +0000] \"GET {path} HTTP/1.1\" 200 1\n")
        };
        let text = line(1, "/") + &line(9, "/items/7") + &line(31, "/items/8");
        let bytes = Box::new(std::io::Cursor::new(text.into_bytes()));
        let log = AccessLog::of_bytes("access.log", bytes, Reading::default()).unwrap();
        let observed = observe(log, &Observing::default()).unwrap();
        let found = of_log(&observed, Some("/items/{id}")).unwrap();
        assert_eq!((found.session_s, found.sessions), (Range::exactly(30.0), 1));
        assert_eq!(found.checkouts_each(), Some(Range::exactly(2.0)));
        assert_eq!(Profile::from_toml(&found.to_toml(), "profile.toml").unwrap(), found);
    }
}
