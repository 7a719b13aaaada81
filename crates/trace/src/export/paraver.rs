//! For Paraver: a task for each process and a thread for each connection at a time. Phases are
//! states, requests and resources events, and a request that another process received is a
//! communication.
//!
//! Source: Barcelona Supercomputing Center, "Paraver trace format": the records of `.prv` are
//! `1:cpu:application:task:thread:begin:end:state`,
//! `2:cpu:application:task:thread:time:type:value` and
//! `3:` with the objects, the logical and the physical time of sender and receiver, size and
//! tag. `.pcf` has the names of values, `.row` those of objects.
//! Deviation: connections belong to no processor, so the header names no nodes and the field
//! `cpu` is 0.

use super::lanes::Lanes;
use super::resources::{Resource, name, points};
use crate::phase::Phase;
use crate::read::Trace;
use std::collections::{BTreeMap, HashMap};
use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// The type of event with the number of the request; 0 at its end.
pub const REQUEST: u32 = 77_000_001;
/// The type of event with the status of a response.
pub const STATUS: u32 = 77_000_002;
/// The types of events with resources follow: a thousand for each metric.
pub const RESOURCES: u32 = 77_100_000;

/// An object of Paraver: task and thread, both from 1.
type Object = (usize, u32);

#[derive(Clone, Copy)]
enum Record {
    State { at: Object, end: u64, state: u8 },
    Event { at: Object, kind: u32, value: u64 },
    Communication { from: Object, to: Object, received: u64, tag: u64 },
}

/// Writes `trace.prv`, `trace.pcf` and `trace.row`; the folder is made.
///
/// # Errors
/// They cannot be written.
pub fn write(trace: &Trace, folder: &Path) -> io::Result<()> {
    std::fs::create_dir_all(folder)?;
    let lanes: Vec<Lanes> = trace.processes.iter().map(|p| Lanes::of(&p.lines)).collect();
    let (begin, end) = trace.span_ns().unwrap_or((0, 0));
    let (records, kinds) = records(trace, &lanes, begin);
    let mut out = BufWriter::new(File::create(folder.join("trace.prv"))?);
    out.write_all(head(trace, &lanes, end - begin).as_bytes())?;
    for (time, record) in &records {
        match record {
            Record::State { at: (task, thread), end, state } => {
                writeln!(out, "1:0:1:{task}:{thread}:{time}:{end}:{state}")?;
            }
            Record::Event { at: (task, thread), kind, value } => {
                writeln!(out, "2:0:1:{task}:{thread}:{time}:{kind}:{value}")?;
            }
            Record::Communication { from, to, received, tag } => {
                let ((task, thread), (other, other_thread)) = (from, to);
                writeln!(
                    out,
                    "3:0:1:{task}:{thread}:{time}:{time}:0:1:{other}:{other_thread}:{received}:{received}:1:{tag}"
                )?;
            }
        }
    }
    out.flush()?;
    std::fs::write(folder.join("trace.pcf"), names(&kinds))?;
    std::fs::write(folder.join("trace.row"), objects(trace, &lanes))
}

/// The line before the records.
fn head(trace: &Trace, lanes: &[Lanes], length: u64) -> String {
    let header = trace.processes.first().map(|process| &process.header);
    let date = date(header.map_or(0, |header| header.started_unix_ns / 1_000_000_000));
    let tasks: Vec<String> = lanes.iter().map(|lanes| format!("{}:1", threads(lanes))).collect();
    format!("#Paraver ({date}):{length}_ns:0:1:{}({})\n", lanes.len(), tasks.join(","))
}

/// A task has a thread even where it had no connection: its resources belong to it.
fn threads(lanes: &Lanes) -> u32 {
    lanes.count.max(1)
}

/// `24/11/26 at 18:14`, UTC.
///
/// Source: H. Hinnant, "chrono-compatible low-level date algorithms", civil_from_days.
fn date(unix_s: u64) -> String {
    let (days, minutes) = (unix_s / 86_400, unix_s / 60 % 1_440);
    let shifted = days + 719_468;
    let (era, day_of_era) = (shifted / 146_097, shifted % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1_460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = year_of_era + era * 400 + u64::from(month <= 2);
    let (hour, minute) = (minutes / 60, minutes % 60);
    format!("{day:02}/{month:02}/{:02} at {hour:02}:{minute:02}", year % 100)
}

/// The records in the order of time, and the names of the resources' types.
fn records(
    trace: &Trace,
    lanes: &[Lanes],
    begin: u64,
) -> (Vec<(u64, Record)>, BTreeMap<u32, String>) {
    let mut records = Vec::new();
    // Where a request begins in the process that sends it on, by its span.
    let mut senders: HashMap<u64, (u64, Object)> = HashMap::new();
    let mut receivers = Vec::new();
    for (index, (process, lanes)) in trace.processes.iter().zip(lanes).enumerate() {
        for (line, lane) in process.lines.iter().zip(&lanes.of_line) {
            let at = (index + 1, lane + 1);
            let mut time = line.start_ns.saturating_sub(begin);
            let mut begun = None;
            for step in &line.steps {
                if step.phase.is_of_request() && begun.is_none() {
                    begun = Some(time);
                }
                let end = time.saturating_add(step.took_ns);
                if step.took_ns > 0 {
                    records.push((time, Record::State { at, end, state: step.phase as u8 + 1 }));
                }
                if let (Some(context), Phase::Wait | Phase::Upstream) = (&line.context, step.phase)
                {
                    senders.insert(context.span, (time, at));
                }
                time = end;
            }
            let Some(begun) = begun.filter(|_| line.status > 0) else { continue };
            let request = u64::from(line.request);
            records.push((begun, Record::Event { at, kind: REQUEST, value: request }));
            let status = line.status.into();
            records.push((time, Record::Event { at, kind: STATUS, value: status }));
            records.push((time, Record::Event { at, kind: REQUEST, value: 0 }));
            if let Some(context) = &line.context {
                receivers.push((context.parent, begun, at));
            }
        }
    }
    for (parent, received, to) in receivers {
        if let Some((sent, from)) = senders.get(&parent) {
            let communication =
                Record::Communication { from: *from, to, received, tag: parent >> 1 };
            records.push((*sent, communication));
        }
    }
    let kinds = resources(trace, begin, &mut records);
    records.sort_by_key(|(time, _)| *time);
    (records, kinds)
}

/// Adds the samples. Returns the names of their types.
fn resources(trace: &Trace, begin: u64, records: &mut Vec<(u64, Record)>) -> BTreeMap<u32, String> {
    let mut kinds: BTreeMap<Resource, u32> = BTreeMap::new();
    for (index, process) in trace.processes.iter().enumerate() {
        for point in points(process) {
            let metric = point.resource.0;
            let next = kinds.keys().filter(|(known, _)| *known == metric).count() as u32;
            let number = RESOURCES + metric as u32 * 1000 + next.min(999);
            let kind = *kinds.entry(point.resource).or_insert(number);
            let (at, value) = ((index + 1, 1), point.whole().min(i64::MAX as u64));
            let event = Record::Event { at, kind, value };
            records.push((point.at_ns.saturating_sub(begin), event));
        }
    }
    kinds.into_iter().map(|(resource, kind)| (kind, name(resource, " per second"))).collect()
}

/// The text of `trace.pcf`.
fn names(kinds: &BTreeMap<u32, String>) -> String {
    let mut text = String::from(
        "DEFAULT_OPTIONS\n\nLEVEL               THREAD\nUNITS               NANOSEC\n\
         LOOK_BACK           100\nSPEED               1\nFLAG_ICONS          ENABLED\n\
         NUM_OF_STATE_COLORS 1000\nYMAX_SCALE          37\n\n\nDEFAULT_SEMANTIC\n\n\
         THREAD_FUNC         State As Is\n\n\nSTATES\n0    no connection\n",
    );
    // Writing to a String cannot fail.
    for phase in Phase::ALL {
        let _ = writeln!(text, "{}    {}", phase as u8 + 1, phase.words());
    }
    text.push_str("\n\nSTATES_COLOR\n0    {255,255,255}\n");
    for (phase, (red, green, blue)) in Phase::ALL.iter().zip(COLOURS) {
        let _ = writeln!(text, "{}    {{{red},{green},{blue}}}", *phase as u8 + 1);
    }
    let _ = write!(text, "\n\nEVENT_TYPE\n0    {REQUEST}    request\n\n");
    let _ = write!(text, "\nEVENT_TYPE\n0    {STATUS}    status of the response\n\n");
    for (kind, name) in kinds {
        let _ = write!(text, "\nEVENT_TYPE\n0    {kind}    {name}\n\n");
    }
    text
}

/// The colours of the phases: greens for the customer's time, blues for waits before the
/// handshake, reds for handshakes, yellows and browns for service.
const COLOURS: [(u8, u8, u8); Phase::ALL.len()] = [
    (160, 200, 240),
    (110, 170, 230),
    (40, 90, 180),
    (200, 30, 30),
    (240, 140, 130),
    (210, 235, 210),
    (250, 220, 130),
    (240, 170, 40),
    (170, 110, 60),
    (120, 70, 130),
    (240, 230, 90),
    (190, 220, 190),
    (170, 170, 170),
    (90, 150, 220),
    (230, 150, 60),
    (240, 225, 110),
    (170, 215, 170),
];

/// The text of `trace.row`.
fn objects(trace: &Trace, lanes: &[Lanes]) -> String {
    let roles = trace.processes.iter().map(|process| process.header.role);
    let threads: Vec<String> = roles
        .clone()
        .zip(lanes)
        .flat_map(|(role, lanes)| {
            (1..=threads(lanes)).map(move |n| format!("{role} connection {n}"))
        })
        .collect();
    let tasks: Vec<String> = trace
        .processes
        .iter()
        .map(|process| format!("{} (process {})", process.header.role, process.header.pid))
        .collect();
    let level = |name: &str, names: &[String]| {
        format!("LEVEL {name} SIZE {}\n{}\n", names.len(), names.join("\n"))
    };
    format!("{}\n{}", level("TASK", &tasks), level("THREAD", &threads))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_by_hand() {
        assert_eq!(date(0), "01/01/70 at 00:00");
        assert_eq!(date(951_782_399), "28/02/00 at 23:59");
        assert_eq!(date(951_782_400), "29/02/00 at 00:00");
        assert_eq!(date(1_795_544_064), "24/11/26 at 18:14");
    }
}
