//! The brokerage of a run: three tiers, each a process of its own.

use std::path::{Path, PathBuf};

use tidegate_brokerage::{LinkOptions, TIERS, data};
use tidegate_host::{Cores, Files, cpu_clock, processes};
use tidegate_lab::{Process, Service};
use tidegate_sitekit::link::{self, Protection, Spec};

use super::served::{self, Copy, path};
use super::{System, Workshop, of_this_program, password_cost};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Customers of the population.
const CUSTOMERS: u64 = 1000;
/// The database in the folder of its data.
const DATABASE: &str = "brokerage.db";

/// A brokerage that is ready. Its processes end when this is dropped.
#[derive(Debug)]
pub struct Brokerage {
    service: Service,
    url: String,
    /// The processes of each of [`TIERS`].
    tiers: [Vec<u32>; 3],
    _data: Copy,
}

/// Makes the brokerage's database if it is not there.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<()> {
    let options = data::Options {
        listen: ([127, 0, 0, 1], 0).into(),
        database: settings.database.clone(),
        data: folder(settings, workshop),
        customers: Some(CUSTOMERS as i64),
        seed: None,
        password_cost: password_cost(settings)?,
        // A login that replaces a quick hash would do more than those after it.
        full_hashes: true,
        link: LinkOptions {
            spec: Spec::persistent(Protection::None),
            files: link::Files::default(),
        },
        known_as: Vec::new(),
        cores: None,
    };
    data::prepare(&options).map(|_| ()).map_err(|error| match error {
        tidegate_sitekit::Error::Operator(text) => Error::Operator(text),
        other => Error::Machine(format!("cannot prepare the brokerage's database: {other}")),
    })
}

/// Folder of the database that every run begins with.
fn folder(settings: &Settings, workshop: &Workshop) -> PathBuf {
    workshop.data("brokerage", settings)
}

impl Brokerage {
    /// Starts all tiers on a copy of the database, so that every run begins with the same.
    pub(super) fn start(
        settings: &Settings,
        cores: &Cores,
        workshop: &Workshop,
        run: &Path,
    ) -> Result<Self> {
        prepare(settings, workshop)?;
        let data = Copy::make(&folder(settings, workshop).join(DATABASE), settings, run)?;
        let launch = of_this_program("brokerage", cores, &run.join("site.log"))?;
        let args = arguments(settings, cores, workshop, data.folder())?;
        let service = Service::start(launch.args(args))?;
        let url = service.address("site")?.to_owned();
        let tiers = tiers(&Files::new("/"), service.process().id());
        if tiers.iter().any(Vec::is_empty) {
            return Err(Error::Process("a tier of the brokerage has no process".into()));
        }
        Ok(Self { service, url, tiers, _data: data })
    }
}

impl System for Brokerage {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.url.clone())
    }

    /// The process that started the tiers.
    fn process(&self) -> &Process {
        self.service.process()
    }

    fn customers(&self) -> Option<u64> {
        Some(CUSTOMERS)
    }

    fn application_servers(&self) -> &[u32] {
        &self.tiers[1]
    }

    /// CPU seconds of each of [`TIERS`], those of their ended children included.
    fn tiers(&self) -> Result<[f64; 3]> {
        let mut all = [0.0; 3];
        for (sum, ids) in all.iter_mut().zip(&self.tiers) {
            for &id in ids {
                *sum += cpu_clock::with_children(&Files::new("/"), id)
                    .map_err(|error| {
                        Error::Process(format!("a tier of the brokerage has ended: {error}"))
                    })?
                    .as_secs_f64();
            }
        }
        Ok(all)
    }
}

fn arguments(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    data: &Path,
) -> Result<Vec<String>> {
    let certificate = workshop.certificate(&settings.certificate)?;
    let mut args = served::arguments(
        &["site", "brokerage", "--listen", "127.0.0.1:0"],
        [
            ("--data", Some(path(data))),
            ("--password-cost", Some(settings.password_cost.clone())),
            ("--cores", Some(cores.to_string())),
            ("--security", Some(settings.security.clone())),
            ("--web-app", settings.web_app.clone()),
            ("--app-data", settings.app_data.clone()),
            ("--stub", Some(settings.stub.clone())),
            ("--app-servers", Some(settings.app_servers.to_string())),
            ("--database", settings.database.clone()),
            ("--certificate", Some(path(&certificate.chain))),
            ("--key", Some(path(&certificate.key))),
        ],
    );
    if settings.mutual && settings.security != "none" {
        // Customers show this certificate too, and it is its own authority.
        args.extend(["--client-ca".into(), path(&certificate.chain)]);
    }
    if settings.measured_pages {
        args.push("--measured-pages".into());
    }
    Ok(args)
}

/// The processes of each tier among the descendants of the brokerage, by their arguments.
fn tiers(files: &Files, brokerage: u32) -> [Vec<u32>; 3] {
    let mut tiers = [const { Vec::new() }; 3];
    for id in processes::family(files, brokerage) {
        let Some(arguments) = files.read(format!("/proc/{id}/cmdline")) else { continue };
        let mut words = arguments.split('\0').skip_while(|word| *word != "--tier").skip(1);
        let tier = words.next().and_then(|name| TIERS.iter().position(|tier| *tier == name));
        if let Some(tier) = tier {
            tiers[tier].push(id);
        }
    }
    tiers
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cost_of_a_password_is_that_of_the_settings_and_has_a_database_of_its_own() {
        let out = tempfile::tempdir().unwrap();
        let workshop = Workshop::open(out.path(), out.path()).unwrap();
        for (cost, folder_of) in [("light", "brokerage"), ("owasp", "brokerage-owasp")] {
            let settings = Settings {
                password_cost: cost.into(),
                certificate: "rsa-2048".into(),
                ..Settings::default()
            };
            let cores = Cores::new([0]).unwrap();
            let args = arguments(&settings, &cores, &workshop, out.path()).unwrap();
            let at = args.iter().position(|word| word == "--password-cost").unwrap();
            assert_eq!(args[at + 1], cost);
            assert_eq!(folder(&settings, &workshop), out.path().join("shared").join(folder_of));
        }
    }
}
