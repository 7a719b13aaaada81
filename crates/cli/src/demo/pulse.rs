//! How fast the server's processor runs, over time. A virtual machine's speed
//! changes with its neighbours, by a third within seconds; without a pulse, a
//! slow stretch would pass for a bad policy.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::RSA_PKCS1_SHA256;

use crate::cores::Cores;

/// Takes the pulse until dropped.
pub struct Pulse {
    beats: Arc<Mutex<Vec<Beat>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One measurement: work per CPU time, in any unit.
#[derive(Clone, Copy)]
struct Beat {
    at: Instant,
    speed: f64,
}

/// Time between beats; two signatures each are half a hundredth of the processor.
const BETWEEN: Duration = Duration::from_millis(150);
/// Beats kept: an hour's.
const KEPT: usize = 24_000;

impl Pulse {
    /// Starts to take the pulse of the first of these processors.
    ///
    /// # Errors
    /// When the thread cannot be started.
    pub fn start(cores: &Cores) -> anyhow::Result<Self> {
        let cores = cores.only(0).context("no processor to take the pulse of")?;
        let work = Work::new()?;
        let (beats, ended) = (Arc::<Mutex<Vec<Beat>>>::default(), Arc::<AtomicBool>::default());
        let (write, end) = (beats.clone(), ended.clone());
        let thread = std::thread::Builder::new().name("pulse".into()).spawn(move || {
            if cores.pin_this_thread().is_err() {
                return;
            }
            while !end.load(Ordering::Relaxed) {
                let beat = Beat { at: Instant::now(), speed: work.speed() };
                let mut beats = write.lock().unwrap_or_else(PoisonError::into_inner);
                if beats.len() < KEPT {
                    beats.push(beat);
                }
                drop(beats);
                std::thread::sleep(BETWEEN);
            }
        })?;
        Ok(Self { beats, ended, thread: Some(thread) })
    }

    /// The median speed between two instants against that of the whole run so
    /// far: 1 is as usual, 0.8 a fifth slower. 1 where nothing was measured.
    pub fn speed(&self, from: Instant, to: Instant) -> f64 {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let within = beats.iter().filter(|beat| beat.at >= from && beat.at < to);
        match (median(within.map(|b| b.speed)), median(beats.iter().map(|b| b.speed))) {
            (Some(then), Some(usual)) => then / usual,
            _ => 1.0,
        }
    }
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The fixed work: a signature by RSA-2048, what a full handshake mostly is. A
/// loop of plain arithmetic kept its pace while signatures took a third longer.
struct Work(KeyPair);

impl Work {
    fn new() -> anyhow::Result<Self> {
        KeyPair::generate(KeySize::Rsa2048).map(Self).map_err(|_| anyhow!("no RSA key can be made"))
    }

    /// Work per CPU second, by the second of two signatures: the first brings
    /// code and key back into the cache, whoever used it in between.
    fn speed(&self) -> f64 {
        self.sign();
        let began = thread_cpu();
        self.sign();
        1.0 / thread_cpu().saturating_sub(began).as_secs_f64().max(1e-9)
    }

    fn sign(&self) {
        let mut signature = vec![0; self.0.public_modulus_len()];
        let random = SystemRandom::new();
        black_box(self.0.sign(&RSA_PKCS1_SHA256, &random, b"pulse", &mut signature)).ok();
    }
}

/// CPU time of this thread, so that waiting for the processor does not count.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the local variable passed; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    tidegate_stats::quantile(&values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pulse(speeds: &[f64], begin: Instant) -> Pulse {
        let second = |i: usize| begin + Duration::from_secs(i as u64);
        let beats = speeds.iter().enumerate().map(|(i, s)| Beat { at: second(i), speed: *s });
        Pulse { beats: Arc::new(Mutex::new(beats.collect())), ended: Arc::default(), thread: None }
    }

    #[test]
    fn speed_is_the_median_of_a_stretch_against_that_of_all() {
        let begin = Instant::now();
        let pulse = pulse(&[10.0, 10.0, 8.0, 8.0, 1.0, 10.0, 10.0, 10.0, 10.0], begin);
        let second = |i| begin + Duration::from_secs(i);
        assert_eq!(pulse.speed(second(2), second(5)), 0.8);
        assert_eq!(pulse.speed(second(5), second(9)), 1.0);
        assert_eq!(pulse.speed(second(90), second(95)), 1.0);
    }

    #[test]
    fn a_processor_has_a_pulse() {
        assert!(Work::new().unwrap().speed() > 0.0);
    }
}
