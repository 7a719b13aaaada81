//! Works off the outbox of deposits, in the one process that has the lease. All of it is safe to
//! do twice, so a process whose lease has passed on does no harm.

use std::collections::HashMap;
use std::time::{Duration, Instant};
use tidegate_sitekit::log_once;

use tokio::task::{self, JoinSet};
use tokio::time::sleep;

use super::processor::Processor;
use crate::error::{Error, Result};
use crate::protocol::back::{Right, TakeLease};
use crate::protocol::deposits::back::ReadWishes;
use crate::rpc::call;
use tidegate_sitekit::link::Client;

/// Entries that are worked on at once: a processor that is slow holds up no more.
const AT_ONCE: usize = 16;
/// How often the outbox is looked at, beside being told.
const LOOK: Duration = Duration::from_millis(500);
/// How long the lease lasts, and after how long it is renewed.
const LEASE: Duration = Duration::from_secs(3);
const RENEWED: Duration = Duration::from_secs(1);

/// The worker of this process.
pub struct Worker {
    data: Client,
    processor: Processor,
    /// The name of this process.
    holder: String,
    /// When the lease was taken or renewed last.
    held: Option<Instant>,
}

impl Worker {
    /// A worker without the lease yet.
    pub fn new(data: Client, processor: Processor) -> Self {
        let holder = format!("{:032x}", rand::random::<u128>());
        Self { data, processor, holder, held: None }
    }

    /// Works until it is dropped.
    pub async fn run(mut self) {
        let processor = self.processor.clone();
        let mut under_way = JoinSet::new();
        let mut numbers = HashMap::new();
        loop {
            if let Err(error) = self.turn(&mut under_way, &mut numbers).await {
                self.held = None;
                log(&error);
            }
            tokio::select! {
                () = processor.woken() => {}
                Some(ended) = under_way.join_next_with_id() => {
                    numbers.remove(&task_of(&ended));
                }
                () = sleep(LOOK) => {}
            }
            while let Some(ended) = under_way.try_join_next_with_id() {
                numbers.remove(&task_of(&ended));
            }
        }
    }

    /// Begins what is due and not under way.
    async fn turn(
        &mut self,
        under_way: &mut JoinSet<()>,
        numbers: &mut HashMap<task::Id, i64>,
    ) -> Result<()> {
        if !self.has_lease().await? || under_way.len() >= AT_ONCE {
            return Ok(());
        }
        // Those that are under way may be the oldest.
        let most = i64::try_from(2 * AT_ONCE).expect("a small number");
        let due = call(&self.data, &ReadWishes { most }).await?.wishes;
        for wish in due {
            if under_way.len() >= AT_ONCE {
                break;
            }
            if numbers.values().all(|number| *number != wish.number) {
                let (number, processor) = (wish.number, self.processor.clone());
                let task = under_way.spawn(async move {
                    if let Err(error) = processor.work(&wish).await {
                        log(&error);
                        // It is due still: the processor is not asked over and over.
                        sleep(RENEWED).await;
                    }
                });
                numbers.insert(task.id(), number);
            }
        }
        Ok(())
    }

    async fn has_lease(&mut self) -> Result<bool> {
        if self.held.is_some_and(|at| at.elapsed() < RENEWED) {
            return Ok(true);
        }
        let for_ms = u64::try_from(LEASE.as_millis()).expect("a few seconds");
        let take = TakeLease { right: Right::Deposits, holder: self.holder.clone(), for_ms };
        let begun = Instant::now();
        self.held = call(&self.data, &take).await?.term.map(|_| begun);
        Ok(self.held.is_some())
    }
}

/// The task that has ended, whichever way.
fn task_of(ended: &std::result::Result<(task::Id, ()), task::JoinError>) -> task::Id {
    match ended {
        Ok((id, ())) => *id,
        Err(error) => error.id(),
    }
}

fn log(error: &Error) {
    let cause = match error {
        Error::Refused(problem) => format!("{}: {}", problem.what, problem.why.join(" ")),
        Error::Outage(outage) => outage.cause.clone(),
    };
    log_once!(warn by &cause, cause, "deposits wait for the data tier");
}
