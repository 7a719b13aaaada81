//! The auction site of a run.

use std::path::Path;
use std::time::Duration;

use tidegate_auction::Options;
use tidegate_host::Cores;
use tidegate_lab::{Process, Service};

use super::{System, Workshop, of_this_program, password_cost};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Name of the site's trace in the folder of a run.
pub const TRACE: &str = "site.trace";

/// Name of the folder of its database.
const NAME: &str = "site";
/// Size of the site's population, relative to that of RUBiS.
const SCALE: f64 = 0.01;

/// Makes the site's database if it is not there.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<()> {
    users(settings, workshop).map(|_| ())
}

fn users(settings: &Settings, workshop: &Workshop) -> Result<u64> {
    let options = Options {
        data: workshop.data(NAME, settings),
        database: settings.database.clone(),
        scale: Some(SCALE),
        password_cost: password_cost(settings)?,
        extra_cpu: Duration::from_secs_f64(settings.extra_cpu),
        ..Options::default()
    };
    let data = options.data.clone();
    let prepared = prepared(tidegate_auction::prepare(&options), settings, &data)?;
    u64::try_from(prepared.users).map_err(|_| Error::Internal("the population has no users".into()))
}

/// The database of a site, with the remedy where it cannot be made.
pub(super) fn prepared<T>(
    made: tidegate_sitekit::Result<T>,
    settings: &Settings,
    data: &Path,
) -> Result<T> {
    made.map_err(|error| match error {
        tidegate_sitekit::Error::Database(_) if settings.database.is_some() => Error::Process(
            format!("the site's {error}; look at the log of the server of system.database"),
        ),
        tidegate_sitekit::Error::Database(_) => Error::Process(format!(
            "the site's {error}; make room in {}, or give --out another folder",
            data.display()
        )),
        other => other.into(),
    })
}

/// A site that runs.
#[derive(Debug)]
pub(super) struct Site {
    service: Service,
    users: u64,
}

impl System for Site {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.service.address("site")?.to_owned())
    }

    fn process(&self) -> &Process {
        self.service.process()
    }

    fn customers(&self) -> Option<u64> {
        Some(self.users)
    }
}

/// Starts the site.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<Site> {
    let users = users(settings, workshop)?;
    let launch = of_this_program("site", cores, &folder.join("site.log"))?;
    let args = arguments(settings, workshop, folder);
    Ok(Site { service: Service::start(launch.args(args))?, users })
}

fn arguments(settings: &Settings, workshop: &Workshop, folder: &Path) -> Vec<String> {
    let fixed = ["site", "auction", "--listen", "127.0.0.1:0"];
    let mut args: Vec<String> = fixed.map(String::from).to_vec();
    let database = settings.database.as_ref().map(|url| ("--database", url.clone()));
    let others = [
        ("--scale", SCALE.to_string()),
        ("--extra-cpu", (1e3 * settings.extra_cpu).to_string()),
        ("--extra-cpu-after", workshop.overrides.extra_cpu_after.as_secs_f64().to_string()),
        ("--data", workshop.data(NAME, settings).display().to_string()),
        ("--password-cost", settings.password_cost.clone()),
    ];
    let trace = settings.is_traced().then(|| ("--trace", folder.join(TRACE).display().to_string()));
    for (flag, value) in others.into_iter().chain(database).chain(trace) {
        args.extend([flag.to_owned(), value]);
    }
    args
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_cost_of_a_password_has_a_database_of_its_own() {
        let out = tempfile::tempdir().unwrap();
        let workshop = Workshop::open(out.path(), out.path()).unwrap();
        let words = |cost: &str| {
            let settings = Settings { password_cost: cost.into(), ..Settings::default() };
            let args = arguments(&settings, &workshop, out.path());
            ["--password-cost", "--data"].map(|flag| {
                let at = args.iter().position(|word| word == flag).unwrap();
                args[at + 1].clone()
            })
        };
        let shared = out.path().join("shared").display().to_string();
        assert_eq!(words("light"), ["light".into(), format!("{shared}/site")]);
        assert_eq!(words("owasp"), ["owasp".into(), format!("{shared}/site-owasp")]);
    }
}
