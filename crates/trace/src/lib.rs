//! Traces through all levels: what every connection and request of the gate, the site and the
//! load generator was doing at each time, and beside it what the machine did.
//!
//! A process that traces ([`Tracing`]) writes one file. A [`Line`] records the phases of one
//! connection, one after another without gaps, so that they add up to its life. Its records
//! go to a buffer of the thread and from there to a thread that writes them. A record for
//! which there is no room is dropped and counted; nothing waits for the disk.
//!
//! [`Trace::read`] reads the files of several processes of one machine on its one monotonic
//! clock. [`analysis`] answers in figures, and [`export`] writes for Perfetto and Paraver.
//!
//! Folders, from bottom to top: the `format`, then `write` and `read`, then [`analysis`] and
//! [`export`]. The crate is above `host`, which asks the kernel, and below gate, site and load
//! generator, which trace.

pub mod analysis;
mod context;
pub mod export;
mod format;
mod phase;
mod read;
mod write;

pub use context::{Context, FIELD};
pub use format::VERSION;
pub use format::header::{Header, Role};
pub use format::metric::Metric;
pub use format::record::{Ending, Line as LineRecord, Sample, Step, decode_block};
pub use phase::{Outcome, Phase};
pub use read::{Error as ReadError, MOST_LINES, Process, Trace};
pub use write::line::{Line, Traced, during, enter, finish_at_pause, request, retag, with_line};
pub use write::thread::Attached;
pub use write::tracing::{Handle, Options, StartError, Summary, Tracing};
