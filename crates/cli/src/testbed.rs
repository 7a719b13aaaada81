//! The auction site behind the gate, as the demo and the scenarios on the real gate measure it.

use tidegate_experiment::experiment::{Settings, Windows};
use tidegate_experiment::record::Record;
use tidegate_experiment::{Error, Probes, Result, requests_each};
use tidegate_host::Cores;
use tidegate_load::{Scenario, Stop};

/// The customers' scenario: the bidding mix with every row divided by its sum, sessions of
/// a dozen requests.
pub const CUSTOMERS: &str = "auction-bidding-normalised";
/// Mean think time and patience of [`CUSTOMERS`], in seconds.
pub const THINK_S: f64 = 7.0;
/// See [`THINK_S`].
pub const PATIENCE_S: f64 = 10.0;
/// Factor of all customers' times. Customers think 175 ms instead of 7 s and leave after
/// 250 ms instead of 10 s, so that a session takes seconds.
pub const TIME_SCALE: f64 = 1.0 / 40.0;
/// The kind of key of the gate's certificate: RSA-2048, still the most common one; its
/// signature is the larger part of a full handshake.
pub const CERTIFICATE: &str = "rsa-2048";
/// Sessions per second of the first probe of a capacity: a light load for any machine that can
/// compile this program.
const FIRST_PROBE_PER_S: f64 = 15.0;

/// Probes of a capacity with these shares of the estimate before each, by customers who do this.
pub fn probes(shares: &'static [f64], scenario: &Scenario) -> Probes {
    Probes::new(FIRST_PROBE_PER_S, shares, requests_each(scenario))
}

/// Site and gate on these processors, and the usual customers at the usual pace.
pub fn settings(policy: &str, server: &Cores) -> Settings {
    Settings {
        site: "auction".into(),
        gate: true,
        policy: policy.into(),
        password_cost: "light".into(),
        certificate: CERTIFICATE.into(),
        tls: "both".into(),
        group: "all".into(),
        processors: server.list().len() as u32,
        scenario: CUSTOMERS.into(),
        handshakes: "resumed".into(),
        time_scale: TIME_SCALE,
        patience_scale: 1.0,
        ..Settings::default()
    }
}

/// What [`CUSTOMERS`] do.
pub fn customers() -> Scenario {
    Scenario::built_in(CUSTOMERS).expect("the scenario ships with the binary")
}

/// The times of one run, in seconds.
pub fn times(warm_up_s: f64, measured_s: f64) -> Windows {
    Windows { warm_up_s, measured_s, repetitions: 1, ..Windows::default() }
}

/// A figure of a run; 0 where it was not measured.
pub fn figure(record: &Record, name: &str) -> f64 {
    record.figure(name).unwrap_or_default()
}

/// # Errors
/// No request of this run succeeded.
pub fn answered(record: &Record, what: impl std::fmt::Display) -> Result<()> {
    match figure(record, "requests_per_s") > 0.0 {
        true => Ok(()),
        false => Err(Error::Process(format!("{what}: no request succeeded"))),
    }
}

/// # Errors
/// A run failed, or the operator stopped it.
pub fn to_the_end(result: Result<()>, stop: &Stop) -> anyhow::Result<()> {
    if stop.is_stopped() {
        anyhow::bail!("stopped before the end; no results are written");
    }
    // A study alone can be continued.
    let remedy = |text: String| text.replace(" and continue with --resume", " and run it again");
    Ok(result.map_err(|error| match error {
        Error::Machine(text) => Error::Machine(remedy(text)),
        other => other,
    })?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_continued_is_run_again() {
        let full = "cannot write a: disk full; make room and continue with --resume";
        let full = || Err(Error::Machine(full.into()));
        let error = to_the_end(full(), &Stop::default()).unwrap_err().to_string();
        assert_eq!(error, "cannot write a: disk full; make room and run it again");
        let stop = Stop::default();
        stop.stop();
        assert!(to_the_end(full(), &stop).unwrap_err().to_string().contains("stopped before"));
    }
}
