//! Servers that are not ours, in a run: Tomcat and Node. Behind a gate they speak plain HTTP,
//! without one their own TLS.

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_lab::services::{Node, NodeSetup, Services, Tomcat, TomcatSetup};
use tidegate_lab::{CertificateKey, Process};
use tidegate_load::Stop;

use super::{GateTimes, System};
use crate::experiment::Settings;
use crate::{Error, Result, jdbc};

/// The path that Tomcat's auction answers once it is ready.
const READY: &str = "/healthz";
/// The variable that names the database of Tomcat's auction.
const DATABASE: &str = "AUCTION_DATABASE";

impl System for Tomcat {
    fn url(&self, behind_a_gate: bool) -> Result<String> {
        Ok(if behind_a_gate { Self::url(self) } else { self.secure_url() })
    }

    fn process(&self) -> &Process {
        Self::process(self)
    }

    fn gc_log(&self) -> Option<PathBuf> {
        Some(Self::gc_log(self).to_owned())
    }
}

impl System for Node {
    fn url(&self, behind_a_gate: bool) -> Result<String> {
        Ok(if behind_a_gate { Self::url(self)? } else { self.secure_url()? })
    }

    fn process(&self) -> &Process {
        Self::process(self)
    }
}

/// Starts Tomcat with the auction application, or the operator stops the study.
pub(super) fn tomcat(
    settings: &Settings,
    cores: &Cores,
    folder: &Path,
    stop: &Stop,
) -> Result<Tomcat> {
    let war = Services::find()?.war("auction")?;
    Tomcat::start(&tomcat_setup(settings, cores, &war)?, &folder.join("tomcat"), stop)
}

fn tomcat_setup(settings: &Settings, cores: &Cores, war: &Path) -> Result<TomcatSetup> {
    Ok(TomcatSetup {
        key: key(settings)?,
        timeout: timeout(settings),
        env: environment(settings)?,
        ..TomcatSetup::new(cores, war, READY)
    })
}

/// What the auction on Tomcat is told: its database, if it is not the one in its memory. The
/// auction fills an empty database itself, at its first start.
///
/// # Errors
/// [`Error::Operator`]: Java cannot reach that database.
fn environment(settings: &Settings) -> Result<Vec<(String, String)>> {
    let Some(url) = &settings.database else { return Ok(Vec::new()) };
    // The URL is not repeated here: it may have a password.
    let database = jdbc::postgres(url)
        .map_err(|wrong| Error::Operator(format!("database: {}; {}", wrong.rule, wrong.remedy)))?;
    Ok(vec![(DATABASE.to_owned(), database)])
}

/// Starts the shop on Node.
pub(super) fn node(settings: &Settings, cores: &Cores, folder: &Path) -> Result<Node> {
    let setup =
        NodeSetup { key: key(settings)?, timeout: timeout(settings), ..NodeSetup::new(cores) };
    Node::start(&setup, &Services::find()?, &folder.join("node"))
}

/// How long a silent connection stays open, alone as behind the gate: customers who pause less
/// than this need no new one.
fn timeout(settings: &Settings) -> Duration {
    let scaled = GateTimes::scaled(settings.time_scale).keep_alive_s;
    Duration::from_secs_f64(scaled).max(Duration::from_millis(1))
}

/// The key of the server's own certificate.
///
/// # Errors
/// [`Error::Operator`]: these servers are not set up with such a key.
fn key(settings: &Settings) -> Result<CertificateKey> {
    match settings.certificate.as_str() {
        "rsa-2048" => Ok(CertificateKey::Rsa2048),
        "ecdsa-p256" => Ok(CertificateKey::EcdsaP256),
        other => Err(Error::Operator(format!(
            "certificate = {other:?}: {} is set up with rsa-2048 or ecdsa-p256 only; choose one of these",
            settings.site
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_stay_open_as_long_as_behind_the_gate() {
        let settings = Settings { time_scale: 0.05, ..Settings::default() };
        assert_eq!(timeout(&settings), Duration::from_millis(500));
    }

    #[test]
    fn a_key_that_a_server_is_not_set_up_with_is_refused() {
        let settings = |certificate: &str| Settings {
            certificate: certificate.into(),
            site: "node".into(),
            ..Settings::default()
        };
        assert_eq!(key(&settings("rsa-2048")).unwrap(), CertificateKey::Rsa2048);
        let error = key(&settings("ed25519")).unwrap_err();
        assert!(error.to_string().contains("node is set up with"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }

    #[test]
    fn the_auction_on_tomcat_is_told_its_database() {
        let told = |database: Option<&str>| {
            let settings = Settings {
                certificate: "rsa-2048".into(),
                time_scale: 1.0,
                site: "tomcat".into(),
                database: database.map(str::to_owned),
                ..Settings::default()
            };
            let cores = Cores::of_this_thread().unwrap();
            tomcat_setup(&settings, &cores, Path::new("auction.war")).map(|setup| setup.env)
        };
        assert!(told(None).unwrap().is_empty(), "without one it has its own, in memory");
        let database = "jdbc:postgresql://db:5433/shop?user=ann&password=secret".to_owned();
        let expected = [("AUCTION_DATABASE".to_owned(), database)];
        assert_eq!(told(Some("postgres://ann:secret@db:5433/shop")).unwrap(), expected);
        let error = told(Some("sqlite:shop.db")).unwrap_err();
        assert!(error.to_string().contains("try postgres://"), "{error}");
        assert_eq!(error.exit_code(), 2);
    }
}
