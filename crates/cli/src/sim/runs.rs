//! Runs everything, on as many threads as there are processors.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use tidegate_sim::{Scenario, evaluate};

use super::progress::Progress;
use super::results::Result;

/// Every policy under every scenario, with seeds 1 to `seeds`; in the order of
/// scenarios, then policies.
pub fn simulate(
    scenarios: &[Scenario],
    policies: &[&'static str],
    seeds: u64,
    progress: &Progress,
) -> Vec<Result> {
    let tasks: Vec<(usize, usize)> = (0..scenarios.len())
        .flat_map(|scenario| (0..policies.len()).map(move |policy| (scenario, policy)))
        .collect();
    let (next, done) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while let Some(task) = tasks.get(next.fetch_add(1, Ordering::Relaxed)) {
                    let (scenario, policy) = (&scenarios[task.0], policies[task.1]);
                    let mut runs =
                        evaluate(scenario, policy, 1..=seeds).expect("policies were looked up");
                    // Only the course is shown; the waits take memory.
                    runs.iter_mut().for_each(|run| run.first.waits_s = Vec::new());
                    let result = Result { scenario: task.0, policy, runs };
                    done.lock().expect("nobody panics with it").push((*task, result));
                    progress.done(&format!("{}, {policy}", scenario.name));
                }
            });
        }
    });
    let mut done = done.into_inner().expect("nobody panics with it");
    done.sort_by_key(|(task, _)| *task);
    done.into_iter().map(|(_, result)| result).collect()
}
