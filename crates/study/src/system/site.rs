//! The auction site of a run.

use std::path::Path;
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_lab::Service;
use tidegate_sites::auction::{self, Options};
use tidegate_sites::password::PasswordCost;

use super::{Workshop, of_this_program};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Name of the site's trace in the folder of a run.
pub const TRACE: &str = "site.trace";

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
        data: workshop.data.clone(),
        database: settings.database.clone(),
        scale: Some(SCALE),
        password_cost: PasswordCost::LIGHT,
        extra_cpu: Duration::from_secs_f64(settings.extra_cpu),
        ..Options::default()
    };
    let prepared = auction::prepare(&options).map_err(|error| match error {
        tidegate_sites::Error::Database(_) if settings.database.is_some() => Error::Process(
            format!("the site's {error}; look at the log of the server of system.database"),
        ),
        tidegate_sites::Error::Database(_) => Error::Process(format!(
            "the site's {error}; make room in {}, or give --out another folder",
            workshop.data.display()
        )),
        other => other.into(),
    })?;
    u64::try_from(prepared.users).map_err(|_| Error::Internal("the population has no users".into()))
}

/// Starts the site, and returns it with the number of its users.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<(Service, u64)> {
    let users = users(settings, workshop)?;
    let fixed = ["site", "auction", "--listen", "127.0.0.1:0", "--password-cost", "light"];
    let mut args: Vec<String> = fixed.map(String::from).to_vec();
    let database = settings.database.as_ref().map(|url| ("--database", url.clone()));
    let others = [
        ("--scale", SCALE.to_string()),
        ("--extra-cpu", (1e3 * settings.extra_cpu).to_string()),
        ("--data", workshop.data.display().to_string()),
    ];
    let trace = settings.is_traced().then(|| ("--trace", folder.join(TRACE).display().to_string()));
    for (flag, value) in others.into_iter().chain(database).chain(trace) {
        args.extend([flag.to_owned(), value]);
    }
    let launch = of_this_program("site", cores, &folder.join("site.log"))?.args(args);
    Ok((Service::start(launch)?, users))
}
