//! What is studied, and how.

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use tidegate_host::is_own_address;
use tidegate_lab::{Error, Result};
use tidegate_load::{Resolve, Scenario, addresses_of};

use super::staircase::Thoroughness;
use super::step::Limit;

/// What is studied, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// The site: `https://host[:port]`, or `http://`.
    pub target: String,
    /// What customers do there.
    pub scenario: Scenario,
    /// The scenario is one page, as of a URL alone: sessions are visits of it.
    pub one_page: bool,
    /// The response times that count as served.
    pub limit: Limit,
    /// Highest rate that is offered, in sessions per second.
    pub max_rate: f64,
    /// At most ten minutes, with rougher figures; else an hour.
    pub quick: bool,
    /// Compares with the site behind the gate.
    pub gate: bool,
    /// Folder of the results.
    pub out: PathBuf,
    /// The operator says that a site which is not on this machine is theirs.
    pub mine: bool,
    /// The site's processes; empty for those that listen at the target's address.
    pub processes: Vec<u32>,
    /// Addresses of the target in place of those of its name.
    pub resolve: Vec<Resolve>,
    /// Accepts any certificate of the site.
    pub insecure: bool,
    /// Authorities to trust in place of the system's.
    pub ca: Option<PathBuf>,
    /// Processors of the load generator; empty for any.
    pub driver_cores: Vec<usize>,
    /// Threads of the load generator where `driver_cores` is empty.
    pub threads: usize,
    /// Factor on think times; `None`: 1, or less where sessions are too long for the time.
    pub time_scale: Option<f64>,
    /// Measured time of a step; `None`: by the length of sessions.
    pub step: Option<Duration>,
    /// Customer accounts that the scenario draws from; `None`: the scenario's.
    pub customers: Option<u64>,
    /// Seed of every random choice.
    pub seed: u64,
}

/// The longest that the staircase may take, and that with the comparison.
const QUICK: [Duration; 2] = [Duration::from_secs(560), Duration::from_secs(380)];
const FULL: [Duration; 2] = [Duration::from_secs(3400), Duration::from_secs(2200)];
/// Shortest measured time of a step by itself.
const SHORTEST: [Duration; 2] = [Duration::from_secs(6), Duration::from_secs(15)];
/// Rounds of the comparison with the gate.
const ROUNDS: [u32; 2] = [1, 3];
/// Least factor on think times.
const LEAST_SCALE: f64 = 0.002;

/// The times of a study, fixed once the length of a session is known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Times {
    /// Factor on think times.
    pub(super) scale: f64,
    /// Time before the measured window of each step.
    pub(super) warm_up: Duration,
    /// Measured window.
    pub(super) measure: Duration,
    /// The longest that a window may become where few sessions come.
    pub(super) longest: Duration,
}

impl Options {
    /// How thorough the staircase is.
    pub(super) fn thoroughness(&self) -> Thoroughness {
        if self.quick { Thoroughness::QUICK } else { Thoroughness::FULL }
    }

    /// Rounds of the comparison with the gate.
    pub(super) fn rounds(&self) -> u32 {
        ROUNDS[usize::from(!self.quick)]
    }

    /// Times that a session of this much thinking and `busy_s` of responses fits into: a step
    /// warms up for a session and is measured for two.
    ///
    /// # Errors
    /// [`Error::Operator`]: sessions are too long for the given scale.
    pub(super) fn times(&self, think_s: f64, busy_s: f64) -> Result<Times> {
        let budget = if self.quick { QUICK } else { FULL }[usize::from(self.gate)].as_secs_f64();
        let longest = budget / self.thoroughness().steps() as f64;
        let room = (longest / 3.0 - busy_s).max(0.1);
        let fits = (room / think_s.max(1e-9)).min(1.0);
        let scale = match self.time_scale {
            None => fits.max(LEAST_SCALE),
            Some(scale) if scale <= fits * 1.01 => scale,
            Some(scale) => {
                return Err(Error::Operator(format!(
                    "--time-scale {scale}: a session thinks for {:.0} s, too long for {} steps in {:.0} minutes; leave the flag out, or give at most {fits:.3}",
                    think_s * scale,
                    self.thoroughness().steps(),
                    budget / 60.0
                )));
            }
        };
        let session = Duration::from_secs_f64(think_s * scale + busy_s.min(longest / 3.0));
        let shortest = SHORTEST[usize::from(!self.quick)];
        // A queue has to grow beyond the limit within the window.
        let grown = Duration::from_secs_f64(4.0 * self.limit.ms / 1000.0);
        let grown = grown.min(Duration::from_secs_f64(longest * 2.0 / 3.0));
        let measure = self.step.unwrap_or_else(|| (2 * session).max(shortest).max(grown));
        let warm_up = match self.step {
            Some(step) => session.max(step / 3),
            None => session.max(shortest / 3),
        };
        let longest = Duration::from_secs_f64(longest).saturating_sub(warm_up).max(measure);
        Ok(Times { scale, warm_up, measure, longest })
    }

    /// The addresses of the site.
    ///
    /// # Errors
    /// [`Error::Operator`]: the target is no URL, or not on this machine and not said to be the
    /// operator's; [`Error::Process`]: its name does not resolve.
    pub(super) fn addresses(&self) -> Result<Vec<SocketAddr>> {
        let addresses = addresses_of(&self.target, &self.resolve).map_err(of_load)?;
        let mut all: Vec<(&str, SocketAddr)> =
            addresses.iter().map(|address| (self.target.as_str(), *address)).collect();
        for host in self.scenario.hosts() {
            let of_host = addresses_of(host.url(), &self.resolve).map_err(of_load)?;
            all.extend(of_host.into_iter().map(|address| (host.url(), address)));
        }
        let foreign = all.into_iter().find(|(_, address)| !is_own_address(address.ip()));
        match foreign {
            Some((url, address)) if !self.mine => Err(Error::Operator(format!(
                "{url}: {address} is not this machine, and the study loads it beyond what it can carry; if the site is yours, and its users can do without it meanwhile, add --yes-this-is-mine"
            ))),
            _ => Ok(addresses),
        }
    }
}

/// An error of the load generator, by whose fault it is.
pub(super) fn of_load(error: tidegate_load::Error) -> Error {
    match error.exit_code() {
        2 => Error::Operator(error.to_string()),
        _ => Error::Process(error.to_string()),
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use tidegate_load::PageRequest;

    pub(in crate::capacity) fn options(target: &str) -> Options {
        let (scenario, target) = Scenario::one_page(target, &PageRequest::default());
        Options {
            target,
            scenario,
            one_page: true,
            limit: Limit { ms: 500.0, percentile: 95 },
            max_rate: 1000.0,
            quick: true,
            gate: false,
            out: "out".into(),
            mine: false,
            processes: Vec::new(),
            resolve: Vec::new(),
            insecure: true,
            ca: None,
            driver_cores: Vec::new(),
            threads: 1,
            time_scale: None,
            step: None,
            customers: None,
            seed: 1,
        }
    }

    #[test]
    fn a_site_elsewhere_is_refused_until_it_is_said_to_be_ones_own() {
        let mut options = options("https://192.0.2.1/");
        let error = options.addresses().unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("--yes-this-is-mine"), "{error}");
        options.mine = true;
        assert_eq!(options.addresses().unwrap(), ["192.0.2.1:443".parse().unwrap()]);
    }

    #[test]
    fn a_host_of_the_scenario_elsewhere_is_refused_as_the_site_is() {
        let mut options = options("https://127.0.0.1:1/");
        let text = "[session]\nsteps = [\"A\"]\n[pages]\nA = { path = \"/\" }\n\
                    [hosts]\nsso = { url = \"https://192.0.2.1\" }\n";
        options.scenario = Scenario::from_toml(text, "shop.toml").unwrap();
        let error = options.addresses().unwrap_err().to_string();
        assert!(error.contains("https://192.0.2.1: 192.0.2.1:443 is not this machine"), "{error}");
        options.mine = true;
        assert_eq!(options.addresses().unwrap().len(), 1);
    }

    #[test]
    fn a_site_on_this_machine_needs_no_word() {
        assert!(options("https://127.0.0.9:1/").addresses().is_ok());
    }

    #[test]
    fn long_sessions_are_shortened_to_the_time_and_short_ones_are_not() {
        let options = options("https://127.0.0.1/");
        let page = options.times(0.0, 0.01).unwrap();
        assert_eq!((page.scale, page.measure), (1.0, Duration::from_secs(6)));
        let shop = options.times(84.0, 0.1).unwrap();
        assert!(shop.scale < 0.2, "{shop:?}");
        let steps = options.thoroughness().steps() as f64;
        assert!(steps * (shop.warm_up + shop.measure).as_secs_f64() <= 600.0, "{shop:?}");
    }

    #[test]
    fn windows_of_slow_sites_and_of_long_limits_keep_to_the_time() {
        for gate in [false, true] {
            let slow = Options { gate, limit: Limit { ms: 30e3, percentile: 95 }, ..options("x") };
            let times = slow.times(0.0, 5.0).unwrap();
            let budget = QUICK[usize::from(gate)].as_secs_f64();
            let step = (times.warm_up + times.longest).as_secs_f64();
            assert!(times.measure <= times.longest, "{times:?}");
            assert!(slow.thoroughness().steps() as f64 * step <= budget * 1.001, "{times:?}");
        }
    }

    #[test]
    fn a_scale_that_does_not_fit_is_refused_with_one_that_does() {
        let options = Options { time_scale: Some(1.0), ..options("https://127.0.0.1/") };
        let error = options.times(84.0, 0.1).unwrap_err();
        assert!(error.to_string().contains("give at most 0."), "{error}");
        assert!(options.times(1.0, 0.1).is_ok());
    }
}
