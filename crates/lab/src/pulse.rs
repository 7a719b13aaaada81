//! The pulse: a small fixed piece of work, timed in CPU seconds, that tracks the machine's
//! speed. The speed of a virtual machine changes with its neighbours, by a third within
//! seconds; without the pulse a slow stretch would count against the policy under test.
//!
//! A sample does what the server does, and begins as the server's work does, with the
//! caches as other work left them: a short TCP conversation each time, and a signature
//! once in a while. Neighbours slow the two differently: signatures took half as long
//! again while the server lost a fifth.

use std::hint::black_box;
use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::rsa::{KeyPair, KeySize};
use aws_lc_rs::signature::RSA_PKCS1_SHA256;
use socket2::SockRef;
use tidegate_host::Cores;
use tidegate_host::cpu_clock::of_this_thread as thread_cpu;

use crate::error::{Error, Fault, Result};

/// Samples the speed of a processor until dropped.
#[derive(Debug)]
pub struct Pulse {
    samples: Arc<Mutex<Vec<Sample>>>,
    ended: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// One measurement, in CPU seconds.
#[derive(Clone, Copy, Debug)]
struct Sample {
    at: Instant,
    conversation: f64,
    signature: Option<f64>,
}

/// Time between samples: together they take a two hundredth of the processor.
const BETWEEN: Duration = Duration::from_millis(30);
/// Conversations per signature, about as in a session behind the gate.
const CONVERSATIONS: u32 = 40;
/// Samples kept: an hour's.
const KEPT: usize = 120_000;

impl Pulse {
    /// Starts to sample the first of these processors.
    ///
    /// # Errors
    /// The thread cannot be started.
    pub fn start(cores: &Cores) -> Result<Self> {
        let cores =
            cores.only(0).ok_or_else(|| Error::Internal("no processor to sample".into()))?;
        let work = Work::new()?;
        let (samples, ended) = (Arc::<Mutex<Vec<Sample>>>::default(), Arc::<AtomicBool>::default());
        let (write, end) = (samples.clone(), ended.clone());
        let thread = std::thread::Builder::new().name("pulse".into()).spawn(move || {
            if cores.pin_this_thread().is_err() {
                return;
            }
            for number in 0u32.. {
                if end.load(Ordering::Relaxed) {
                    return;
                }
                let signs = number.is_multiple_of(CONVERSATIONS);
                if let Ok(sample) = work.sample(signs) {
                    let mut samples = write.lock().unwrap_or_else(PoisonError::into_inner);
                    if samples.len() < KEPT {
                        samples.push(sample);
                    }
                }
                std::thread::sleep(BETWEEN);
            }
        });
        let thread = Some(thread.of_machine("cannot start the pulse")?);
        Ok(Self { samples, ended, thread })
    }

    /// CPU seconds of the work between two instants: half as long again on a machine that is
    /// a third slower. For comparisons with what another process sampled; `None` where nothing
    /// was measured.
    pub fn cost_s(&self, from: Instant, to: Instant) -> Option<f64> {
        let samples = self.samples.lock().unwrap_or_else(PoisonError::into_inner);
        let within = samples.iter().filter(|sample| sample.at >= from && sample.at < to);
        cost(&within.copied().collect::<Vec<_>>())
    }
}

/// CPU seconds of the conversations and the signature that belong together, by the
/// medians of both.
fn cost(samples: &[Sample]) -> Option<f64> {
    let conversation = median(samples.iter().map(|sample| sample.conversation))?;
    let signature = median(samples.iter().filter_map(|sample| sample.signature))?;
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
    fn new() -> Result<Self> {
        let key = KeyPair::generate(KeySize::Rsa2048);
        let key = key.map_err(|_| Error::Internal("no RSA key can be made".into()))?;
        let listener = TcpListener::bind("127.0.0.1:0").of_machine("the pulse cannot listen")?;
        Ok(Self { key, listener })
    }

    fn sample(&self, signs: bool) -> io::Result<Sample> {
        let at = Instant::now();
        let began = thread_cpu();
        self.converse()?;
        let conversed = thread_cpu();
        let signature = signs.then(|| {
            self.sign();
            thread_cpu().saturating_sub(conversed).as_secs_f64()
        });
        let conversation = conversed.saturating_sub(began).as_secs_f64();
        Ok(Sample { at, conversation, signature })
    }

    /// Three small requests and responses over a connection of their own.
    fn converse(&self) -> io::Result<()> {
        let mut customer = TcpStream::connect(self.listener.local_addr()?)?;
        let (mut server, _) = self.listener.accept()?;
        let (request, mut response) = ([0; 500], [0; 4096]);
        for _ in 0..3 {
            customer.write_all(&request)?;
            server.read_exact(&mut response[..request.len()])?;
            server.write_all(&response)?;
            customer.read_exact(&mut response)?;
        }
        // A reset: no connection is left in TIME_WAIT.
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

    /// A sample per second with these costs of a conversation.
    fn pulse(conversations: &[f64], begin: Instant) -> Pulse {
        let samples = conversations.iter().zip(0..).map(|(conversation, second)| Sample {
            at: begin + Duration::from_secs(second),
            conversation: *conversation,
            signature: (second % 2 == 0).then_some(40.0),
        });
        Pulse {
            samples: Arc::new(Mutex::new(samples.collect())),
            ended: Arc::default(),
            thread: None,
        }
    }

    #[test]
    fn a_cost_is_that_of_the_medians_of_a_stretch() {
        let begin = Instant::now();
        let pulse = pulse(&[3.0, 3.0, 7.0, 7.0, 90.0, 7.0, 3.0, 3.0, 3.0, 3.0, 3.0], begin);
        let second = |i| begin + Duration::from_secs(i);
        // 40 × 7 + 40 against 40 × 3 + 40: half the speed.
        assert_eq!(pulse.cost_s(second(2), second(6)), Some(320.0));
        assert_eq!(pulse.cost_s(second(6), second(11)), Some(160.0));
        assert_eq!(pulse.cost_s(second(0), second(11)), Some(160.0), "the median of the run");
        assert_eq!(pulse.cost_s(second(90), second(95)), None);
    }

    #[test]
    fn a_sample_takes_cpu_time() {
        let sample = Work::new().unwrap().sample(true).unwrap();
        assert!(sample.conversation > 0.0 && sample.signature.unwrap() > 0.0);
    }
}
