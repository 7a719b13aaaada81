//! Which resource limits the site, and by which evidence: what the kernel says of its processes,
//! the ceiling of its throughput, and the phase that grew from a light load to the limit. A trace
//! has the use of each resource and the time of each phase (`trace::analysis::bottleneck`); a
//! study sees the site from outside. Pure.

use serde::Serialize;
use tidegate_report::number::{number, time};

use super::concurrency::AtATime;
use super::drift::drift;
use super::staircase::End;
use crate::site::host_use::HostUse;
use crate::site::step::{Limit, Outcome, PHASES, Step};

/// Share of what there is from which a resource counts as used up. Beyond it waiting grows with
/// `1 / (1 − ρ)`, tenfold and more.
const USED_UP: f64 = 0.9;
/// Multiple of its median under light load from which a phase counts as longer.
const LONGER: f64 = 2.0;
/// Least growth of a phase, in milliseconds, that says something.
const LEAST_MS: f64 = 2.0;
/// Share of the time that a request takes alone, from which waiting for a processor matters.
const WAITS: f64 = 0.2;
/// Connections in an accept queue that are more than a burst.
const QUEUED: u64 = 16;

/// What limits the site.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Resource {
    /// The load generator: the site's limit is beyond.
    Driver,
    /// Nothing up to the highest rate that was allowed.
    NotReached,
    /// The processors that the site may use.
    Processors,
    /// All processors of the machine, which others use too.
    Machine,
    /// One thread of the site, which has a processor to itself.
    OneThread,
    /// The accept queue: connections come faster than they are taken.
    AcceptQueue,
    /// Requests are answered one at a time, and the processors have time left.
    OneAtATime,
    /// A number of requests is answered at a time, and the processors have time left.
    Concurrency,
    /// Something that the site waits for: its processors have time left.
    NotProcessors,
    /// Not known: what was measured on the machine does not show it.
    Unknown,
    /// Not known: the site was seen from outside only.
    FromOutside,
}

/// The limit with its evidence.
#[derive(Clone, Debug, PartialEq)]
pub struct Bottleneck {
    /// What it is.
    pub resource: Resource,
    /// In a sentence, for the reader in a hurry.
    pub headline: String,
    /// What was measured that says so, a sentence each.
    pub evidence: Vec<String>,
    /// What changed during the study, a sentence each: the site became slower or larger.
    pub drift: Vec<String>,
    /// Requests that it answers at a time at most, where its throughput has a ceiling.
    pub at_a_time: Option<f64>,
    /// CPU seconds per session by the utilisation law, where the site's processes are known.
    pub cpu_s_per_session: Option<f64>,
    /// Sessions per second at which the processors that it may use would be used up.
    pub cpu_bound_per_s: Option<f64>,
}

/// Finds the limit from the steps. `carried` is the rate that the site carries, `alone_ms` the time
/// that a request takes alone.
pub fn bottleneck(
    steps: &[Step],
    end: End,
    carried: Option<f64>,
    limit: Limit,
    alone_ms: f64,
) -> Bottleneck {
    let demand = carried.and_then(|rate| demand(steps, rate));
    let (cpu_s, bound) = demand.unzip();
    let light = steps.iter().filter(|step| step.outcome == Outcome::Carried).min_by(by_rate);
    let at = at_the_limit(steps, carried);
    let host = at.and_then(|step| step.host.as_ref());
    let lightest = light.map_or(alone_ms, |step| step.service_ms.min(alone_ms));
    let ceiling = AtATime::of(steps, carried.unwrap_or(0.0), lightest);
    let ceiling = ceiling.filter(|_| end == End::Found);
    let grown = light.zip(at).and_then(|(light, at)| longest(light, at));
    let (resource, mut evidence) = match (end, host.zip(at)) {
        (End::Driver, _) => (Resource::Driver, driver(steps)),
        (End::MaxRate, _) => {
            (Resource::NotReached, vec!["Raise --max-rate to look further.".to_owned()])
        }
        (End::Found | End::NothingCarried, Some((host, step))) => {
            let (resource, mut evidence) = of_host(host, step, ceiling, lightest);
            evidence.extend(grown);
            (resource, evidence)
        }
        (End::Found | End::NothingCarried, None) => {
            (Resource::FromOutside, from_outside(grown, light.zip(at)))
        }
    };
    evidence.extend(ceiling.map(|AtATime { count, ceiling_per_s, alone_ms }| {
        let (ceiling, alone, count) = (number(ceiling_per_s), time(alone_ms), number(count));
        format!(
            "Beyond the limit it answers {ceiling} requests/s, however many come. One takes {alone} alone, so that about {count} are answered at a time."
        )
    }));
    if let Some(((cpu_s, bound), carried)) = demand.zip(carried) {
        evidence.push(format!(
            "Utilisation law: a session takes {} of CPU time, so that the processors would be used up at {} sessions/s; the site carries {} ({:.0} % of that) within {limit}.",
            time(1000.0 * cpu_s),
            number(bound),
            number(carried),
            100.0 * carried / bound,
        ));
    }
    Bottleneck {
        resource,
        headline: headline(resource, host, ceiling),
        evidence,
        drift: carried.map(|rate| drift(steps, rate)).unwrap_or_default(),
        at_a_time: ceiling.map(|it| it.count),
        cpu_s_per_session: cpu_s,
        cpu_bound_per_s: bound,
    }
}

/// The limit in a sentence.
fn headline(resource: Resource, host: Option<&HostUse>, ceiling: Option<AtATime>) -> String {
    let text = match resource {
        Resource::Driver => {
            "The load generator was the limit, not the site: what the site carries beyond is not known."
        }
        Resource::NotReached => {
            "The site's limit was not reached: it carries the highest rate that was allowed."
        }
        Resource::Processors => "The site's processors are the limit.",
        Resource::Machine => {
            let share = |of: fn(&HostUse) -> f64| {
                host.map_or(0.0, |host| 100.0 * of(host) / host.machine_cpus.max(1.0))
            };
            return format!(
                "The machine's processors are the limit: the site has {:.0} % of them, the load generator, which runs on it too, {:.0} %, and the rest goes to other processes.",
                share(|host| host.cpus),
                share(|host| host.driver_cpus),
            );
        }
        Resource::OneThread => {
            "One thread of the site is the limit: it uses a processor to itself, and the others have time left."
        }
        Resource::AcceptQueue => {
            "The site takes connections too slowly from its accept queue, though its processors have time left."
        }
        Resource::OneAtATime => {
            "The site answers one request at a time while its processors have time left: a lock that every request takes, or a single worker."
        }
        Resource::Concurrency => {
            return format!(
                "The site answers about {:.0} requests at a time while its processors have time left; the others wait. That is what a pool does, of workers, threads or connections to a service behind it.",
                ceiling.map_or(0.0, |it| it.count)
            );
        }
        Resource::NotProcessors => {
            "The site waits for something other than a processor: its processors have time left, and its threads hardly waited for one. What it waits for was not measured; --process names further processes to observe, such as a database."
        }
        Resource::Unknown => {
            "Which resource is the limit is not known: the site's threads waited for a processor, though neither its own processors nor those of the machine were used up on average. Repeat the study while nobody else uses the machine."
        }
        Resource::FromOutside => {
            "The limit is within the site or on the way to it; from outside it cannot be told which resource."
        }
    };
    text.to_owned()
}

fn by_rate(a: &&Step, b: &&Step) -> std::cmp::Ordering {
    a.offered_per_s.total_cmp(&b.offered_per_s)
}

/// The lowest rate that was not carried: beyond it everything is used up by the overload itself.
fn at_the_limit(steps: &[Step], carried: Option<f64>) -> Option<&Step> {
    let above = |step: &&Step| carried.is_none_or(|rate| step.rate_per_s >= rate);
    steps.iter().filter(|step| step.is_beyond()).filter(above).min_by(by_rate)
}

/// CPU seconds per session, and the rate at which the allowed processors would be used up, of the
/// highest carried steps: `D = U / X`, and `n / D`.
///
/// Source: Denning and Buzen 1978, "The operational analysis of queueing network models", the
/// utilisation law and the bound by the bottleneck.
fn demand(steps: &[Step], carried: f64) -> Option<(f64, f64)> {
    let near = |step: &&Step| {
        step.outcome == Outcome::Carried
            && step.rate_per_s >= 0.6 * carried
            && step.completed_per_s > 0.0
    };
    let used = steps.iter().filter(near).filter_map(|step| Some((step, step.host.as_ref()?)));
    let (mut cpu, mut sessions, mut allowed) = (0.0, 0.0, 0.0_f64);
    for (step, host) in used {
        cpu += host.cpus * step.measured_s;
        sessions += step.completed_per_s * step.measured_s;
        allowed = allowed.max(host.allowed_cpus);
    }
    let each = cpu / sessions;
    (cpu > 0.0 && sessions > 0.0 && allowed > 0.0).then(|| (each, allowed / each))
}

/// The evidence of a saturated load generator.
fn driver(steps: &[Step]) -> Vec<String> {
    let saturated = steps.iter().filter(|step| !step.is_sound()).max_by(by_rate);
    let because = saturated.map(|step| step.driver_saturated_because.join("; "));
    vec![
        format!("The load generator was saturated: {}.", because.unwrap_or_default()),
        "Give it more or other processors (--driver-cores, --threads), or run it on another machine."
            .to_owned(),
    ]
}

/// The resource that is used up first on the site's machine, with what was measured there.
fn of_host(
    host: &HostUse,
    step: &Step,
    ceiling: Option<AtATime>,
    alone_ms: f64,
) -> (Resource, Vec<String>) {
    let HostUse { cpus, allowed_cpus, busiest_thread, waiting_threads, driver_cpus, .. } = *host;
    let HostUse { machine_busy, machine_cpus, accept_queue, accept_overflows, .. } = *host;
    // By Little's law, of the threads that are ready and wait.
    let waited_ms = 1000.0 * waiting_threads / step.requests_per_s.max(1e-9);
    // Others may use the machine for a part of the time only: the average of its use does not
    // show whether the site had a processor when it wanted one, but the wait of its threads does.
    let had_to_wait = waited_ms >= WAITS * alone_ms;
    let machine_full = machine_busy.is_some_and(|busy| busy >= USED_UP * machine_cpus);
    let resource = if cpus >= USED_UP * allowed_cpus {
        Resource::Processors
    } else if machine_full && had_to_wait {
        Resource::Machine
    } else if busiest_thread >= USED_UP {
        Resource::OneThread
    } else if had_to_wait {
        Resource::Unknown
    } else if let Some(it) = ceiling {
        if it.is_one() { Resource::OneAtATime } else { Resource::Concurrency }
    } else if accept_queue >= QUEUED || (accept_overflows > 0 && accept_queue > 0) {
        Resource::AcceptQueue
    } else {
        Resource::NotProcessors
    };
    let among = match &host.processes[..] {
        [first, _, ..] => {
            format!(" ({} processes; {} alone {:.2})", host.processes.len(), first.name, first.cpus)
        }
        _ => String::new(),
    };
    let machine = machine_busy.map(|busy| {
        format!(
            "The whole machine used {busy:.2} of its {machine_cpus:.0} {}: the site {cpus:.2}, the load generator {driver_cpus:.2}, everything else {:.2}.",
            processors(machine_cpus),
            (busy - cpus - driver_cpus).max(0.0),
        )
    });
    let used = format!(
        "At {} sessions/s the site used {cpus:.2} of the {allowed_cpus:.0} {} that it may use{among}, its busiest thread {busiest_thread:.2}.",
        number(step.offered_per_s),
        processors(allowed_cpus),
    );
    let queue = format!(
        "At most {accept_queue} connections waited to be accepted; {accept_overflows} were dropped because the queue was full."
    );
    let waiting = format!(
        "On average {waiting_threads:.2} of its threads were ready and waited for a processor, {} for each request; alone a request takes {}. The site had {:.0} MiB of memory in RAM.",
        time(waited_ms),
        time(alone_ms),
        host.resident_mib
    );
    (resource, [Some(used), machine, Some(queue), Some(waiting)].into_iter().flatten().collect())
}

/// What is seen of a site whose processes are not known: the phase that grew, and the steps at a
/// light load and at the limit.
fn from_outside(grown: Option<String>, steps: Option<(&Step, &Step)>) -> Vec<String> {
    let mut evidence: Vec<String> = grown.into_iter().collect();
    if let Some((light, at)) = steps {
        evidence.push(format!(
            "Full handshakes: {:.0} % of all under light load, {:.0} % at the limit.",
            100.0 * light.full_handshake_share,
            100.0 * at.full_handshake_share
        ));
        evidence.push(format!(
            "The load generator was not saturated: its busiest thread used {:.0} % of a processor.",
            100.0 * at.driver_cpu_share
        ));
    }
    evidence.push(
        "The site does not run on this machine, or its process is not known (--process PID): which of its resources is used up cannot be told from here."
            .to_owned(),
    );
    evidence
}

/// The phase that grew most from light load to the limit, in words; `None` if none did.
fn longest(light: &Step, at: &Step) -> Option<String> {
    let times = |(name, words, _): &(&str, &'static str, _)| {
        Some((*words, light.phases[name]?, at.phases[name]?))
    };
    let grown = PHASES
        .iter()
        .filter_map(times)
        .filter(|(_, before, after)| *after >= LONGER * before && after - before >= LEAST_MS);
    let (name, before, after) = grown.max_by(|a, b| (a.2 - a.1).total_cmp(&(b.2 - b.1)))?;
    Some(format!(
        "What grew most is the {name}: its median was {} under light load ({} sessions/s) and {} at {} sessions/s.",
        time(before),
        number(light.offered_per_s),
        time(after),
        number(at.offered_per_s),
    ))
}

fn processors(count: f64) -> &'static str {
    if count == 1.0 { "processor" } else { "processors" }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::site::host_use::ProcessUse;
    use crate::site::step::tests::{LIMIT, step};

    fn host(cpus: f64, busiest_thread: f64, machine_busy: f64) -> HostUse {
        HostUse {
            processes: vec![ProcessUse { pid: 7, name: "site".into(), cpus }],
            cpus,
            allowed_cpus: 4.0,
            busiest_thread,
            driver_cpus: 0.5,
            machine_busy: Some(machine_busy),
            machine_cpus: 4.0,
            ..HostUse::default()
        }
    }

    /// A staircase of a site that carries 100 per s, with this use of the machine at 120.
    fn of(at_limit: Option<HostUse>) -> Bottleneck {
        let mut steps =
            [step(25.0, 25.0, 20.0), step(100.0, 100.0, 100.0), step(120.0, 90.0, 900.0)];
        steps[2].host = at_limit;
        bottleneck(&steps, End::Found, Some(105.0), LIMIT, 10.0)
    }

    /// The same for a site whose throughput is level beyond the limit: 900 requests/s.
    fn with_ceiling(at_limit: HostUse, alone_ms: f64) -> Bottleneck {
        let mut steps = [120.0, 160.0, 210.0].map(|rate| step(rate, 90.0, 900.0));
        steps[0].host = Some(at_limit);
        bottleneck(&steps, End::Found, Some(105.0), LIMIT, alone_ms)
    }

    #[test]
    fn the_resource_is_the_first_that_is_used_up() {
        for (at, resource) in [
            (host(3.7, 0.95, 3.9), Resource::Processors),
            (HostUse { waiting_threads: 9.0, ..host(2.5, 0.7, 3.9) }, Resource::Machine),
            (host(1.0, 0.97, 1.8), Resource::OneThread),
            (
                HostUse { accept_overflows: 3, accept_queue: 1, ..host(1.0, 0.5, 1.8) },
                Resource::AcceptQueue,
            ),
            (HostUse { accept_queue: 90, ..host(1.0, 0.5, 1.8) }, Resource::AcceptQueue),
            (host(1.0, 0.5, 1.8), Resource::NotProcessors),
        ] {
            let found = of(Some(at));
            assert_eq!(found.resource, resource, "{found:?}");
            assert!(found.evidence[0].starts_with("At 120 sessions/s"), "{found:?}");
        }
    }

    #[test]
    fn processors_are_ruled_out_only_where_the_threads_of_the_site_did_not_wait_for_them() {
        // Others use the machine for a part of the time: two threads are ready and wait, 2.2 ms
        // for each request of 10 ms.
        let beside_others = HostUse { waiting_threads: 2.0, ..host(1.0, 0.5, 2.8) };
        let found = of(Some(beside_others));
        assert_eq!(found.resource, Resource::Unknown);
        assert!(found.headline.contains("is not known"), "{found:?}");
        // A full machine is the limit only of a site that waits for it.
        let found = of(Some(HostUse { waiting_threads: 0.1, ..host(0.1, 0.1, 3.9) }));
        assert_eq!(found.resource, Resource::NotProcessors);
        // What others of the machine dropped says nothing of the site.
        let found = of(Some(HostUse { accept_overflows: 3, ..host(1.0, 0.5, 1.8) }));
        assert_eq!(found.resource, Resource::NotProcessors);
        let words = ["database", "lock", "pool"];
        assert!(!words.iter().any(|word| found.headline.contains(&format!("a {word}, "))));
    }

    #[test]
    fn a_ceiling_with_idle_processors_is_a_lock_or_a_pool() {
        // 900 requests/s of 20 ms each: 18 at a time; of 1.1 ms: one.
        let found = with_ceiling(host(1.0, 0.5, 1.8), 20.0);
        assert_eq!(found.resource, Resource::Concurrency);
        assert!(found.headline.contains("about 18 requests at a time"), "{found:?}");
        assert!(found.evidence.iter().any(|text| text.contains("900 requests/s")), "{found:?}");
        let found = with_ceiling(host(1.0, 0.5, 1.8), 1.1);
        assert_eq!(found.resource, Resource::OneAtATime);
        // Used up processors have a ceiling, too.
        assert_eq!(with_ceiling(host(3.9, 0.9, 3.9), 4.0).resource, Resource::Processors);
    }

    #[test]
    fn demand_follows_from_the_utilisation_law() {
        let mut steps = [step(100.0, 100.0, 100.0), step(120.0, 90.0, 900.0)];
        // 2 processors' worth at 100 per s: 20 ms each, and 4 processors end at 200.
        (steps[0].host, steps[1].host) = (Some(host(2.0, 0.5, 2.5)), Some(host(2.2, 0.6, 2.7)));
        let found = bottleneck(&steps, End::Found, Some(100.0), LIMIT, 10.0);
        assert!((found.cpu_s_per_session.unwrap() - 0.02).abs() < 1e-9);
        assert!((found.cpu_bound_per_s.unwrap() - 200.0).abs() < 1e-9);
        assert!(found.evidence.last().unwrap().contains("(50 % of that)"), "{found:?}");
    }

    #[test]
    fn from_outside_only_what_was_seen_is_told() {
        let found = of(None);
        assert_eq!(found.resource, Resource::FromOutside);
        assert!(found.evidence[0].contains("wait for the first byte"), "{found:?}");
        assert!(found.evidence.iter().any(|text| text.contains("cannot be told from here")));
        assert_eq!(found.cpu_bound_per_s, None);
    }

    #[test]
    fn a_saturated_driver_or_an_allowed_rate_is_not_the_sites_limit() {
        let mut late = step(50.0, 20.0, 900.0);
        late.driver_saturated_because = vec!["2 % of the starts were late".into()];
        late.outcome = late.judge(LIMIT);
        let steps = [step(25.0, 25.0, 20.0), late];
        let found = bottleneck(&steps, End::Driver, Some(25.0), LIMIT, 10.0);
        assert_eq!(found.resource, Resource::Driver);
        assert!(found.evidence[0].contains("2 % of the starts were late"));
        let found = bottleneck(&steps[..1], End::MaxRate, Some(25.0), LIMIT, 10.0);
        assert_eq!(found.resource, Resource::NotReached);
    }
}
