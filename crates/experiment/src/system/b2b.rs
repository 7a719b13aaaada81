//! The services between businesses of a run, in one process.

use std::path::{Path, PathBuf};

use tidegate_b2b::Options;
use tidegate_host::Cores;
use tidegate_lab::Service;

use super::served::{self, Copy, Served, path, prepared};
use super::site::TRACE;
use super::{Workshop, of_this_program};
use crate::Result;
use crate::experiment::Settings;

/// The database in the folder of its data.
const DATABASE: &str = "b2b.db";

/// Folder of the database that every run begins with.
fn folder(workshop: &Workshop) -> PathBuf {
    workshop.shared.join("b2b")
}

/// Makes the database if it is not there; the number of its businesses.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<u64> {
    let data = folder(workshop);
    let options = Options {
        data: data.clone(),
        database: settings.database.clone(),
        scale: Some(Options::SCALE),
        ..Options::default()
    };
    let prepared = prepared(tidegate_b2b::prepare(&options), settings, &data)?;
    served::customers(prepared.customers)
}

/// Starts the services on a copy of the database.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    run: &Path,
) -> Result<Served> {
    let customers = prepare(settings, workshop)?;
    let data = Copy::make(&folder(workshop).join(DATABASE), settings, run)?;
    let mut args = served::arguments(
        &["site", "b2b", "--listen", "127.0.0.1:0"],
        [
            ("--data", Some(path(data.folder()))),
            ("--database", settings.database.clone()),
            ("--cores", Some(cores.to_string())),
            ("--trace", settings.is_traced().then(|| path(&run.join(TRACE)))),
            ("--log", Some("warn".to_owned())),
        ],
    );
    if settings.security != "none" && !settings.gate {
        let certificate = workshop.certificate(&settings.certificate)?;
        args.extend(["--tls".into(), "both".into()]);
        args.extend(["--certificate".into(), path(&certificate.chain)]);
        args.extend(["--key".into(), path(&certificate.key)]);
        if settings.security != "modern" {
            args.push("--no-resumption".into());
        }
        if settings.mutual {
            // Customers show this certificate too, and it is its own authority.
            args.extend([
                "--client-ca".into(),
                path(&certificate.chain),
                "--client-required".into(),
            ]);
        }
    }
    let launch = of_this_program("b2b", cores, &run.join("site.log"))?;
    Ok(Served::new(Service::start(launch.args(args))?, customers).with_copy(data))
}
