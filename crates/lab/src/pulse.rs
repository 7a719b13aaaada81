//! How fast the server's processor works, over time. A virtual machine's speed
//! changes with its neighbours, by a third within seconds; without a pulse, a
//! slow stretch would pass for a bad policy.
//!
//! A beat is a small piece of what the server does, and begins as the server's
//! work does, with what others left in the caches: mostly a short TCP
//! conversation, now and then a signature. Neighbours slow the two differently:
//! signatures took half as long again while the server lost a fifth.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use anyhow::{Context, anyhow};
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use socket2::SockRef;
use tidegate_host::Cores;
use tidegate_host::cpu_clock::of_this_thread as thread_cpu;

/// Takes the pulse until dropped.
pub struct Pulse {
    beats: Arc<Mutex<Vec<Beat>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One measurement, in CPU seconds.
#[derive(Clone, Copy)]
struct Beat {
    at: Instant,
    conversation: f64,
    signature: Option<f64>,
}

/// Time between beats: together they take a two hundredth of the processor.
const BETWEEN: Duration = Duration::from_millis(30);
/// Conversations to one signature, about as in a session behind the gate.
const CONVERSATIONS: u32 = 40;
/// Beats kept: an hour's.
const KEPT: usize = 120_000;

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
            for beat in 0u32.. {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let signs = beat.is_multiple_of(CONVERSATIONS);
                if let Ok(beat) = work.beat(signs) {
                    let mut beats = write.lock().unwrap_or_else(PoisonError::into_inner);
                    if beats.len() < KEPT {
                        beats.push(beat);
                    }
                }
                std::thread::sleep(BETWEEN);
            }
        })?;
        Ok(Self { beats, ended, thread: Some(thread) })
    }

    /// The speed between two instants against that of the whole run so far: 1
    /// is as usual, 0.8 a fifth slower. 1 where nothing was measured.
    pub fn speed(&self, from: Instant, to: Instant) -> f64 {
        let beats = self.beats.lock().unwrap_or_else(PoisonError::into_inner);
        let within: Vec<Beat> =
            beats.iter().filter(|beat| beat.at >= from && beat.at < to).copied().collect();
        match (cost(&within), cost(&beats)) {
            (Some(then), Some(usual)) => usual / then,
            _ => 1.0,
        }
    }
}

/// CPU seconds of the mix, by the medians of its parts.
fn cost(beats: &[Beat]) -> Option<f64> {
    let conversation = median(beats.iter().map(|beat| beat.conversation))?;
    let signature = median(beats.iter().filter_map(|beat| beat.signature))?;
    Some(f64::from(CONVERSATIONS) * conversation + signature)
}

impl Drop for Pulse {
    fn drop(&mut self) {
        self.ended.store(true, Ordering::Relaxed);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The fixed work.
struct Work {
    key: KeyPair,
    listener: TcpListener,
}

impl Work {
    fn new() -> anyhow::Result<Self> {
        let key = KeyPair::generate(KeySize::Rsa2048);
        let key = key.map_err(|_| anyhow!("no RSA key can be made"))?;
        Ok(Self { key, listener: TcpListener::bind("127.0.0.1:0")? })
    }

    fn beat(&self, signs: bool) -> io::Result<Beat> {
        let at = Instant::now();
        let began = thread_cpu();
        self.converse()?;
        let conversed = thread_cpu();
        let signature = signs.then(|| {
            self.sign();
            thread_cpu().saturating_sub(conversed).as_secs_f64()
        });
        let conversation = conversed.saturating_sub(began).as_secs_f64();
        Ok(Beat { at, conversation, signature })
    }

    /// Three small questions and answers over a connection of their own.
    fn converse(&self) -> io::Result<()> {
        let mut customer = TcpStream::connect(self.listener.local_addr()?)?;
        let (mut server, _) = self.listener.accept()?;
        let (question, mut answer) = ([0; 500], [0; 4096]);
        for _ in 0..3 {
            customer.write_all(&question)?;
            server.read_exact(&mut answer[..question.len()])?;
            server.write_all(&answer)?;
            customer.read_exact(&mut answer)?;
        }
        // Leaves nothing behind in the kernel.
        SockRef::from(&customer).set_linger(Some(Duration::ZERO))
    }

    fn sign(&self) {
        let mut signature = vec![0; self.key.public_modulus_len()];
        let random = SystemRandom::new();
        black_box(self.key.sign(&RSA_PKCS1_SHA256, &random, b"pulse", &mut signature)).ok();
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    let mut values: Vec<f64> = values.collect();
    values.sort_by(f64::total_cmp);
    tidegate_stats::quantile(&values, 0.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A beat per second with these costs of a conversation.
    fn pulse(conversations: &[f64], begin: Instant) -> Pulse {
        let beats = conversations.iter().zip(0..).map(|(conversation, second)| Beat {
            at: begin + Duration::from_secs(second),
            conversation: *conversation,
            signature: (second % 2 == 0).then_some(40.0),
        });
        Pulse { beats: Arc::new(Mutex::new(beats.collect())), ended: Arc::default(), thread: None }
    }

    #[test]
    fn speed_compares_the_medians_of_a_stretch_with_those_of_all() {
        let begin = Instant::now();
        let pulse = pulse(&[3.0, 3.0, 7.0, 7.0, 90.0, 7.0, 3.0, 3.0, 3.0, 3.0, 3.0], begin);
        let second = |i| begin + Duration::from_secs(i);
        // 40 × 3 + 40 against 40 × 7 + 40.
        assert_eq!(pulse.speed(second(2), second(6)), 0.5);
        assert_eq!(pulse.speed(second(6), second(11)), 1.0);
        assert_eq!(pulse.speed(second(90), second(95)), 1.0);
    }

    #[test]
    fn a_processor_has_a_pulse() {
        let beat = Work::new().unwrap().beat(true).unwrap();
        assert!(beat.conversation > 0.0 && beat.signature.unwrap() > 0.0);
    }
}
