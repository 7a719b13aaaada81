//! What the log tells an operator while the gate runs: what the service carries, refusals,
//! malformed messages, failures of the upstream, and a lack of file descriptors. Each kind of line seldom.

use crate::shared::Shared;
use crate::telemetry::capacity_log::CapacityLog;
use crate::telemetry::counters::Totals;
use crate::telemetry::digest::{Counts, Digest, Notice};
use crate::telemetry::labels::End;
use crate::telemetry::seldom::Seldom;
use crate::telemetry::troubles::TroubleLog;
use std::time::{Duration, Instant};
use tidegate_host::open_files;
use tracing::Level;

/// What was told so far.
#[derive(Default)]
pub struct OperatorLog {
    capacity: CapacityLog,
    digest: Digest,
    troubles: TroubleLog,
    shortage: FileShortage,
}

impl OperatorLog {
    /// Writes the lines that are due at a tick.
    pub fn write(&mut self, now: Duration, totals: &Totals, shared: &Shared) {
        if let Some(line) = self.capacity.line(now, || shared.controller().sustainable()) {
            tracing::info!("{line}");
        }
        for notice in self.digest.observe(now, Counts::of(totals)) {
            log(shared, now, &notice);
        }
        self.upstream(now, shared);
        self.shortage.report(totals.ends[End::NoFiles]);
    }
}

impl OperatorLog {
    /// Tells how the upstream fails.
    fn upstream(&mut self, now: Duration, shared: &Shared) {
        let of_requests = shared.cores.iter().flat_map(|core| core.troubles.take());
        let noted = of_requests.chain(shared.upstream.troubles.take()).collect();
        for line in self.troubles.observe(now, noted) {
            tracing::warn!("{line}");
        }
        shared.upstream.set_failures(self.troubles.recent(now));
    }
}

/// Logs at most once a minute how many connections found no file descriptor.
#[derive(Default)]
struct FileShortage {
    seen: u64,
    seldom: Seldom,
}

impl FileShortage {
    /// So many were refused for it since the start.
    fn report(&mut self, refused: u64) {
        let more = refused - std::mem::replace(&mut self.seen, refused);
        if let Some(refused) = self.seldom.count(more, Instant::now()) {
            tracing::warn!(
                refused,
                "connections were refused, because no file descriptor was left: this process may \
                 open {} files; raise the limit (LimitNOFILE=, ulimit -n) or lower \
                 limits.max_connections",
                open_files::limit()
            );
        }
    }
}

/// Writes a line to the log, with what the controller knows about it.
fn log(shared: &Shared, now: Duration, notice: &Notice) {
    let why = notice.is_of_refusing().then(|| shared.controller().status(now).why_not).flatten();
    let why = why.map(|why| format!("; {why}")).unwrap_or_default();
    if notice.level() == Level::WARN {
        tracing::warn!("{notice}{why}");
    } else {
        tracing::info!("{notice}{why}");
    }
}
