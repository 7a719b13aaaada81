//! The gate of a run.

use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_host::Cores;
use tidegate_lab::Service;

use super::front::Peer;
use super::{Workshop, of_this_program, static_tier};
use crate::experiment::{Combination, Settings};
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};

/// Name of the gate's trace in the folder of a run.
pub const TRACE: &str = "gate.trace";

/// Times in a gate that follow the customers' pace, in seconds.
#[derive(Clone, Copy, Debug)]
pub struct GateTimes {
    /// Longest time in the admission queue.
    pub hold_s: f64,
    /// Time after which an idle connection is closed.
    pub keep_alive_s: f64,
    /// Time after its last request for which a session stays admitted.
    pub linger_s: f64,
    /// Interval of the policy `eac`.
    pub interval_s: f64,
}

impl GateTimes {
    /// The gate's defaults, for customers whose times are multiplied by `scale`.
    pub fn scaled(scale: f64) -> Self {
        Self {
            hold_s: 3.0 * scale,
            keep_alive_s: 10.0 * scale,
            linger_s: 60.0 * scale,
            interval_s: 2.0 * scale,
        }
    }
}

/// The policy `eac` with costs that were profiled beforehand, as in the study of 2007: in the
/// baseline of the same round.
pub const EAC_PROFILED: &str = "eac, profiled";

/// CPU time of a connection with its requests, at gate and service.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Profile {
    /// Of a new one, in seconds.
    pub new_s: f64,
    /// Of a returning one, in seconds.
    pub returning_s: f64,
}

impl Profile {
    /// What a gate measured that shows this `/status`; `None` if it is none of a gate.
    pub fn of_status(status: &str) -> Option<Self> {
        let status: serde_json::Value = serde_json::from_str(status).ok()?;
        let cost = |class| status["control"]["costs"][class]["connection_cpu_s"].as_f64();
        cost("new").zip(cost("returning")).map(|(new_s, returning_s)| Self { new_s, returning_s })
    }

    /// The keys of `[admission]`.
    fn keys(self) -> String {
        let us = |seconds: f64| (seconds * 1e6).round().max(1.0);
        let Self { new_s, returning_s } = self;
        format!(
            "new_connection_cpu = \"{}us\"\nreturning_connection_cpu = \"{}us\"\n",
            us(new_s),
            us(returning_s)
        )
    }
}

/// Starts a gate before the service.
pub(super) fn start(
    settings: &Settings,
    upstream: &str,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<Service> {
    let config = write(settings, &Place::before(upstream), workshop, folder)?;
    let launch = of_this_program("gate", cores, &folder.join("gate.log"))?;
    Service::start(launch.args(["gate".into(), "--config".into(), config]))
}

/// Where a gate stands.
pub(super) struct Place {
    /// Address for customers.
    pub(super) listen: String,
    /// Address of its admin pages.
    pub(super) admin: String,
    /// The keys of `[upstream]`.
    pub(super) upstream: String,
    /// Further tables.
    pub(super) more: String,
}

impl Place {
    /// Any port of this machine, before a service.
    fn before(upstream: &str) -> Self {
        let insecure = if upstream.starts_with("https:") { "insecure = true\n" } else { "" };
        Self {
            listen: "127.0.0.1:0".into(),
            admin: "127.0.0.1:0".into(),
            upstream: format!("url = {upstream:?}\n{insecure}"),
            more: String::new(),
        }
    }
}

/// Policies that the gate knows in a build with the feature `rivals` alone.
const RIVALS: [&str; 2] = ["backlog-only", "codel"];

/// Checks that the gate knows every policy of these combinations, before anything is started.
///
/// # Errors
/// [`Error::Operator`]: it refuses one, with its message.
pub fn check_policies(
    combinations: &[Combination],
    workshop: &Workshop,
    folder: &Path,
) -> Result<()> {
    let mut checked: Vec<&str> = Vec::new();
    for settings in combinations.iter().map(|one| &one.settings).filter(|one| one.gate) {
        if checked.contains(&settings.policy.as_str()) {
            continue;
        }
        checked.push(&settings.policy);
        if Peer::of(&settings.policy)?.is_some() {
            continue;
        }
        let config = write(settings, &Place::before("http://127.0.0.1:1"), workshop, folder)?;
        let output = Command::new("/proc/self/exe").arg("check").arg(&config).output();
        let output =
            output.map_err(|error| Error::Machine(format!("cannot check the policy: {error}")))?;
        if !output.status.success() {
            let text = String::from_utf8_lossy(&output.stderr);
            let text = text.trim().trim_start_matches("tidegate: ").to_owned();
            let policy = &settings.policy;
            let remedy = match RIVALS.contains(&policy.as_str()) && text.contains("policy") {
                true => "; it needs a build with `--features rivals` (docs/controller.md)",
                false => "",
            };
            return Err(Error::Operator(format!(
                "policy = {policy:?}: the gate refuses it: {text}{remedy}"
            )));
        }
    }
    Ok(())
}

/// Writes the configuration of a gate.
pub(super) fn write(
    settings: &Settings,
    place: &Place,
    workshop: &Workshop,
    folder: &Path,
) -> Result<PathBuf> {
    let cannot_write = |file: &Path, error| {
        Error::Machine(format!("cannot write {}: {error}; {MAKE_ROOM}", file.display()))
    };
    std::fs::create_dir_all(folder).map_err(|error| cannot_write(folder, error))?;
    let file = folder.join("gate.toml");
    let mut text = configuration(settings, place, workshop)?;
    if settings.is_traced() {
        text += &format!("\n[trace]\nfile = {}\n", absolute(&folder.join(TRACE))?);
    }
    std::fs::write(&file, text).map_err(|error| cannot_write(&file, error))?;
    std::path::absolute(&file)
        .map_err(|error| Error::Machine(format!("no current folder: {error}")))
}

/// The gate's defaults, but for the certificate, for times that follow the customers' pace, and for
/// further connections of a browser: customers of the load generator share their addresses, so that
/// those of one would be others.
fn configuration(settings: &Settings, place: &Place, workshop: &Workshop) -> Result<String> {
    let certificate = workshop.certificate(&settings.certificate)?;
    let (chain, key) = (absolute(&certificate.chain)?, absolute(&certificate.key)?);
    let at_their_pace = || match settings.room {
        // The room's pages have a pace of their own: those whose turn it is ask every two seconds.
        true => GateTimes {
            hold_s: GateTimes::scaled(1.0).hold_s,
            ..GateTimes::scaled(settings.time_scale)
        },
        false => GateTimes::scaled(settings.time_scale),
    };
    let times = workshop.overrides.gate_times.unwrap_or_else(at_their_pace);
    let routes = match settings.static_tier {
        true => format!(
            "\n[[routes]]\npath = \"/\"\ndirectory = {}\nvariant_cookie = \"zone\"\n",
            absolute(&static_tier::folder(settings, workshop))?
        ),
        false => String::new(),
    };
    let ms = |seconds: f64, (least, most): (f64, f64)| {
        format!("\"{}ms\"", (seconds * 1000.0).round().clamp(least, most))
    };
    Ok(format!(
        "[listen]\naddress = {listen:?}\n\n[tls]\ncertificate = {chain}\nkey = {key}\n\n\
         [upstream]\n{upstream}\n\
         [admission]\npolicy = {policy:?}\nrefuse = {refuse:?}\nhold_time = {hold}\n\
         interval = {interval}\nsession_linger = {linger}\nbrowser_connections = 0\n{profile}\n\
         [limits]\nidle_deadline = {idle}\n\n[admin]\naddress = {admin:?}\n{routes}{more}",
        listen = place.listen,
        admin = place.admin,
        upstream = place.upstream,
        more = place.more,
        policy = if settings.policy == EAC_PROFILED { "eac" } else { &settings.policy },
        profile = workshop.overrides.profile.map(Profile::keys).unwrap_or_default(),
        refuse = if settings.room { "page" } else { "reset" },
        hold = ms(times.hold_s, (0.0, 30e3)),
        interval = ms(times.interval_s, (10.0, 60e3)),
        linger = ms(times.linger_s, (100.0, 3600e3)),
        idle = ms(times.keep_alive_s, (0.0, 3600e3)),
    ))
}

/// A path as a file of the gate has it.
fn absolute(path: &Path) -> Result<String> {
    let path = std::path::absolute(path)
        .map_err(|error| Error::Machine(format!("no current folder: {error}")))?;
    Ok(format!("{:?}", path.display().to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_configuration_has_the_policy_the_certificate_and_the_customers_pace() {
        let folder = tempfile::tempdir().unwrap();
        let mut workshop = Workshop::open(folder.path(), folder.path()).unwrap();
        let settings = Settings {
            policy: "a \"b\"".into(),
            room: false,
            certificate: "rsa-2048".into(),
            time_scale: 0.025,
            ..Settings::default()
        };
        let text =
            configuration(&settings, &Place::before("https://127.0.0.1:1"), &workshop).unwrap();
        let times = ["hold_time = \"75ms\"", "session_linger = \"1500ms\"", "\"250ms\""];
        let others =
            ["policy = \"a \\\"b\\\"\"", "rsa-2048.crt", "insecure = true", "refuse = \"reset\""];
        for expected in times.into_iter().chain(others) {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
        let with_room = Settings { room: true, ..settings.clone() };
        let text = configuration(&with_room, &Place::before("http://127.0.0.1:1"), &workshop);
        assert!(text.unwrap().contains("hold_time = \"3000ms\""), "the room's pace is its own");
        let times = GateTimes { keep_alive_s: 0.002, ..GateTimes::scaled(0.025) };
        workshop.overrides.gate_times = Some(times);
        let text =
            configuration(&settings, &Place::before("https://127.0.0.1:1"), &workshop).unwrap();
        assert!(text.contains("idle_deadline = \"2ms\""), "{text}");
    }

    #[test]
    fn eac_is_given_the_costs_that_a_gate_measured() {
        let cost = |s: f64| serde_json::json!({ "connection_cpu_s": s, "handshake_cpu_s": 9.0 });
        let costs = serde_json::json!({ "new": cost(0.0019), "returning": cost(0.000_61) });
        let status = serde_json::json!({ "control": { "costs": costs } }).to_string();
        let profile = Profile::of_status(&status).unwrap();
        assert_eq!(Profile::of_status("{}"), None);

        let folder = tempfile::tempdir().unwrap();
        let mut workshop = Workshop::open(folder.path(), folder.path()).unwrap();
        workshop.overrides.profile = Some(profile);
        let certificate = "rsa-2048".into();
        let settings = Settings { policy: EAC_PROFILED.into(), certificate, ..Settings::default() };
        let text = configuration(&settings, &Place::before("http://127.0.0.1:1"), &workshop);
        let text = text.unwrap();
        for expected in [
            "policy = \"eac\"",
            "new_connection_cpu = \"1900us\"",
            "returning_connection_cpu = \"610us\"",
        ] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }
}
