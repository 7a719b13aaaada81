//! Costs of a fraction of a microsecond, which no measurement from outside can resolve:
//! `benches/in_process.rs` measures them, this module reads what it found.
//!
//! Source: criterion's files `new/sample.json` and `new/benchmark.json` of each benchmark.

use anyhow::Context;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::path::{Path, PathBuf};
use std::time::SystemTime;
use tidegate_stats::Summary;

/// Group of the benchmarks that read a hello.
pub const HELLO: &str = "hello";

/// Group of the benchmarks of the controller.
pub const DECISION: &str = "decision";

/// Hellos that are judged.
pub mod hello {
    /// A hello of TLS 1.3 with an X25519 key share.
    pub const X25519: &str = "TLS 1.3, X25519";
    /// A hello of TLS 1.3 with a post-quantum key share, as browsers send it.
    pub const POST_QUANTUM: &str = "TLS 1.3, post-quantum share";
}

/// Calls of the controller.
pub mod decision {
    /// A new session asks and is admitted.
    pub const ADMITTED: &str = "a new session, admitted";
    /// A new session asks and is not admitted yet.
    pub const NOT_ADMITTED: &str = "a new session, not admitted yet";
    /// A returning customer is counted.
    pub const RETURNING: &str = "a returning customer";
    /// The controller's periodic update.
    pub const READING: &str = "a reading, ten times a second";
}

/// Cost of reading one kind of hello, copying its bytes included.
#[derive(Clone, Debug, Serialize)]
pub struct HelloCost {
    /// Key shares of the hello.
    pub hello: &'static str,
    /// Its bytes on the wire.
    pub bytes: u64,
    /// Nanoseconds per hello.
    pub nanoseconds: Summary,
}

/// Cost of one kind of call of the controller with its default policy.
#[derive(Clone, Debug, Serialize)]
pub struct DecisionCost {
    /// The call.
    pub what: &'static str,
    /// Whether it is made for each connection; else once per tick.
    pub per_connection: bool,
    /// Nanoseconds per call.
    pub nanoseconds: Summary,
}

/// All costs; empty if they were not measured with this build.
#[derive(Clone, Debug, Default)]
pub struct Costs {
    /// Reading a hello.
    pub hellos: Vec<HelloCost>,
    /// Calls of the controller.
    pub decisions: Vec<DecisionCost>,
}

impl Costs {
    /// Reads criterion's results. Those from before `built` are of another build and are
    /// left out, as if they were not there.
    ///
    /// # Errors
    /// A result cannot be read.
    pub fn read(folder: &Path, built: SystemTime) -> anyhow::Result<Self> {
        let results = Results { folder, built };
        let mut costs = Self::default();
        for hello in [hello::X25519, hello::POST_QUANTUM] {
            let Some((nanoseconds, benchmark)) = results.of(HELLO, hello)? else { continue };
            let bytes = benchmark.throughput.map_or(0, |throughput| throughput.bytes);
            costs.hellos.push(HelloCost { hello, bytes, nanoseconds });
        }
        use decision::{ADMITTED, NOT_ADMITTED, READING, RETURNING};
        for what in [ADMITTED, NOT_ADMITTED, RETURNING, READING] {
            let Some((nanoseconds, _)) = results.of(DECISION, what)? else { continue };
            let per_connection = what != READING;
            costs.decisions.push(DecisionCost { what, per_connection, nanoseconds });
        }
        Ok(costs)
    }
}

struct Results<'a> {
    folder: &'a Path,
    built: SystemTime,
}

/// `sample.json`: calls and nanoseconds of each sample.
#[derive(Deserialize)]
struct Sample {
    iters: Vec<f64>,
    times: Vec<f64>,
}

/// `benchmark.json`, the part that is used.
#[derive(Deserialize)]
struct Benchmark {
    throughput: Option<Throughput>,
}

#[derive(Deserialize)]
struct Throughput {
    #[serde(rename = "Bytes")]
    bytes: u64,
}

impl Results<'_> {
    /// Nanoseconds per call of each sample; `None` without a result of this build.
    fn of(&self, group: &str, name: &str) -> anyhow::Result<Option<(Summary, Benchmark)>> {
        let folder = self.folder.join(group).join(name).join("new");
        let sample = folder.join("sample.json");
        let measured = std::fs::metadata(&sample).and_then(|file| file.modified());
        if measured.is_ok_and(|measured| measured >= self.built) {
            let Sample { iters, times } = json(sample)?;
            let each: Vec<f64> = times.iter().zip(&iters).map(|(ns, calls)| ns / calls).collect();
            let benchmark = json(folder.join("benchmark.json"))?;
            return Ok(Summary::of(&each).map(|nanoseconds| (nanoseconds, benchmark)));
        }
        Ok(None)
    }
}

fn json<T: DeserializeOwned>(path: PathBuf) -> anyhow::Result<T> {
    let read = || Ok::<_, anyhow::Error>(serde_json::from_slice(&std::fs::read(&path)?)?);
    read().with_context(|| format!("cannot read criterion's {}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn costs_are_nanoseconds_per_call_of_each_sample_of_this_build() {
        let folder = tempfile::tempdir().unwrap();
        let write = |group: &str, name: &str, throughput: &str| {
            let new = folder.path().join(group).join(name).join("new");
            std::fs::create_dir_all(&new).unwrap();
            let sample =
                r#"{"sampling_mode":"Flat","iters":[10.0,10.0,10.0],"times":[500.0,600.0,900.0]}"#;
            std::fs::write(new.join("sample.json"), sample).unwrap();
            let benchmark = format!(r#"{{"group_id":"any","throughput":{throughput}}}"#);
            std::fs::write(new.join("benchmark.json"), benchmark).unwrap();
        };
        write(HELLO, hello::POST_QUANTUM, r#"{"Bytes":1400}"#);
        write(DECISION, decision::ADMITTED, "null");
        write(DECISION, decision::READING, "null");

        let costs = Costs::read(folder.path(), SystemTime::UNIX_EPOCH).unwrap();
        assert_eq!((costs.hellos.len(), costs.hellos[0].bytes), (1, 1400));
        let cost = costs.hellos[0].nanoseconds;
        assert_eq!((cost.count, cost.min, cost.median, cost.max), (3, 50.0, 60.0, 90.0));
        let per_connection: Vec<_> = costs.decisions.iter().map(|c| c.per_connection).collect();
        assert_eq!(per_connection, [true, false]);

        let later = SystemTime::now() + Duration::from_secs(60);
        assert!(Costs::read(folder.path(), later).unwrap().hellos.is_empty());
    }

    #[test]
    fn an_unreadable_result_is_an_error_with_its_path() {
        let folder = tempfile::tempdir().unwrap();
        let new = folder.path().join(HELLO).join(hello::X25519).join("new");
        std::fs::create_dir_all(&new).unwrap();
        std::fs::write(new.join("sample.json"), "{").unwrap();
        let error = Costs::read(folder.path(), SystemTime::UNIX_EPOCH).unwrap_err();
        assert!(error.to_string().contains("sample.json"), "{error}");
    }
}
