//! What becomes of more customers than the site carries, without and with the gate before it.

use std::path::PathBuf;

use serde::Serialize;
use tidegate_experiment::GateTimes;
use tidegate_experiment::turns::Order;
use tidegate_lab::{Error, Launch, Result, Service};

use super::options::Options;
use crate::site::measure::Measuring;
use crate::site::step::{Phase, Step};
use crate::site::times::Times;
use tidegate_stats::Interval;

/// Loads, as multiples of the carried rate.
pub const MULTIPLES: [f64; 3] = [1.0, 2.0, 4.0];
/// Load of a baseline, as a share of the carried rate: what a machine that has become slower by
/// more than the rest does not complete.
pub(super) const BASELINE: f64 = 0.9;

/// A window of the comparison.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Window {
    /// Round, from 0.
    pub round: u32,
    /// Load as a multiple of the carried rate; `None` for a baseline.
    pub multiple: Option<f64>,
    /// Through the gate.
    pub gate: bool,
    /// Its figures.
    pub step: Step,
}

/// All windows at one load, one way.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Compared {
    /// Load as a multiple of the carried rate.
    pub multiple: f64,
    /// Through the gate.
    pub gate: bool,
    /// Sessions per second: mean over the rounds, and their range.
    pub completed: Interval,
    /// Offered, mean.
    pub offered_per_s: f64,
    /// Refused, mean.
    pub refused_per_s: f64,
    /// Abandoned and failed, mean.
    pub lost_per_s: f64,
    /// Response time at the limit's percentile, the median of the rounds, in milliseconds.
    pub response_ms: f64,
    /// It is at least this.
    pub is_lower_bound: bool,
    /// Rounds in which the load generator was saturated: they say nothing of the site.
    pub saturated: usize,
}

/// Windows of the comparison, none without it: in each round a baseline, and every load both ways.
pub(super) fn windows(options: &Options) -> u32 {
    let each = 1 + 2 * MULTIPLES.len() as u32;
    if options.gate { options.thoroughness().rounds * each } else { 0 }
}

/// Measures all loads without and with the gate, in turns of random order, each round after a
/// baseline. `show` is called with each window and the number of those that are left.
///
/// # Errors
/// The gate does not start, a run fails or is interrupted.
pub(super) fn compare(
    measuring: &mut Measuring,
    options: &Options,
    (carried, times): (f64, Times),
    show: &mut dyn FnMut(&Window, u32),
) -> Result<Vec<Window>> {
    let gate = start_gate(options, times)?;
    let address = gate.address("gate")?.to_owned();
    let contenders: Vec<(f64, bool)> =
        MULTIPLES.into_iter().flat_map(|multiple| [(multiple, false), (multiple, true)]).collect();
    let all = windows(options);
    let mut measured: Vec<Window> = Vec::new();
    let mut keep = |window: Window| {
        measured.push(window);
        let left = all.saturating_sub(measured.len() as u32);
        measured.last().into_iter().for_each(|window| show(window, left));
    };
    let mut round = None;
    for turn in
        Order::seeded(options.plan.seed).turns(contenders.len(), options.thoroughness().rounds)
    {
        if round != Some(turn.round) {
            round = Some(turn.round);
            let step = measuring.step(Phase::Curve, BASELINE * carried, times)?;
            keep(Window { round: turn.round, multiple: None, gate: false, step });
        }
        let (multiple, through) = contenders[turn.contender];
        let (target, insecure) = match through {
            true => (address.as_str(), true),
            false => (options.plan.target.as_str(), options.plan.insecure),
        };
        let step = measuring.step_at(target, insecure, Phase::Curve, multiple * carried, times)?;
        keep(Window { round: turn.round, multiple: Some(multiple), gate: through, step });
    }
    drop(gate);
    Ok(measured)
}

/// The gate before the site, on any address of loopback that is free.
fn start_gate(options: &Options, times: Times) -> Result<Service> {
    let config = options.out.join("gate.toml");
    let text = config_of(options, times)?;
    std::fs::write(&config, text)
        .map_err(|error| Error::Machine(format!("cannot write {}: {error}", config.display())))?;
    let args = ["gate".into(), "--config".into(), config.display().to_string()];
    Service::start(Launch::this_program("gate").args(args).log(&options.out.join("gate.log"))?)
}

/// The gate's configuration: its defaults, but for times that follow the customers' pace, and for
/// the waiting room: who waits in it completes nothing within the measured window.
fn config_of(options: &Options, times: Times) -> Result<String> {
    // A URL and paths as strings of TOML: JSON escapes are among those of TOML.
    let quoted = |text: &str| serde_json::Value::from(text).to_string();
    let url = options.site();
    let mut text = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\n\n[upstream]\nurl = {}\nhost = \"upstream\"\n",
        quoted(url)
    );
    if options.plan.insecure && url.starts_with("https") {
        text += "insecure = true\n";
    } else if let Some(ca) = &options.plan.ca {
        let absolute: PathBuf = std::path::absolute(ca)
            .map_err(|error| Error::Operator(format!("--ca {}: {error}", ca.display())))?;
        text += &format!("ca = {}\n", quoted(&absolute.to_string_lossy()));
    }
    let GateTimes { hold_s, keep_alive_s, linger_s, .. } = GateTimes::scaled(times.scale);
    let ms = |seconds: f64| (seconds * 1000.0).round().max(10.0);
    text += &format!(
        "\n[admission]\nrefuse = \"reset\"\nhold_time = \"{}ms\"\nsession_linger = \"{}ms\"\n\n[limits]\n\
         idle_deadline = \"{}ms\"\n\n[admin]\naddress = \"127.0.0.1:0\"\n",
        ms(hold_s),
        ms(linger_s),
        ms(keep_alive_s.max(1.0)),
    );
    Ok(text)
}

/// Adds up the windows of each load, without the gate first.
pub fn compared(windows: &[Window]) -> Vec<Compared> {
    let ways =
        [false, true].into_iter().flat_map(|gate| MULTIPLES.map(|multiple| (multiple, gate)));
    ways.filter_map(|(multiple, gate)| {
        let all = windows.iter().filter(|it| it.multiple == Some(multiple) && it.gate == gate);
        let (good, saturated): (Vec<&Step>, Vec<&Step>) =
            all.map(|it| &it.step).partition(|step| step.is_sound());
        let mean =
            |of: fn(&Step) -> f64| good.iter().map(|it| of(it)).sum::<f64>() / good.len() as f64;
        let completed = good.iter().map(|step| step.completed_per_s);
        let mut times: Vec<_> = good.iter().map(|step| step.response).collect();
        times.sort_by(|a, b| a.ms.total_cmp(&b.ms));
        let middle = times.get(times.len() / 2)?;
        Some(Compared {
            multiple,
            gate,
            completed: Interval {
                value: mean(|step| step.completed_per_s),
                low: completed.clone().fold(f64::INFINITY, f64::min),
                high: completed.fold(0.0, f64::max),
            },
            offered_per_s: mean(|step| step.offered_per_s),
            refused_per_s: mean(|step| step.refused_per_s),
            lost_per_s: mean(|step| step.abandoned_per_s + step.failed_per_s),
            response_ms: middle.ms,
            is_lower_bound: middle.is_lower_bound,
            saturated: saturated.len(),
        })
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;
    use crate::site::step::tests::step;

    fn window(round: u32, gate: bool, completed: f64) -> Window {
        let step = step(400.0, completed, 100.0 * f64::from(round + 1));
        Window { round, multiple: Some(4.0), gate, step }
    }

    #[test]
    fn windows_of_a_load_are_added_up_and_those_of_a_saturated_driver_left_out() {
        let mut windows: Vec<Window> =
            (0..3).map(|round| window(round, true, 90.0 + 10.0 * f64::from(round))).collect();
        windows.push(window(0, false, 7.0));
        let mut late = window(1, false, 1.0);
        late.step.driver_saturated_because = vec!["late".into()];
        windows.push(late);
        let [without, with] = &compared(&windows)[..] else { panic!("two ways") };
        assert_eq!((without.gate, without.completed.value, without.saturated), (false, 7.0, 1));
        assert_eq!(
            (with.completed.low, with.completed.value, with.completed.high),
            (90.0, 100.0, 110.0)
        );
        assert_eq!(with.response_ms, 200.0);
        assert!(compared(&[]).is_empty());
    }

    #[test]
    fn the_gates_configuration_names_the_site_and_how_it_is_trusted() {
        let mut options = options("https://127.0.0.1:8443/");
        let times = options.times(0.01).unwrap();
        let text = config_of(&options, times).unwrap();
        assert!(
            text.contains("url = \"https://127.0.0.1:8443\"") && text.contains("insecure = true")
        );
        (options.plan.insecure, options.plan.ca) = (false, Some("ca \"x\".pem".into()));
        let text = config_of(&options, times).unwrap();
        assert!(text.contains("ca \\\"x\\\".pem\"") && !text.contains("insecure"), "{text}");
    }
}
