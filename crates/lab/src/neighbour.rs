//! A neighbour: load of another program on the server's processor.

use std::hint::spin_loop;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use tidegate_host::Cores;
use tidegate_host::cpu_clock::of_this_thread as thread_cpu;

use crate::error::{Fault, Result};

/// Uses a share of the processors until dropped.
#[derive(Debug)]
pub struct Neighbour {
    per_mille: Arc<AtomicU32>,
    ended: Arc<AtomicBool>,
    threads: Vec<JoinHandle<()>>,
}

/// Threads. A fair scheduler gives a program no more than its threads' share: beside the
/// site and the gate, four threads get up to two thirds of a processor.
const THREADS: u32 = 4;
/// Length of a stretch of work or sleep.
const STRETCH: Duration = Duration::from_micros(500);
/// Most CPU time that a thread which did not get the processor makes up for later.
const DEBT: Duration = Duration::from_millis(5);

impl Neighbour {
    /// A neighbour on these processors that uses none of their time yet.
    ///
    /// # Errors
    /// Its threads cannot be started.
    pub fn start(cores: &Cores) -> Result<Self> {
        let (per_mille, ended) = (Arc::<AtomicU32>::default(), Arc::<AtomicBool>::default());
        let mut neighbour = Self { per_mille, ended, threads: Vec::new() };
        for _ in 0..THREADS {
            let (cores, per_mille, ended) =
                (cores.clone(), neighbour.per_mille.clone(), neighbour.ended.clone());
            let thread = std::thread::Builder::new().name("neighbour".into()).spawn(move || {
                if cores.pin_this_thread().is_ok() {
                    work(&per_mille, &ended);
                }
            });
            neighbour.threads.push(thread.of_machine("cannot start the neighbour")?);
        }
        Ok(neighbour)
    }

    /// Sets the processors that it uses from now on, 0 to 1.
    pub fn set(&self, cpus: f64) {
        self.per_mille.store((cpus.clamp(0.0, 1.0) * 1000.0) as u32, Ordering::Relaxed);
    }
}

/// One thread: its CPU time follows its share of the time that passes.
fn work(per_mille: &AtomicU32, ended: &AtomicBool) {
    let mut last = Instant::now();
    let mut debt = Duration::ZERO;
    while !ended.load(Ordering::Relaxed) {
        let share = f64::from(per_mille.load(Ordering::Relaxed)) / 1000.0 / f64::from(THREADS);
        let now = Instant::now();
        debt = (debt + (now - last).mul_f64(share)).min(DEBT);
        last = now;
        if debt < STRETCH {
            std::thread::sleep(if share > 0.0 { STRETCH } else { 20 * STRETCH });
            continue;
        }
        let began = thread_cpu();
        while thread_cpu() - began < STRETCH {
            (0..100).for_each(|_| spin_loop());
        }
        debt = debt.saturating_sub(thread_cpu() - began);
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
