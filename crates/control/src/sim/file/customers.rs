//! Who comes: classes of customers.

use tidegate_toml::Section;

use super::values::{number, seconds, whole, yes_or_no};
use crate::sim::scenario::{Customers, Disappointed};

pub(super) fn customers(section: &Section<'_>) -> Customers {
    section.only(&[
        "name",
        "share",
        "requests",
        "requests_max",
        "think",
        "patience",
        "close_when_done",
        "weight",
        "back_off",
        "attempts",
    ]);
    let mut class = Customers::default();
    if let Some(name) = section.get("name").and_then(|name| name.string()) {
        class.name = name.to_owned();
    }
    number(section, "share", 0.0..=1.0, &mut class.share);
    number(section, "requests", 1.0..=10_000.0, &mut class.requests);
    number(section, "requests_max", 1.0..=10_000.0, &mut class.requests_max);
    if class.requests_max < class.requests {
        let remedy = "give the longest session more requests than the mean";
        section.wrong("has requests above requests_max", remedy);
    }
    seconds(section, "think", 0.0..=3600.0, &mut class.think_s);
    seconds(section, "patience", 0.001..=3600.0, &mut class.patience_s);
    yes_or_no(section, "close_when_done", &mut class.close_when_done);
    number(section, "weight", 0.0..=1000.0, &mut class.weight);
    let (mut back_off_s, mut attempts) = (0.0, 0);
    seconds(section, "back_off", 0.001..=3600.0, &mut back_off_s);
    whole(section, "attempts", 2..=1000, &mut attempts);
    match (back_off_s > 0.0, attempts > 0) {
        (false, false) => {}
        (true, true) => {
            let times = attempts as u32 - 1;
            class.disappointed = Disappointed::Returns { back_off_s, times };
        }
        _ => section.wrong(
            "has one of back_off and attempts",
            "give both for customers who come back, none for those who leave",
        ),
    }
    class
}
