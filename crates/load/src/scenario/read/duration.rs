//! Reads the duration of sessions.

use super::Refuse;
use tidegate_config::{Section, Value};

use super::session::SESSION;
use super::steps;
use super::transitions::TRANSITIONS;
use crate::scenario::builtin;
use crate::scenario::duration::MinimumDuration;
use crate::scenario::page::Page;
use crate::scenario::table::Table;

/// The cap, where none is given: 60 minutes for a mean of 15, as in TPC-W.
const CAP: f64 = 4.0;

/// The duration of a class, or else of `common`, for sessions that begin at `start` and
/// follow the table. The outer `None` is a mistake.
pub(super) fn read(
    section: &Section<'_>,
    common: &Section<'_>,
    (transitions, table): (&Value<'_>, &Table),
    start: u16,
    pages: &[Page],
) -> Option<Option<MinimumDuration>> {
    let published = transitions.section()?.given(&TRANSITIONS.table);
    let published = published.and_then(|index| builtin::duration(builtin::TABLES[index]));
    let given = section.given(&SESSION.duration).or_else(|| common.given(&SESSION.duration));
    let Some(mean) = given.or(published) else {
        for name in [SESSION.duration_cap.name, SESSION.end_at.name] {
            if let Some(value) = section.get(name) {
                value.wrong(
                    "has no effect without a duration",
                    "write duration = \"15min\", or remove it",
                );
            }
        }
        return Some(None);
    };
    let cap = section.given(&SESSION.duration_cap).or_else(|| common.given(&SESSION.duration_cap));
    let named = [section, common].into_iter().find_map(|it| it.get(SESSION.end_at.name));
    let end_at = match &named {
        Some(value) => steps::page(value, pages)?,
        None => start,
    };
    if table.comes_to(end_at, start) {
        return Some(Some(MinimumDuration { mean, cap: cap.unwrap_or(CAP), end_at }));
    }
    let mut own = [SESSION.end_at.name, SESSION.duration.name].into_iter();
    // A duration of [session] need not apply to a class.
    let Some(value) = own.find_map(|name| section.get(name)) else { return Some(None) };
    let name = &pages[usize::from(end_at)].name;
    value.refuse(
        format!("sessions cannot end at {name}: none moves to it"),
        "write end_at = the name of a page that customers come to again and again",
    )
}

/// Reports a common duration that no class uses. `classes` are the table of each class and
/// the duration read from it.
pub(super) fn wanted<'a>(
    common: &Section<'_>,
    mut classes: impl Iterator<Item = (&'a Value<'a>, Option<MinimumDuration>)>,
) {
    let Some(value) = common.get(SESSION.duration.name) else { return };
    let has_own = |class: &Value<'_>| {
        class.section().is_some_and(|section| section.get(SESSION.duration.name).is_some())
    };
    if classes.all(|(class, lasting)| lasting.is_none() || has_own(class)) {
        value.wrong(
            "has no effect: no class uses it and moves to end_at",
            "write end_at = the name of a page that customers come to again and again, or remove \
             it",
        );
    }
}

/// Reports the keys of a duration in a session with steps.
pub(super) fn refuse(section: &Section<'_>) {
    for name in [SESSION.duration.name, SESSION.duration_cap.name, SESSION.end_at.name] {
        if let Some(value) = section.get(name) {
            value.wrong("cannot be combined with steps, which end with their last", "remove it");
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::mistakes;
    use super::*;
    use crate::scenario::Scenario;
    use crate::scenario::walk::Step;

    /// From Home to an item and back.
    const SHOP: &str = r#"
[session]
start = "Home"
max_requests = 10000
[pages]
Home = { path = "/" }
Item = { path = "/item" }
About = { path = "/about" }
[transitions]
Home = { Item = 1 }
Item = { Home = 1 }
About = { Item = 1 }
"#;

    fn shop(session: &str) -> String {
        SHOP.replace("[pages]", &format!("{session}\n[pages]"))
    }

    fn lasting(text: &str) -> Vec<Option<MinimumDuration>> {
        let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        scenario.classes().iter().map(|class| class.duration).collect()
    }

    const MINUTES: Duration = Duration::from_secs(60);

    #[test]
    fn durations_have_their_mean_and_their_cap_and_follow_from_the_seed() {
        let tpcw = MinimumDuration { mean: 15 * MINUTES, cap: 4.0, end_at: 0 };
        let all: Vec<f64> = (0..40_000).map(|seed| tpcw.of(seed).as_secs_f64()).collect();
        // Cut at four times itself, a mean of 900 s becomes 900 (1 - e^-4) = 883.5 s; 1.8 % are
        // cut. The standard errors of both are 4.2 s and 0.07 %.
        let mean = all.iter().sum::<f64>() / all.len() as f64;
        assert!((mean - 883.5).abs() < 20.0, "{mean}");
        let cut = all.iter().filter(|seconds| **seconds == 3600.0).count() as f64 / 40_000.0;
        assert!((cut - 0.0183).abs() < 0.0035, "{cut}");
        assert!(all.iter().all(|seconds| *seconds <= 3600.0));
        assert_eq!(tpcw.of(7), tpcw.of(7));
    }

    #[test]
    fn a_session_ends_in_place_of_the_first_move_there_once_it_has_lasted() {
        let shop = MinimumDuration { mean: MINUTES, cap: 4.0, end_at: 3 };
        for seed in 0..100 {
            let (lasts, moment) = (shop.of(seed), Duration::from_nanos(1));
            let ends = |step, after| shop.ends(step, after, 1.0, seed);
            assert!(ends(Step::Visit(3), lasts) && !ends(Step::Visit(3), lasts - moment));
            for other in [Step::Visit(2), Step::Again, Step::Back] {
                assert!(!ends(other, 60 * MINUTES));
            }
            assert!(shop.ends(Step::Visit(3), lasts.mul_f64(0.1), 0.1, seed));
            assert!(!shop.ends(Step::Visit(3), lasts.mul_f64(0.1) - moment, 0.1, seed));
        }
    }

    #[test]
    fn left_alone_sessions_are_as_long_as_their_durations_and_thoughts_make_them() {
        // With thoughts of 7 s, 883.5 s are M = 126.2 of them on average. A session ends at the
        // first page after them that is an item: that is request M + 2 or M + 3. The standard
        // error of the mean of 4000 sessions is 1.8.
        let length = |text: &str| {
            Scenario::from_toml(text, "shop.toml").unwrap().session_length().mean_requests
        };
        let mean = length(&shop("duration = \"15min\""));
        assert!((mean - 128.7).abs() < 6.0, "{mean}");
        let short = length(&shop("duration = \"15min\"\nduration_cap = 1"));
        // Cut at its mean: 900 (1 - 1/e) = 568.9 s, 81.3 thoughts.
        assert!((short - 83.8).abs() < 4.0, "{short}");
        assert_eq!(length(SHOP), 10_000.0);
    }

    #[test]
    fn sessions_of_tpc_w_last_for_its_quarter_of_an_hour() {
        let pages = include_str!("../../../scenarios/tpcw-shopping.csv")
            .lines()
            .filter(|line| !line.starts_with('#'))
            .skip(1)
            .map(|line| format!("\"{}\" = {{ path = \"/\" }}\n", line.split(',').next().unwrap()))
            .collect::<String>();
        for mix in ["browsing", "shopping", "ordering"] {
            let text = format!(
                "[session]\nstart = \"Home\"\n[pages]\n{pages}\
                 [transitions]\ntable = \"tpcw-{mix}\"\nform = \"normalised\"\n"
            );
            let scenario = Scenario::from_toml(&text, "bookstore.toml").unwrap();
            let home = scenario.pages().iter().position(|page| page.name == "Home").unwrap();
            let expected = MinimumDuration { mean: 15 * MINUTES, cap: 4.0, end_at: home as u16 };
            assert_eq!(scenario.classes()[0].duration, Some(expected));
            // 126 thoughts of 7 s, and then until the session comes to Home.
            let length = scenario.session_length();
            assert!((127.0..160.0).contains(&length.mean_requests), "{mix}: {length:?}");
            assert!(length.p99_requests < 700, "{mix}: {length:?}");
            let own = text.replace("[pages]", "duration = \"1min\"\n[pages]");
            assert_eq!(lasting(&own)[0].unwrap().mean, MINUTES);
        }
    }

    #[test]
    fn a_class_has_its_own_duration_and_else_that_of_the_session() {
        let text = shop("duration = \"2min\"\nend_at = \"Item\"")
            + "[[classes]]\nname = \"a\"\nshare = 1\n\
               [[classes]]\nname = \"b\"\nshare = 1\nduration = \"1min\"\nduration_cap = 2\nend_at = \"Home\"\n\
               [[classes]]\nname = \"c\"\nshare = 1\nsteps = [\"Home\"]\n\
               [[classes]]\nname = \"d\"\nshare = 1\ntransitions = { Home = { End = 1 } }\n";
        let [a, b, c, d] = lasting(&text)[..] else { panic!("four classes") };
        assert_eq!(a, Some(MinimumDuration { mean: 2 * MINUTES, cap: 4.0, end_at: 1 }));
        assert_eq!(b, Some(MinimumDuration { mean: MINUTES, cap: 2.0, end_at: 0 }));
        assert_eq!((c, d), (None, None));
    }

    #[test]
    fn every_mistake_is_reported_with_line_and_remedy() {
        let mistake = |session: &str| {
            let found = mistakes(&shop(session));
            assert_eq!(found.len(), 1, "{found:#?}");
            found[0].clone()
        };
        for (session, expected) in [
            (
                "duration = \"0s\"",
                "shop.toml:5: session.duration = \"0s\": must be a duration of 1ms to 24h;",
            ),
            (
                "duration = \"1min\"\nend_at = \"Itme\"",
                "shop.toml:6: session.end_at = \"Itme\": is not a page; did you mean Item?",
            ),
            (
                "duration = \"1min\"\nend_at = \"About\"",
                "shop.toml:6: session.end_at = \"About\": sessions cannot end at About: none moves to it;",
            ),
            (
                "end_at = \"Item\"",
                "shop.toml:5: session.end_at = \"Item\": has no effect without a duration; \
                 write duration = \"15min\", or remove it",
            ),
        ] {
            assert!(mistake(session).starts_with(expected), "{}", mistake(session));
        }
        let class = |more: &str| format!("[[classes]]\nname = \"a\"\nshare = 1\n{more}\n");
        let of_classes = |more: &str| {
            shop("duration = \"1min\"") + &class(more).repeat(2).replacen("\"a\"", "\"b\"", 1)
        };
        let expected = "shop.toml:5: session.duration = \"1min\": has no effect: no class uses it and \
             moves to end_at; write end_at = the name of a page that customers come to again \
             and again, or remove it";
        for own in
            ["steps = [\"Home\"]", "duration = \"2min\"", "transitions = { Home = { End = 1 } }"]
        {
            assert_eq!(mistakes(&of_classes(own)), [expected], "{own}");
        }
        let one = shop("duration = \"1min\"")
            + &class("steps = [\"Home\"]")
            + &class("").replace("\"a\"", "\"b\"");
        assert!(lasting(&one)[1].is_some());
        let ends = shop("duration = \"1min\"").replace("Home = 1", "End = 1");
        let expected = "shop.toml:5: session.duration = \"1min\": sessions cannot end at Home: none moves to it; \
             write end_at = the name of a page that customers come to again and again";
        assert_eq!(mistakes(&ends), [expected]);
        let (head, _) = SHOP.split_once("[transitions]").unwrap();
        let script = head.replace("start = \"Home\"", "steps = [\"Home\"]\nduration = \"1min\"");
        let expected = "shop.toml:4: session.duration = \"1min\": cannot be combined with steps, which end with their \
                        last; remove it";
        assert_eq!(mistakes(&script), [expected]);
    }
}
