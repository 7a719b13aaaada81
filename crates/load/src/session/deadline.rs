//! A reusable timeout that is cheap while it does not expire.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::time::{Instant, Sleep, sleep_until};

/// A timer that is kept from one deadline to the next. It is set again only when it has
/// fired or would fire too late, so a deadline that is met costs nothing. It belongs to the
/// task that uses it first.
#[derive(Debug, Default)]
pub(crate) struct Deadline {
    timer: Option<Pin<Box<Sleep>>>,
}

impl Deadline {
    /// The output of the future, or `None` if it is not ready by then.
    pub(crate) async fn until<F: Future>(
        &mut self,
        at: std::time::Instant,
        mut what: Pin<&mut F>,
    ) -> Option<F::Output> {
        std::future::poll_fn(|cx| match what.as_mut().poll(cx) {
            Poll::Ready(result) => Poll::Ready(Some(result)),
            Poll::Pending => self.poll(cx, at.into()).map(|()| None),
        })
        .await
    }

    fn poll(&mut self, cx: &mut Context<'_>, at: Instant) -> Poll<()> {
        loop {
            let timer = match &mut self.timer {
                Some(timer) if timer.is_elapsed() && Instant::now() >= at => {
                    return Poll::Ready(());
                }
                Some(timer) if timer.deadline() <= at && !timer.is_elapsed() => {
                    return Poll::Pending;
                }
                Some(timer) => {
                    timer.as_mut().reset(at);
                    timer
                }
                None => self.timer.insert(Box::pin(sleep_until(at))),
            };
            // Without tokio's budget, which when used up would leave it unset.
            if std::pin::pin!(tokio::task::unconstrained(timer.as_mut())).poll(cx).is_pending() {
                return Poll::Pending;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::future::{pending, ready};
    use std::pin::pin;
    use std::time::Duration;

    const MS: Duration = Duration::from_millis(1);

    fn block_on<R>(what: impl Future<Output = R>) -> R {
        tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap().block_on(what)
    }

    /// Waits in vain until then; gives how early it ended, if it did.
    async fn in_vain(deadline: &mut Deadline, at: std::time::Instant) -> Duration {
        assert_eq!(deadline.until(at, pin!(pending::<()>())).await, None);
        at.saturating_duration_since(std::time::Instant::now())
    }

    #[test]
    fn what_is_done_in_time_needs_no_timer() {
        block_on(async {
            let mut deadline = Deadline::default();
            let at = std::time::Instant::now() + 60_000 * MS;
            assert_eq!(deadline.until(at, pin!(ready(1))).await, Some(1));
            assert!(deadline.timer.is_none());
        });
    }

    #[test]
    fn an_old_timer_ends_nothing_early_or_late() {
        block_on(async {
            let mut deadline = Deadline::default();
            let now = std::time::Instant::now();
            let short = async { tokio::time::sleep(2 * MS).await };
            // Set for 5 ms, and done before.
            assert_eq!(deadline.until(now + 5 * MS, pin!(short)).await, Some(()));
            // A later deadline sees the old timer fire.
            assert_eq!(in_vain(&mut deadline, now + 20 * MS).await, Duration::ZERO);
            // One that is past at once.
            assert_eq!(in_vain(&mut deadline, now).await, Duration::ZERO);
            let later = tokio::time::sleep(MS);
            assert_eq!(deadline.until(now + 60_000 * MS, pin!(later)).await, Some(()));
            // An earlier one than the timer is set for.
            let at = std::time::Instant::now() + 5 * MS;
            assert_eq!(in_vain(&mut deadline, at).await, Duration::ZERO);
            assert!(at.elapsed() < 30_000 * MS);
        });
    }

    #[test]
    fn it_rings_for_a_task_that_has_used_up_its_budget() {
        block_on(async {
            let mut deadline = Deadline::default();
            let at = std::time::Instant::now() + 5 * MS;
            let greedy = async {
                loop {
                    // Takes budget at every turn, until there is none.
                    tokio::task::coop::consume_budget().await;
                    if std::time::Instant::now() > at + 60_000 * MS {
                        break;
                    }
                }
            };
            assert_eq!(deadline.until(at, pin!(greedy)).await, None);
        });
    }
}
