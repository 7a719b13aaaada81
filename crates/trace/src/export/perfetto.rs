//! For Perfetto (<https://ui.perfetto.dev>): a process track for each process, below it a track
//! for each connection at a time, with a slice for every phase and around those of a request
//! one for the request, and a counter track for each resource. Arrows lead from a request to
//! the same request in the next process.

use super::lanes::Lanes;
use super::proto::{
    Clock, ClockSnapshot, CounterDescriptor, DebugAnnotation, ProcessDescriptor, TracePacket,
    TrackDescriptor, TrackEvent, Value,
};
use super::resources::{Resource, name, points};
use crate::format::record::Line;
use crate::read::{Process, Trace};
use prost::Message;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::path::Path;

/// Built-in clocks, of `builtin_clock.proto`.
const REALTIME: u32 = 1;
const MONOTONIC: u32 = 3;
/// Types of events, of `track_event.proto`.
const BEGIN: u32 = 1;
const END: u32 = 2;
const COUNTER: u32 = 4;
/// The first packet of the sequence.
const CLEARED: u32 = 1;

/// Writes the file.
///
/// # Errors
/// It cannot be written.
pub fn write(trace: &Trace, file: &Path) -> io::Result<()> {
    let mut out = Packets { out: BufWriter::new(File::create(file)?), first: true };
    out.clocks(trace)?;
    for (index, process) in trace.processes.iter().enumerate() {
        out.process(process, (index as u64 + 1) << 40)?;
    }
    out.out.flush()
}

struct Packets<W> {
    out: W,
    first: bool,
}

impl<W: Write> Packets<W> {
    /// Writes a packet: the field `packet` of the message `Trace`.
    fn packet(&mut self, packet: TracePacket) -> io::Result<()> {
        let flags = std::mem::take(&mut self.first).then_some(CLEARED);
        let packet = TracePacket {
            trusted_packet_sequence_id: Some(1),
            sequence_flags: flags,
            timestamp_clock_id: packet.timestamp.map(|_| MONOTONIC),
            ..packet
        };
        let mut bytes = vec![1 << 3 | 2];
        packet.encode_length_delimited(&mut bytes).map_err(io::Error::other)?;
        self.out.write_all(&bytes)
    }

    /// The wall clock at a time of the monotonic clock.
    fn clocks(&mut self, trace: &Trace) -> io::Result<()> {
        let Some(header) = trace.processes.first().map(|process| &process.header) else {
            return Ok(());
        };
        let clock = |clock_id, time| Clock { clock_id: Some(clock_id), timestamp: Some(time) };
        let clocks =
            vec![clock(MONOTONIC, header.started_ns), clock(REALTIME, header.started_unix_ns)];
        let snapshot = ClockSnapshot { clocks, primary_trace_clock: Some(MONOTONIC) };
        self.packet(TracePacket { clock_snapshot: Some(snapshot), ..Default::default() })
    }

    fn track(&mut self, track: TrackDescriptor) -> io::Result<()> {
        self.packet(TracePacket { track_descriptor: Some(track), ..Default::default() })
    }

    fn event(&mut self, at_ns: u64, event: TrackEvent) -> io::Result<()> {
        let timestamp = Some(at_ns);
        self.packet(TracePacket { timestamp, track_event: Some(event), ..Default::default() })
    }

    fn process(&mut self, process: &Process, uuid: u64) -> io::Result<()> {
        let header = &process.header;
        let descriptor = ProcessDescriptor {
            pid: Some(header.pid as i32),
            process_name: Some(format!("tidegate {}", header.role)),
        };
        self.track(TrackDescriptor {
            uuid: Some(uuid),
            process: Some(descriptor),
            ..Default::default()
        })?;
        let lanes = Lanes::of(&process.lines);
        for lane in 0..lanes.count {
            self.track(TrackDescriptor {
                uuid: Some(uuid | (u64::from(lane) + 1)),
                parent_uuid: Some(uuid),
                name: Some(format!("connection {}", lane + 1)),
                ..Default::default()
            })?;
        }
        for (line, lane) in process.lines.iter().zip(&lanes.of_line) {
            self.line(line, uuid | (u64::from(*lane) + 1))?;
        }
        self.counters(process, uuid)
    }

    /// The slices of a line.
    fn line(&mut self, line: &Line, track: u64) -> io::Result<()> {
        let on = |kind, name: Option<&str>| TrackEvent {
            kind: Some(kind),
            track_uuid: Some(track),
            name: name.map(str::to_owned),
            ..Default::default()
        };
        let mut at = line.start_ns;
        // The slice of the request is around the phases in which it is under way.
        let of_request = |at: usize| line.steps.get(at).is_some_and(|s| s.phase.is_of_request());
        let mut in_request = false;
        for (index, step) in line.steps.iter().enumerate() {
            if of_request(index) && !in_request {
                in_request = true;
                self.event(at, request(line, track))?;
            }
            let mut begin = on(BEGIN, Some(step.phase.words()));
            if line.measured {
                begin.debug_annotations.push(number("cpu_ns", step.cpu_ns));
            }
            self.event(at, begin)?;
            at = at.saturating_add(step.took_ns);
            self.event(at, on(END, None))?;
            if in_request && !of_request(index + 1) {
                in_request = false;
                self.event(at, on(END, None))?;
            }
        }
        Ok(())
    }

    fn counters(&mut self, process: &Process, uuid: u64) -> io::Result<()> {
        let mut tracks: BTreeMap<Resource, u64> = BTreeMap::new();
        for point in points(process) {
            let next = uuid | 1 << 32 | tracks.len() as u64;
            let known = tracks.contains_key(&point.resource);
            let track = *tracks.entry(point.resource).or_insert(next);
            if !known {
                let unit = if point.resource.0.is_counter() { "/s" } else { "" };
                self.track(TrackDescriptor {
                    uuid: Some(track),
                    parent_uuid: Some(uuid),
                    name: Some(name(point.resource, "/s")),
                    counter: Some(CounterDescriptor { unit_name: Some(unit.to_owned()) }),
                    ..Default::default()
                })?;
            }
            let event = TrackEvent {
                kind: Some(COUNTER),
                track_uuid: Some(track),
                double_counter_value: Some(point.shown()),
                ..Default::default()
            };
            self.event(point.at_ns, event)?;
        }
        Ok(())
    }
}

/// The beginning of a request.
fn request(line: &Line, track: u64) -> TrackEvent {
    let mut event = TrackEvent {
        kind: Some(BEGIN),
        track_uuid: Some(track),
        name: Some(format!("request {}", line.request)),
        debug_annotations: vec![number("status", line.status.into())],
        ..Default::default()
    };
    if let Some(context) = &line.context {
        let trace = format!("{:032x}", context.trace);
        event.debug_annotations.push(DebugAnnotation {
            name: Some("trace_id".to_owned()),
            value: Some(Value::Text(trace)),
        });
        // The span begins an arrow to the next process, and ends that from the former one.
        event.flow_ids.push(context.span);
        event.terminating_flow_ids.extend((context.parent != 0).then_some(context.parent));
    }
    event
}

fn number(name: &str, value: u64) -> DebugAnnotation {
    DebugAnnotation { name: Some(name.to_owned()), value: Some(Value::Number(value)) }
}
