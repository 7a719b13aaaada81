//! The records of a block.

use super::metric::Metric;
use super::number::{Bytes, write, write_signed};
use crate::context::Context;
use crate::phase::{Outcome, Phase};

/// Time spent in one phase.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The phase.
    pub phase: Phase,
    /// Its duration, nanoseconds.
    pub took_ns: u64,
    /// CPU time of the thread in it, nanoseconds; 0 where the line is not measured.
    pub cpu_ns: u64,
}

/// A part of a connection: phases one after another without gaps. `S` are its steps: owned where
/// it is read, borrowed where it is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Line<S = Vec<Step>> {
    /// Number of the connection on its thread.
    pub connection: u64,
    /// Number of the request on its connection, from 1; 0 before the first.
    pub request: u32,
    /// The monotonic clock at the beginning of the first step, nanoseconds.
    pub start_ns: u64,
    /// CPU time was measured.
    pub measured: bool,
    /// How the connection ended, if it did with this record.
    pub outcome: Outcome,
    /// Status of the response; 0 for none.
    pub status: u16,
    /// The context of the request.
    pub context: Option<Context>,
    /// The phases.
    pub steps: S,
}

impl<S> Line<S> {
    /// The same with these steps.
    pub(crate) fn with_steps<T>(&self, steps: T) -> Line<T> {
        let Self { connection, request, start_ns, measured, outcome, status, context, .. } = *self;
        Line { connection, request, start_ns, measured, outcome, status, context, steps }
    }
}

impl<S: AsRef<[Step]>> Line<S> {
    /// Duration of all steps, nanoseconds.
    pub fn took_ns(&self) -> u64 {
        let steps = self.steps.as_ref().iter();
        steps.fold(0, |sum, step| sum.saturating_add(step.took_ns))
    }

    /// Appends the record; times are relative to the base of its block.
    pub(crate) fn write(&self, out: &mut Vec<u8>, base_ns: u64) {
        out.push(LINE);
        write(out, self.connection);
        write(out, self.request.into());
        write_signed(out, self.start_ns.wrapping_sub(base_ns) as i64);
        let context = if self.context.is_some() { HAS_CONTEXT } else { 0 };
        out.push(context | if self.measured { MEASURED } else { 0 });
        out.push(self.outcome as u8);
        write(out, self.status.into());
        if let Some(context) = &self.context {
            out.extend_from_slice(&context.trace.to_le_bytes());
            out.extend_from_slice(&context.parent.to_le_bytes());
            out.extend_from_slice(&context.span.to_le_bytes());
        }
        let steps = self.steps.as_ref();
        write(out, steps.len() as u64);
        for step in steps {
            out.push(step.phase as u8);
            write(out, step.took_ns);
            if self.measured {
                write(out, step.cpu_ns);
            }
        }
    }
}

/// Resources at one time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Sample {
    /// The monotonic clock, nanoseconds.
    pub at_ns: u64,
    /// Values, each with the index of its processor or port, 0 for those that have none.
    pub values: Vec<(Metric, u32, u64)>,
}

/// What tracing itself took; the last record of a file that was ended in order.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Ending {
    /// Records that were written, without this one.
    pub records: u64,
    /// Records that were dropped.
    pub dropped: u64,
    /// CPU time of the thread that wrote and sampled, nanoseconds.
    pub writer_cpu_ns: u64,
    /// CPU time of recording on the traced threads, estimated, nanoseconds.
    pub recording_cpu_ns: u64,
    /// CPU time of the whole process while it traced, nanoseconds.
    pub process_cpu_ns: u64,
}

/// A record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// A part of a connection.
    Line(Line),
    /// Resources.
    Sample(Sample),
    /// So many records of this thread were dropped before this one.
    Dropped(u64),
    /// The end.
    Ending(Ending),
}

const LINE: u8 = 1;
const SAMPLE: u8 = 2;
const DROPPED: u8 = 3;
const ENDING: u8 = 4;

const HAS_CONTEXT: u8 = 1;
const MEASURED: u8 = 2;

/// Most steps of a line, and most values of a sample, that are read.
const MOST: u64 = 4096;

impl Record {
    /// Appends the record; times are relative to the base of its block.
    pub fn write(&self, out: &mut Vec<u8>, base_ns: u64) {
        match self {
            Self::Line(line) => line.write(out, base_ns),
            Self::Sample(sample) => {
                out.push(SAMPLE);
                write_signed(out, sample.at_ns.wrapping_sub(base_ns) as i64);
                write(out, sample.values.len() as u64);
                for (metric, index, value) in &sample.values {
                    out.push(*metric as u8);
                    write(out, (*index).into());
                    write(out, *value);
                }
            }
            Self::Dropped(count) => {
                out.push(DROPPED);
                write(out, *count);
            }
            Self::Ending(ending) => {
                out.push(ENDING);
                for number in [
                    ending.records,
                    ending.dropped,
                    ending.writer_cpu_ns,
                    ending.recording_cpu_ns,
                    ending.process_cpu_ns,
                ] {
                    write(out, number);
                }
            }
        }
    }

    fn read(bytes: &mut Bytes<'_>, base_ns: u64) -> Option<Self> {
        let at = |delta: i64| base_ns.wrapping_add(delta as u64);
        Some(match bytes.byte()? {
            LINE => {
                let connection = bytes.number()?;
                let request = u32::try_from(bytes.number()?).ok()?;
                let start_ns = at(bytes.signed()?);
                let flags = bytes.byte()?;
                if flags & !(HAS_CONTEXT | MEASURED) != 0 {
                    return None;
                }
                let measured = flags & MEASURED != 0;
                let outcome = Outcome::of(bytes.byte()?)?;
                let status = u16::try_from(bytes.number()?).ok()?;
                let context = match flags & HAS_CONTEXT {
                    0 => None,
                    _ => Some(Context {
                        trace: u128::from_le_bytes(bytes.take()?),
                        parent: u64::from_le_bytes(bytes.take()?),
                        span: u64::from_le_bytes(bytes.take()?),
                    }),
                };
                let count = bytes.number().filter(|count| *count <= MOST)?;
                let mut steps = Vec::with_capacity(count as usize);
                for _ in 0..count {
                    let phase = Phase::of(bytes.byte()?)?;
                    let took_ns = bytes.number()?;
                    let cpu_ns = if measured { bytes.number()? } else { 0 };
                    steps.push(Step { phase, took_ns, cpu_ns });
                }
                let line = Line {
                    connection,
                    request,
                    start_ns,
                    measured,
                    outcome,
                    status,
                    context,
                    steps,
                };
                Self::Line(line)
            }
            SAMPLE => {
                let at_ns = at(bytes.signed()?);
                let count = bytes.number().filter(|count| *count <= MOST)?;
                let mut values = Vec::with_capacity(count as usize);
                for _ in 0..count {
                    let metric = Metric::of(bytes.byte()?)?;
                    let index = u32::try_from(bytes.number()?).ok()?;
                    values.push((metric, index, bytes.number()?));
                }
                Self::Sample(Sample { at_ns, values })
            }
            DROPPED => Self::Dropped(bytes.number()?),
            ENDING => Self::Ending(Ending {
                records: bytes.number()?,
                dropped: bytes.number()?,
                writer_cpu_ns: bytes.number()?,
                recording_cpu_ns: bytes.number()?,
                process_cpu_ns: bytes.number()?,
            }),
            _ => return None,
        })
    }
}

/// Reads the records of a block, as far as they are whole. Returns whether all of them were.
pub fn decode_block(records: &[u8], base_ns: u64, mut each: impl FnMut(Record)) -> bool {
    let mut bytes = Bytes(records);
    while !bytes.0.is_empty() {
        match Record::read(&mut bytes, base_ns) {
            Some(record) => each(record),
            None => return false,
        }
    }
    true
}

#[cfg(test)]
pub mod tests {
    use super::*;
    use proptest::prelude::*;

    pub fn line() -> impl Strategy<Value = Line> {
        let steps =
            prop::collection::vec((0..Phase::ALL.len() as u8, any::<u64>(), any::<u64>()), 0..20);
        let ids = (any::<u64>(), any::<u32>(), any::<u64>(), any::<u16>());
        let context = prop::option::of((any::<u128>(), any::<u64>(), any::<u64>()));
        (ids, any::<bool>(), 0..5u8, context, steps).prop_map(
            |((connection, request, start_ns, status), measured, outcome, context, steps)| Line {
                connection,
                request,
                start_ns,
                measured,
                outcome: Outcome::of(outcome).unwrap(),
                status,
                context: context.map(|(trace, parent, span)| Context { trace, parent, span }),
                steps: steps
                    .into_iter()
                    .map(|(phase, took_ns, cpu_ns)| Step {
                        phase: Phase::of(phase).unwrap(),
                        took_ns,
                        cpu_ns: if measured { cpu_ns } else { 0 },
                    })
                    .collect(),
            },
        )
    }

    fn record() -> impl Strategy<Value = Record> {
        let values =
            prop::collection::vec((0..Metric::ALL.len() as u8, any::<u32>(), any::<u64>()), 0..20);
        let sample = (any::<u64>(), values).prop_map(|(at_ns, values)| {
            let value = |(metric, index, value)| (Metric::of(metric).unwrap(), index, value);
            Record::Sample(Sample { at_ns, values: values.into_iter().map(value).collect() })
        });
        let ending = any::<[u64; 5]>().prop_map(
            |[records, dropped, writer_cpu_ns, recording_cpu_ns, process_cpu_ns]| {
                Record::Ending(Ending {
                    records,
                    dropped,
                    writer_cpu_ns,
                    recording_cpu_ns,
                    process_cpu_ns,
                })
            },
        );
        prop_oneof![
            line().prop_map(Record::Line),
            sample,
            any::<u64>().prop_map(Record::Dropped),
            ending
        ]
    }

    proptest! {
        #[test]
        fn what_is_written_is_read(records in prop::collection::vec(record(), 0..20), base: u64) {
            let mut out = Vec::new();
            records.iter().for_each(|record| record.write(&mut out, base));
            let mut read = Vec::new();
            prop_assert!(decode_block(&out, base, |record| read.push(record)));
            prop_assert_eq!(read, records);
        }

        #[test]
        fn a_cut_block_gives_the_records_before_the_cut(
            records in prop::collection::vec(record(), 1..8), base: u64, cut: prop::sample::Index,
        ) {
            let (mut out, mut ends) = (Vec::new(), Vec::new());
            for record in &records {
                record.write(&mut out, base);
                ends.push(out.len());
            }
            let cut = cut.index(out.len());
            let whole = ends.iter().filter(|end| **end <= cut).count();
            let mut read = Vec::new();
            let all = decode_block(&out[..cut], base, |record| read.push(record));
            prop_assert_eq!(all, cut == 0 || ends.contains(&cut));
            prop_assert_eq!(read, &records[..whole]);
        }

        #[test]
        fn no_bytes_panic(bytes in prop::collection::vec(any::<u8>(), 0..200), base: u64) {
            decode_block(&bytes, base, |_| ());
        }
    }

    #[test]
    fn a_request_takes_a_few_dozen_bytes() {
        let step = |phase, took_ns| Step { phase, took_ns, cpu_ns: 0 };
        let line = Line {
            connection: 1000,
            request: 3,
            start_ns: 5_000_000,
            measured: false,
            outcome: Outcome::Open,
            status: 200,
            context: None,
            steps: vec![
                step(Phase::Idle, 7_000_000_000),
                step(Phase::ReadRequest, 30_000),
                step(Phase::Service, 20_000),
                step(Phase::Upstream, 900_000),
                step(Phase::Respond, 40_000),
            ],
        };
        let mut out = Vec::new();
        Record::Line(line).write(&mut out, 0);
        assert!(out.len() <= 40, "{}", out.len());
    }
}
