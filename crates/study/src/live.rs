//! What the requests of each route cost under live traffic, by the readings of the gate before the
//! site: no load is offered.
//!
//! The gate's own CPU time is known by route, from the clocks of its threads. The use of the
//! upstream is known as a whole: what a request of each route costs follows from windows with
//! other mixes, by least squares.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};
use tidegate_lab::http;
use tidegate_plan::mixed::table::{MixedRow, MixedTable};
use tidegate_plan::mixed::{MixedRun, costs};

/// Name of all requests where the gate has no routes.
const REQUESTS: &str = "requests";
/// The gate's name of the requests that no route decides on.
const REST: &str = "upstream";
/// Their name here, where `upstream` is the site.
const OTHERS: &str = "other requests";
/// Resources that are the site.
const SITE: [&str; 2] = ["upstream", "routed"];

/// Counters of a gate since its start.
#[derive(Clone, Debug, PartialEq)]
pub struct Counters {
    at_s: f64,
    routes: Vec<Route>,
    /// Handshakes by name, with their CPU seconds.
    handshakes: [(&'static str, u64, f64); 2],
    /// CPU seconds of the site, if the gate sees them.
    site_cpu_s: Option<f64>,
    /// CPU seconds of the gate itself.
    gate_cpu_s: f64,
    /// Why it does not see all of them.
    note: Option<String>,
}

/// What the requests of a route are and cost the gate.
#[derive(Clone, Debug, PartialEq, Deserialize)]
struct Route {
    route: String,
    requests: u64,
    upstream_responses: u64,
    upstream_s: f64,
    cpu_s: f64,
}

/// The part of the gate's `/status` that is used.
#[derive(Deserialize)]
struct Status {
    used_at_s: f64,
    upstream_note: Option<String>,
    full_handshakes: Handshakes,
    resumed_handshakes: Handshakes,
    class_requests: HashMap<String, u64>,
    work_cpu_seconds: HashMap<String, f64>,
    used_cpu_seconds: HashMap<String, f64>,
    route_totals: Vec<Route>,
}

#[derive(Deserialize)]
struct Handshakes {
    ok: u64,
}

impl Counters {
    /// Reads those of the gate whose admin address is `http://HOST:PORT`.
    ///
    /// # Errors
    /// It does not answer, or not as a gate of this version does; in words.
    pub fn read(admin: &str) -> Result<Self, String> {
        let text = http::get_at(admin, "/status").and_then(http::Answer::ok);
        let text = text.map_err(|error| {
            format!("{admin}: the gate's /status cannot be read ({error}); give its admin.address")
        })?;
        Self::of(&text).map_err(|error| {
            format!("{admin}: /status is not that of a gate of this version ({error})")
        })
    }

    fn of(text: &str) -> Result<Self, serde_json::Error> {
        let status: Status = serde_json::from_str(text)?;
        let work = |name: &str| status.work_cpu_seconds.get(name).copied().unwrap_or(0.0);
        let mut routes = status.route_totals;
        for route in routes.iter_mut().filter(|it| it.route == REST) {
            OTHERS.clone_into(&mut route.route);
        }
        if routes.is_empty() {
            routes.push(Route {
                route: REQUESTS.to_owned(),
                requests: status.class_requests.values().sum(),
                upstream_responses: 0,
                upstream_s: 0.0,
                cpu_s: work("request_new") + work("request_returning"),
            });
        }
        let site = SITE.iter().filter_map(|name| status.used_cpu_seconds.get(*name));
        Ok(Self {
            at_s: status.used_at_s,
            routes,
            handshakes: [
                ("full handshake", status.full_handshakes.ok, work("handshake_new")),
                ("resumed handshake", status.resumed_handshakes.ok, work("handshake_returning")),
            ],
            site_cpu_s: site.copied().reduce(|one, other| one + other),
            gate_cpu_s: status.used_cpu_seconds.get("gate").copied().unwrap_or(0.0),
            note: status.upstream_note,
        })
    }

    /// What was counted after `before`, which is an earlier reading of the same gate.
    pub(crate) fn since(&self, before: &Self) -> Since {
        let requests = |of: &Self| of.routes.iter().map(|it| it.requests).sum::<u64>();
        let each = |at: usize| {
            let (_, count, cpu_s) = self.handshakes[at];
            let (_, count_before, cpu_s_before) = before.handshakes[at];
            let count = count.saturating_sub(count_before);
            (count > 0).then(|| (cpu_s - cpu_s_before) / count as f64)
        };
        let site = self.site_cpu_s.zip(before.site_cpu_s).map(|(after, before)| after - before);
        Since {
            requests: requests(self).saturating_sub(requests(before)),
            cpu_s: site.map(|site| site + self.gate_cpu_s - before.gate_cpu_s),
            full_cpu_s: each(0),
            resumed_cpu_s: each(1),
        }
    }

    /// Whether the gate has the same routes, and did not start anew after `before`.
    fn follows(&self, before: &Self) -> bool {
        let names = |of: &Self| of.routes.iter().map(|it| it.route.clone()).collect::<Vec<_>>();
        self.at_s > before.at_s && names(self) == names(before)
    }
}

/// What a gate counted between two readings.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Since {
    /// Requests.
    pub(crate) requests: u64,
    /// CPU seconds of gate and site, if the gate sees those of the site.
    pub(crate) cpu_s: Option<f64>,
    /// CPU seconds of the gate for one full handshake; `None` where there was none.
    pub(crate) full_cpu_s: Option<f64>,
    /// The same for one that resumes.
    pub(crate) resumed_cpu_s: Option<f64>,
}

/// What was found.
#[derive(Clone, Debug, Serialize)]
pub struct Live {
    /// Seconds from the first reading to the last.
    pub lasted_s: f64,
    /// What the gate spends, by route, then by handshakes.
    pub gate: Vec<OfGate>,
    /// What requests cost the site, and every window; none where the gate does not see its CPU time.
    pub site: Option<MixedTable>,
    /// The lengths of the windows in seconds, where there are costs of the site.
    pub windows_s: Vec<f64>,
    /// What a reader should know: a line each.
    pub notes: Vec<String>,
}

/// What the gate spends on one kind of work.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct OfGate {
    /// The route, or the kind of handshake.
    pub operation: String,
    /// How many there were.
    pub count: u64,
    /// CPU seconds of the gate for one; none where there were none.
    pub gate_cpu_s: Option<f64>,
    /// Mean time of the site for one, in seconds; none where that is not known.
    pub site_s: Option<f64>,
}

/// What requests cost by readings in the order of their times: each two are a window.
///
/// # Errors
/// What the readings lack, and how to mend it.
pub fn of_readings(readings: &[Counters]) -> Result<Live, String> {
    let (Some(first), Some(last)) = (readings.first(), readings.last()) else {
        return Err("no reading of the gate was taken; let it run longer".to_owned());
    };
    let windows = || readings.windows(2).map(|pair| (&pair[0], &pair[1]));
    if !windows().all(|(before, after)| after.follows(before)) {
        return Err(
            "the gate started anew, or got other routes, meanwhile; run it again".to_owned()
        );
    }
    let mut notes = Vec::new();
    if last.routes.len() == 1 {
        notes.push(
            "The gate has no routes, so all requests are one operation. A [[routes]] table with \
             the url of [upstream] counts the requests of its path apart."
                .to_owned(),
        );
    }
    let (site, windows_s) = match readings.iter().all(|it| it.site_cpu_s.is_some()) {
        true => {
            let (table, runs) = site_costs(windows(), last)?;
            (Some(table), runs.iter().map(|run| run.weight).collect())
        }
        false => (None, Vec::new()),
    };
    notes.extend(last.note.clone());
    if site.is_none() && last.note.is_none() {
        notes.push(
            "The gate does not see the CPU time of the site: it runs on another machine, or \
             upstream.processes is \"none\"."
                .to_owned(),
        );
    }
    let per = |amount: f64, of: u64| (of > 0).then(|| amount / of as f64);
    let routes = first.routes.iter().zip(&last.routes).map(|(before, after)| {
        let count = after.requests.saturating_sub(before.requests);
        let responses = after.upstream_responses.saturating_sub(before.upstream_responses);
        OfGate {
            operation: after.route.clone(),
            count,
            gate_cpu_s: per(after.cpu_s - before.cpu_s, count),
            site_s: per(after.upstream_s - before.upstream_s, responses),
        }
    });
    let handshakes = first.handshakes.iter().zip(&last.handshakes).map(|(before, after)| {
        let count = after.1.saturating_sub(before.1);
        let gate_cpu_s = per(after.2 - before.2, count);
        OfGate { operation: after.0.to_owned(), count, gate_cpu_s, site_s: None }
    });
    let gate = routes.chain(handshakes).collect();
    Ok(Live { lasted_s: last.at_s - first.at_s, gate, site, windows_s, notes })
}

/// What a request of each route costs the site.
fn site_costs<'r>(
    windows: impl Iterator<Item = (&'r Counters, &'r Counters)>,
    last: &Counters,
) -> Result<(MixedTable, Vec<MixedRun>), String> {
    let mut rows = Vec::new();
    let mut runs = Vec::new();
    for (line, (before, after)) in (1..).zip(windows) {
        let seconds = after.at_s - before.at_s;
        let (Some(then), Some(now)) = (before.site_cpu_s, after.site_cpu_s) else { continue };
        let busy_cpus = ((now - then) / seconds).max(0.0);
        let counts = before.routes.iter().zip(&after.routes);
        let per_s: Vec<f64> = counts
            .map(|(before, after)| after.requests.saturating_sub(before.requests) as f64 / seconds)
            .collect();
        rows.push(MixedRow { line, per_s: per_s.clone(), busy_cpus });
        runs.push(MixedRun { per_s, used: busy_cpus, weight: seconds });
    }
    let names: Vec<String> = last.routes.iter().map(|it| it.route.clone()).collect();
    let costs = costs(&names, &runs)
        .map_err(|why| format!("the traffic {why}; each --window is a run, until --for is over"))?;
    Ok((MixedTable { rows, mhz: None, costs }, runs))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After so many requests of two routes, that cost the site 10 and 40 ms, besides a tenth of a
    /// processor without any.
    fn counters(second: f64, a: u64, b: u64) -> Counters {
        let route = |route: &str, requests: u64, cpu_us: f64| {
            format!(
                r#"{{"route":"{route}","requests":{requests},"duration_s":1,"upstream_responses":{requests},"upstream_s":{},"cpu_s":{}}}"#,
                0.05 * requests as f64,
                cpu_us * 1e-6 * requests as f64
            )
        };
        let used = 0.1 * second + 0.010 * a as f64 + 0.040 * b as f64;
        let text = format!(
            r#"{{"used_at_s":{second},"upstream_note":null,"full_handshakes":{{"ok":{a}}},
                "resumed_handshakes":{{"ok":0}},"class_requests":{{"new":{a},"returning":{b}}},
                "work_cpu_seconds":{{"handshake_new":{}}},"used_cpu_seconds":{{"gate":1,"upstream":{used}}},
                "route_totals":[{},{}]}}"#,
            300e-6 * a as f64,
            route("/a", a, 20.0),
            route("upstream", b, 30.0)
        );
        Counters::of(&text).unwrap()
    }

    fn readings() -> Vec<Counters> {
        let mut all = vec![counters(100.0, 0, 0)];
        let (mut a, mut b) = (0, 0);
        for window in 1..=6_u64 {
            (a, b) = (a + 10 * window, b + 5 * (window % 3));
            all.push(counters(100.0 + 10.0 * window as f64, a, b));
        }
        all
    }

    #[test]
    fn costs_of_routes_are_those_computed_by_hand() {
        let live = of_readings(&readings()).unwrap();
        let site = &live.site.as_ref().unwrap().costs;
        let told: Vec<_> =
            site.operations.iter().map(|it| (&*it.operation, it.cost.unwrap().value)).collect();
        assert_eq!((told[0].0, told[1].0), ("/a", "other requests"));
        assert!((told[0].1 - 0.010).abs() < 1e-9 && (told[1].1 - 0.040).abs() < 1e-9, "{told:?}");
        assert!((site.idle.value - 0.1).abs() < 1e-9);
        let gate: Vec<_> = live.gate.iter().map(|it| (it.count, it.gate_cpu_s)).collect();
        let near = |told: Option<f64>, us: f64| (told.unwrap() * 1e6 - us).abs() < 1e-6;
        assert!(gate[0].0 == 210 && near(gate[0].1, 20.0), "{gate:?}");
        assert!(gate[1].0 == 30 && near(gate[1].1, 30.0), "{gate:?}");
        assert!(near(gate[2].1, 300.0) && gate[3] == (0, None), "{gate:?}");
        assert!((live.gate[0].site_s.unwrap() - 0.05).abs() < 1e-9);
        assert!(live.notes.is_empty() && (live.lasted_s - 60.0).abs() < 1e-9);
    }

    #[test]
    fn what_readings_lack_is_told_with_a_remedy() {
        let few = of_readings(&readings()[..3]).unwrap_err();
        assert!(few.contains("has 2 runs, too few for 2 operations"), "{few}");
        let mut anew = readings();
        anew.push(counters(5.0, 1, 1));
        assert!(of_readings(&anew).unwrap_err().contains("started anew"));
        let unseen: Vec<_> =
            readings().into_iter().map(|it| Counters { site_cpu_s: None, ..it }).collect();
        let live = of_readings(&unseen).unwrap();
        assert!(live.site.is_none() && live.notes[0].contains("does not see"), "{:?}", live.notes);
        assert_eq!(live.gate.len(), 4, "the gate knows its own");
    }
}
