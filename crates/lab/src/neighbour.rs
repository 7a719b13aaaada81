//! A neighbour on the server's processor: another program that burns it.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidegate_host::Cores;
use tidegate_host::cpu_clock::of_this_thread as thread_cpu;

/// Burns processors until dropped.
pub struct Neighbour {
    per_mille: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Threads. A fair scheduler gives a program no more than its threads' share:
/// beside site and gate, four get two thirds of a processor if they want it.
const THREADS: u32 = 4;
/// Length of a stretch of burning or rest.
const STRETCH: Duration = Duration::from_micros(500);
/// What a thread that was kept from burning may make up for.
const OWED: Duration = Duration::from_millis(5);

impl Neighbour {
    /// A quiet one on these processors.
    ///
    /// # Errors
    /// When its threads cannot be started.
    pub fn move_in(cores: &Cores) -> anyhow::Result<Self> {
        let (per_mille, ended) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let mut neighbour = Self { per_mille, ended, threads: Vec::new() };
        for _ in 0..THREADS {
            let (cores, per_mille, ended) =
                (cores.clone(), neighbour.per_mille.clone(), neighbour.ended.clone());
            let thread = std::thread::Builder::new().name("neighbour".into()).spawn(move || {
                if cores.pin_this_thread().is_ok() {
                    live(&per_mille, &ended);
                }
            })?;
            neighbour.threads.push(thread);
        }
        Ok(neighbour)
    }

    /// From now on burns so many processors, 0 to 1.
    pub fn burn(&self, cpus: f64) {
        self.per_mille.store((cpus.clamp(0.0, 1.0) * 1000.0) as u32, Ordering::Relaxed);
    }
}

/// A thread's part: its CPU time follows its share of the time that passes.
fn live(per_mille: &AtomicU32, ended: &AtomicBool) {
    let mut last = Instant::now();
    let mut owed = Duration::ZERO;
    while !ended.load(Ordering::Relaxed) {
        let share = f64::from(per_mille.load(Ordering::Relaxed)) / 1000.0 / f64::from(THREADS);
        let now = Instant::now();
        owed = (owed + (now - last).mul_f64(share)).min(OWED);
        last = now;
        if owed < STRETCH {
            std::thread::sleep(if share > 0.0 { STRETCH } else { 20 * STRETCH });
            continue;
        }
        let begun = thread_cpu();
        while thread_cpu() - begun < STRETCH {
            (0..100).for_each(|_| spin_loop());
        }
        owed = owed.saturating_sub(thread_cpu() - begun);
    }
}

impl Drop for Neighbour {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}
