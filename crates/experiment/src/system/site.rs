//! The auction site of a run.

use std::path::Path;
use std::time::Duration;

use tidegate_auction::Options;
use tidegate_host::Cores;
use tidegate_lab::Service;

use super::served::{self, Served, path, prepared};
use super::{Workshop, of_this_program, password_cost};
use crate::Result;
use crate::experiment::Settings;

/// Name of the site's trace in the folder of a run.
pub const TRACE: &str = "site.trace";

/// Name of the folder of its database.
const NAME: &str = "site";
/// Size of the site's population, relative to that of RUBiS.
const SCALE: f64 = 0.01;

/// Makes the site's database if it is not there; the number of its users.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<u64> {
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
    served::customers(prepared.users)
}

/// Starts the site.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    folder: &Path,
) -> Result<Served> {
    let users = prepare(settings, workshop)?;
    let launch = of_this_program("site", cores, &folder.join("site.log"))?;
    let args = arguments("127.0.0.1:0", settings, workshop, folder);
    Ok(Served::new(Service::start(launch.args(args))?, users))
}

/// The command line of a site that listens there.
pub(super) fn arguments(
    listen: &str,
    settings: &Settings,
    workshop: &Workshop,
    folder: &Path,
) -> Vec<String> {
    let after = workshop.overrides.extra_cpu_after;
    served::arguments(
        &["site", "auction", "--listen", listen],
        [
            ("--scale", Some(SCALE.to_string())),
            ("--extra-cpu", Some((1e3 * settings.extra_cpu).to_string())),
            ("--extra-cpu-after", Some(after.as_secs_f64().to_string())),
            ("--data", Some(path(&workshop.data(NAME, settings)))),
            ("--password-cost", Some(settings.password_cost.clone())),
            ("--database", settings.database.clone()),
            ("--trace", settings.is_traced().then(|| path(&folder.join(TRACE)))),
        ],
    )
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
            let args = arguments("127.0.0.1:0", &settings, &workshop, out.path());
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
