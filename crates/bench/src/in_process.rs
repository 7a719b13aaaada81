//! Costs of a fraction of a microsecond, which no measurement from outside can
//! resolve: measured in this process, on the servers' core.

use tidegate_stats::Summary;

/// Calls in one batch.
const BATCH: u32 = 20_000;

/// Runs `work` pinned to one processor, then pins the thread to `home`.
///
/// # Errors
/// A processor is not allowed, or `work` failed.
pub fn pinned<T>(
    core: usize,
    home: usize,
    work: impl FnOnce() -> anyhow::Result<T>,
) -> anyhow::Result<T> {
    tidegate_host::Cores::one(core)?.pin_this_thread()?;
    let result = work();
    tidegate_host::Cores::one(home)?.pin_this_thread()?;
    result
}

/// CPU nanoseconds per call, from as many batches as there are rounds.
///
/// # Errors
/// A call failed.
pub fn nanoseconds(
    rounds: u32,
    mut call: impl FnMut() -> anyhow::Result<()>,
) -> anyhow::Result<Summary> {
    let mut batches = Vec::new();
    for _ in 0..=rounds {
        let start = tidegate_host::cpu_clock::of_this_thread();
        for _ in 0..BATCH {
            call()?;
        }
        let spent = tidegate_host::cpu_clock::of_this_thread().saturating_sub(start);
        batches.push(spent.as_nanos() as f64 / f64::from(BATCH));
    }
    // The first batch warms caches and allocator.
    Ok(Summary::of(&batches[1..]).expect("there is at least one round"))
}
