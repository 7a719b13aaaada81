//! An analysis in words.

use tidegate_trace::analysis::{Analysis, Bottleneck, Joined, Knee, PhaseTime, Split};

use tidegate_report::Table;
use tidegate_report::number::{NONE, or_none, percent, time};
use tidegate_report::words::capital;

use super::text::{heading, line, say};
use super::used::used;

/// The answer, with a line's end after each line.
pub fn answer(analysis: &Analysis) -> String {
    let mut text = String::new();
    processes(&mut text, analysis);
    knee(&mut text, analysis);
    let traced =
        analysis.phases.iter().filter(|split| !split.below.is_empty() || !split.above.is_empty());
    for split in traced {
        phases(&mut text, split, analysis.knee.is_some());
    }
    if let Some(joined) = &analysis.joined {
        customers_wait(&mut text, joined);
    }
    bottleneck(&mut text, &analysis.bottleneck, analysis);
    used(&mut text, analysis);
    one_more_processor(&mut text, &analysis.bottleneck);
    tracing_cost(&mut text, analysis);
    for note in &analysis.notes {
        line(&mut text, &tidegate_load::paragraph("note: ", note));
    }
    text
}

fn processes(text: &mut String, analysis: &Analysis) {
    for process in &analysis.processes {
        let sums = &process.sums;
        let refused = match sums.refused {
            0 => String::new(),
            refused => format!(", {refused} of them refused"),
        };
        let what = match process.role.name() {
            "load" => "sessions",
            _ => "connections",
        };
        let words = format!(
            "{:<5} {} {what}{refused}, {} requests, {} full and {} resumed handshakes",
            process.role.name(),
            sums.connections,
            sums.requests,
            sums.full,
            sums.resumed
        );
        line(text, &words);
    }
}

fn knee(text: &mut String, analysis: &Analysis) {
    heading(text, "The knee");
    let Some(knee) = &analysis.knee else {
        return say(text, &no_knee(&analysis.bottleneck));
    };
    let Knee { offered_per_s, completed_per_s, response_ms, .. } = knee;
    let change = 100.0 * (knee.completed_above_per_s / completed_per_s.max(1e-9) - 1.0);
    say(
        text,
        &format!(
            "Throughput over response time is highest at {offered_per_s:.1} arrivals/s: {completed_per_s:.1} \
             requests/s in {} each. Above it, for the first time after {:.1} s, a request takes {} and \
             the throughput is {:.1} requests/s ({change:+.0} %).",
            time(*response_ms),
            knee.first_above_s,
            time(knee.response_above_ms),
            knee.completed_above_per_s,
        ),
    );
}

fn no_knee(bottleneck: &Bottleneck) -> String {
    let none = "No part of the trace has at least twice the response time of a part with less load";
    match &bottleneck.resource {
        Some(busy) => format!(
            "{none}, but {} are busy for {}: the whole trace is at or above the knee. Trace a load \
             that rises, to see both sides.",
            busy.name,
            percent(busy.utilisation)
        ),
        None => format!("{none}, and no resource is used up: the whole trace is below the knee."),
    }
}

fn phases(text: &mut String, split: &Split, knee: bool) {
    heading(text, &format!("Where the time goes: {} (process {})", split.role, split.pid));
    let heads: &[&str] =
        if knee { &["", "below", "above", "factor", "CPU above"] } else { &["", "mean", "CPU"] };
    let mut table = Table::new(heads.iter().copied());
    let rows = if knee { &split.above } else { &split.below };
    let missing =
        split.below.iter().filter(|below| rows.iter().all(|row| row.phase != below.phase));
    for row in rows.iter().chain(missing) {
        let name = match row.per {
            "handshake" => row.words().to_owned(),
            per => format!("{}, per {per}", row.words()),
        };
        let cpu = |row: &PhaseTime| or_none(row.cpu_mean_ms, time);
        if !knee {
            table.row([name, time(row.mean_ms), cpu(row)]);
            continue;
        }
        let of = |side: &[PhaseTime]| side.iter().find(|it| it.phase == row.phase).cloned();
        let (below, above) = (of(&split.below), of(&split.above));
        let shown = |side: &Option<PhaseTime>| or_none(side.as_ref(), |it| time(it.mean_ms));
        let factor = match (&below, &above) {
            (Some(below), Some(above)) if below.mean_ms > 0.0 => {
                format!("{:.1}x", above.mean_ms / below.mean_ms)
            }
            _ => NONE.to_owned(),
        };
        table.row([name, shown(&below), shown(&above), factor, or_none(above.as_ref(), cpu)]);
    }
    *text += &table.text();
    let full = |share| or_none(share, percent);
    match (split.full_share_below, split.full_share_above) {
        (None, None) => {}
        (all, None) => line(text, &format!("full handshakes: {}", full(all))),
        (below, above) => {
            line(text, &format!("full handshakes: {} below, {} above", full(below), full(above)));
        }
    }
    if let Some(grew) = &split.grew_most {
        let name = split.above.iter().find(|row| row.phase == grew.phase);
        let name = name.map_or(grew.phase, PhaseTime::words);
        let words = format!(
            "What changed most: {name}, from {} to {}",
            time(grew.below_ms),
            time(grew.above_ms)
        );
        line(text, &words);
    }
}

fn customers_wait(text: &mut String, joined: &Joined) {
    heading(text, "Where a customer's wait goes");
    let share =
        |part: f64| percent(if joined.customer_ms > 0.0 { part / joined.customer_ms } else { 0.0 });
    let mut table = Table::new(["", "", ""]);
    let mut row = |name: &str, ms: f64| table.row([name.to_owned(), time(ms), share(ms)]);
    row("the whole wait, from request to last byte", joined.customer_ms);
    row("before and after the gate", joined.before_gate_ms);
    row("in the gate", joined.gate_ms);
    row("with the upstream", joined.upstream_ms);
    if let (Some(site), Some(database), Some(before)) =
        (joined.site_ms, joined.database_ms, joined.before_site_ms)
    {
        row("  before and after the site", before);
        row("  in the site", site);
        row("  in its database", database);
    }
    *text += &table.text();
    let words = format!(
        "{} requests were joined by their trace context, {} of them with the site. Before and after \
         means the network, the kernel's buffers, and waits for a processor.",
        joined.requests, joined.with_site
    );
    say(text, &words);
}

fn bottleneck(text: &mut String, bottleneck: &Bottleneck, analysis: &Analysis) {
    let place = if analysis.knee.is_some() { " above the knee" } else { "" };
    heading(text, &format!("The bottleneck{place}"));
    match &bottleneck.resource {
        Some(busy) => {
            let demand = bottleneck.demand_ms.map_or(String::new(), |demand| {
                let most = bottleneck.estimate.map_or(String::new(), |estimate| {
                    format!(
                        ", so {} processors cannot complete more than {:.0} requests/s",
                        hundredths(estimate.processors),
                        estimate.processors * 1e3 / demand
                    )
                });
                format!(
                    " By the utilisation law a request costs {} of processors{most}.",
                    time(demand)
                )
            });
            let words = format!(
                "{} are the bottleneck: busy for {} of the time at {:.1} requests/s.{demand}",
                capital(&busy.name),
                percent(busy.utilisation),
                bottleneck.completed_per_s
            );
            say(text, &words);
        }
        None => {
            let used = bottleneck.resources.first().map_or(String::new(), |most| {
                format!(": the most used are {}, busy for {}", most.name, percent(most.utilisation))
            });
            let longest = bottleneck.longest_phase.map_or(String::new(), |(phase, share)| {
                format!(" {} of a request's time is in the phase {phase}.", percent(share))
            });
            say(text, &format!("No processor is{used}.{longest}"));
        }
    }
    *text += &facts(bottleneck, analysis).text();
}

/// What the bottleneck follows from.
fn facts(bottleneck: &Bottleneck, analysis: &Analysis) -> Table {
    let mut facts = Table::new(["", ""]).words(&[1]);
    let mut fact = |name: &str, value: String| facts.row([format!("  {name}"), value]);
    for resource in &bottleneck.resources {
        fact(&resource.name, percent(resource.utilisation));
    }
    if bottleneck.admission_queue > 0.0 {
        fact("admission queue, mean", format!("{:.1} connections", bottleneck.admission_queue));
    }
    if let Some(refused) = bottleneck.refused_share {
        fact("connections refused by the gate", percent(refused));
    }
    if let Some(full) = bottleneck.full_share {
        fact("handshakes that are full", percent(full));
    }
    for process in &analysis.processes {
        let (role, used) = (process.role, &process.resources);
        if let Some(wait) = used.run_queue_wait {
            fact(&format!("{role}: threads waiting for a processor, mean"), format!("{wait:.2}"));
        }
        if let Some(queue) = used.accept_queue {
            let most = used.accept_queue_most.unwrap_or(0);
            fact(&format!("{role}: accept queue, mean and most"), format!("{queue:.1}, {most}"));
        }
        if let Some(throttled) = used.throttled.filter(|share| *share > 0.001) {
            fact(&format!("{role}: stopped by the quota of its group"), percent(throttled));
        }
    }
    if let Some(first) = analysis.processes.first() {
        let machine = &first.resources;
        if let Some(running) = machine.running {
            fact("tasks that run or wait for a processor, mean", format!("{running:.1}"));
        }
        match machine.pressure_cpu {
            Some(pressure) => fact("time in which tasks waited for a processor", percent(pressure)),
            None => fact("pressure stall information", "not reported by this kernel".to_owned()),
        }
        if let Some(overflows) = machine.listen_overflows.filter(|count| *count > 0) {
            fact("connections dropped from full accept queues", overflows.to_string());
        }
        if let Some(again) = machine.retransmitted.filter(|count| *count > 0) {
            fact("TCP segments sent again", again.to_string());
        }
    }
    facts
}

fn one_more_processor(text: &mut String, bottleneck: &Bottleneck) {
    heading(text, "One more processor");
    let words = match bottleneck.estimate {
        Some(estimate) => format!(
            "An estimate: at most {:+.0} % throughput with {} in place of {} processors, if nothing \
             else becomes the bottleneck (utilisation law); {:+.0} % with a serial part of 14 %, that \
             of the servlet container in Guitart et al. 2007 (Amdahl's law). It moves the knee, and \
             does not remove it.",
            100.0 * (estimate.most - 1.0),
            hundredths(estimate.processors + 1.0),
            hundredths(estimate.processors),
            100.0 * (estimate.with_serial_part - 1.0)
        ),
        None => "Little: the processors have time left.".to_owned(),
    };
    say(text, &words);
}

/// Rounded to two places, so that it is written without more of them.
fn hundredths(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

fn tracing_cost(text: &mut String, analysis: &Analysis) {
    let costs = analysis.processes.iter().filter_map(|process| {
        let share = percent(process.tracing_share?);
        Some(format!("{} {:.2} s ({share} of its CPU time)", process.role, process.tracing_cpu_s?))
    });
    let costs: Vec<String> = costs.collect();
    if !costs.is_empty() {
        heading(text, &format!("Tracing took: {}", costs.join(", ")));
    }
}
