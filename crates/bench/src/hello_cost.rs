//! Cost of reading a hello.

use crate::client;
use crate::in_process;
use anyhow::bail;
use serde::Serialize;
use std::hint::black_box;
use tidegate_hello::{Limits, Progress, Reader};
use tidegate_lab::peers::Version;
use tidegate_stats::Summary;

/// Cost of reading one kind of hello, copying its bytes included.
#[derive(Clone, Debug, Serialize)]
pub struct HelloCost {
    /// Key shares of the hello.
    pub hello: &'static str,
    /// Its bytes on the wire.
    pub bytes: usize,
    /// Nanoseconds per hello.
    pub nanoseconds: Summary,
}

/// Measures as many batches as there are rounds.
///
/// # Errors
/// The reader does not accept the hello, which is a defect.
pub fn measure(rounds: u32, core: usize, home: usize) -> anyhow::Result<Vec<HelloCost>> {
    let hellos = [
        ("TLS 1.3, X25519", client::hello(Version::Tls13)?),
        ("TLS 1.3, post-quantum share", client::post_quantum_hello()?),
    ];
    in_process::pinned(core, home, || {
        hellos.iter().map(|(name, bytes)| cost(name, bytes, rounds)).collect()
    })
}

fn cost(hello: &'static str, bytes: &[u8], rounds: u32) -> anyhow::Result<HelloCost> {
    let nanoseconds = in_process::nanoseconds(rounds, || {
        let mut reader = Reader::new(Limits::default());
        let progress = reader.push(black_box(bytes));
        if !matches!(black_box(&progress), Progress::Complete(_)) {
            bail!("the hello reader returns {progress:?} for a valid hello ({hello})");
        }
        Ok(())
    })?;
    Ok(HelloCost { hello, bytes: bytes.len(), nanoseconds })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_hellos_are_read_and_the_post_quantum_one_is_longer() {
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        let costs = measure(1, core, core).unwrap();
        assert!(costs[1].bytes > costs[0].bytes + 1000);
        assert!(costs.iter().all(|cost| cost.nanoseconds.median > 0.0));
    }
}
