//! Keys and runs of an experiment that contradict each other.

use std::collections::{BTreeMap, BTreeSet};

use tidegate_config::Section;

use super::keys::POSTGRESQL;
use super::settings::LIGHT;
use super::{Combination, Experiment, LOADS, Settings};
use crate::jdbc;

/// Notes keys that exclude each other.
pub(super) fn keys(system: &Section<'_>, workload: &Section<'_>) {
    match (system.get("command"), system.get("address")) {
        (Some(command), None) => {
            command
                .wrong("needs the URL at which it answers", "add address = \"http://HOST:PORT\"");
        }
        (None, Some(address)) => {
            address.wrong("is that of a service of one's own", "add command = [\"PROGRAM\"]");
        }
        (None, None) => {
            if let Some(ready) = system.get("ready") {
                ready.wrong("is for a service of one's own", "leave it out");
            }
        }
        (Some(command), Some(address)) => {
            let is_secure = address.text().is_some_and(|url| url.starts_with("https:"));
            if let Some(ready) = system.get("ready").filter(|_| is_secure) {
                ready.wrong(
                    "is asked over plain HTTP, and the address is https",
                    "leave it out: the service is ready once it accepts connections",
                );
            }
            if command.items().is_some_and(|items| items.is_empty()) {
                command.wrong("must name a program", "write [\"PROGRAM\", \"ARGUMENT\"]");
            }
            for key in ["site", "database", "extra_cpu", "password_cost"] {
                if let Some(value) = system.get(key) {
                    value.wrong("is for the site that comes with the program", "leave it out");
                }
            }
        }
    }
    let given = LOADS.iter().filter_map(|key| Some((key, workload.get(key)?)));
    let given: Vec<_> = given.collect();
    if let [(first, _), .., (_, last)] = &given[..] {
        last.wrong(format!("excludes `{first}`"), "leave one of them out");
    }
}

/// Notes costs of passwords where the service hashes none, and where runs of several costs would
/// change each other's database.
pub(super) fn passwords(root: &Section<'_>, system: &Section<'_>, combinations: &[Combination]) {
    let all = || combinations.iter().map(|one| &one.settings);
    // That with a command of [system] is noted already.
    if system.get("command").is_none()
        && all().any(|it| it.password_cost != LIGHT && !it.hashes_passwords())
    {
        let remedy = "leave it out of these runs, or out of [system]";
        match system.get("password_cost") {
            Some(cost) => cost.wrong("is for the auction site, the brokerage and the shop", remedy),
            None => root.wrong(
                "has password_cost in runs of neither the auction site nor the brokerage nor the shop",
                remedy,
            ),
        }
    }
    let mut costs: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for settings in all().filter(|it| it.hashes_passwords()) {
        if let Some(database) = settings.database.as_ref().filter(|it| *it != POSTGRESQL) {
            costs.entry(database).or_default().insert(&settings.password_cost);
        }
    }
    if costs.values().any(|costs| costs.len() > 1) {
        let rule = "has passwords of several costs in one database, where each run replaces those of another cost";
        let remedy =
            "give each level of password_cost a database of its own, or leave `database` out";
        root.wrong(rule, remedy);
    }
}

/// Notes a database that the site of a combination does not use, once.
pub(super) fn databases<'r>(root: &Section<'r>, system: &Section<'r>, all: &[Combination]) {
    let wrong = all.iter().find_map(|one| database_is_wrong(&one.settings));
    let (Some((rule, remedy)), Some(value)) =
        (wrong, system.get("database").or_else(|| root.get("factors")))
    else {
        return;
    };
    value.wrong(rule, remedy);
}

/// What is wrong with a database for the site that these settings have: rule and remedy.
fn database_is_wrong(settings: &Settings) -> Option<(String, String)> {
    let url = settings.database.as_ref()?;
    match settings.site.as_str() {
        _ if !settings.command.is_empty() => None,
        "node" => Some((
            "is not used by site = \"node\", which keeps everything in memory".into(),
            "leave it out, or set it in the levels of a site that has one".into(),
        )),
        "tomcat" => jdbc::postgres(url).err().map(|wrong| (wrong.rule, wrong.remedy)),
        _ => None,
    }
}

/// Notes runs that cannot be measured: of message services, of fleets, of services that are kept; and
/// requests where they are not counted.
pub(super) fn services(root: &Section<'_>, experiment: &Experiment, all: &[Combination]) {
    let any = |wrong: fn(&Settings) -> bool| all.iter().any(|one| wrong(&one.settings));
    let counts = experiment.windows.requests.is_some();
    for (is_wrong, problem, remedy) in [
        (
            any(|it| it.is_of_messages() != it.configuration.is_some()),
            "must have a `configuration` in runs of site = \"messages\", and in no others",
            "add configuration = \"rust-clear\", or leave it out",
        ),
        (
            any(|it| it.static_tier && (it.site != "shop" || !it.gate)),
            "has a static_tier in runs without a gate, or of another site than the shop",
            "set site = \"shop\" and gate = true, or leave static_tier out",
        ),
        (
            any(|it| it.room && !it.has_own_gate()),
            "has a room in runs without a gate of this program",
            "set gate = true and a policy of the gate, or leave room out",
        ),
        (
            any(|it| it.faults.is_some() && !it.can_be_a_fleet()),
            "has faults in runs of another site than the auction, without a gate of this program, or with a database, a relay or a trace",
            "leave these out, or leave out faults",
        ),
        (
            any(|it| it.is_of_messages() && (it.gate || it.has_load())),
            "has a gate or a load before site = \"messages\", whose client sends one request after another",
            "set gate = false, and leave out load, rate and customers",
        ),
        (
            !counts && experiment.windows.requests_at_most.is_some(),
            "has requests_at_most in [windows] without `requests`",
            "add requests = 3900, or leave it out",
        ),
        (
            experiment.windows.warm_up_once_s.is_some() && any(|it| !it.can_be_kept()),
            "has warm_up_once in [windows], and runs whose service cannot be kept: of site = \"messages\", with faults, or with a share of its own for a server",
            "leave warm_up_once out, or these runs",
        ),
        (
            counts && !any(Settings::is_of_messages) || !counts && any(Settings::is_of_messages),
            "must count `requests` in [windows] for site = \"messages\", and for no other",
            "add requests = 3900, or leave it out",
        ),
    ] {
        if is_wrong {
            root.wrong(problem, remedy);
        }
    }
}
