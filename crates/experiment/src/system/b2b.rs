//! The services between businesses of a run, in one process.

use std::path::{Path, PathBuf};

use tidegate_b2b::Options;
use tidegate_host::Cores;
use tidegate_lab::{Process, Service};

use super::site::{TRACE, prepared};
use super::{System, Workshop, of_this_program};
use crate::experiment::Settings;
use crate::folder::MAKE_ROOM;
use crate::{Error, Result};

/// The database in the folder of its data.
const DATABASE: &str = "b2b.db";

/// Services that are ready. Their process ends when this is dropped.
#[derive(Debug)]
pub(super) struct B2b {
    service: Service,
    customers: u64,
    data: PathBuf,
}

/// Makes the database if it is not there.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<()> {
    customers(settings, workshop).map(|_| ())
}

/// Folder of the database that every run begins with.
fn folder(workshop: &Workshop) -> PathBuf {
    workshop.shared.join("b2b")
}

fn customers(settings: &Settings, workshop: &Workshop) -> Result<u64> {
    let data = folder(workshop);
    let options = Options {
        data: data.clone(),
        database: settings.database.clone(),
        scale: Some(Options::SCALE),
        ..Options::default()
    };
    let prepared = prepared(tidegate_b2b::prepare(&options), settings, &data)?;
    u64::try_from(prepared.customers)
        .map_err(|_| Error::Internal("the population has no businesses".into()))
}

impl System for B2b {
    fn url(&self, _: bool) -> Result<String> {
        Ok(self.service.address("site")?.to_owned())
    }

    fn process(&self) -> &Process {
        self.service.process()
    }

    fn customers(&self) -> Option<u64> {
        Some(self.customers)
    }
}

impl Drop for B2b {
    fn drop(&mut self) {
        // The next run begins with a copy of its own. What is left is told by the disk alone.
        let _ = std::fs::remove_dir_all(&self.data);
    }
}

/// Starts the services on a copy of the database, so that every run begins with the same.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    run: &Path,
) -> Result<B2b> {
    let customers = customers(settings, workshop)?;
    let data = run.join("data");
    let machine = |error| {
        Error::Machine(format!(
            "cannot copy the database to {}: {error}; {MAKE_ROOM}",
            data.display()
        ))
    };
    std::fs::create_dir_all(&data).map_err(machine)?;
    if settings.database.is_none() {
        std::fs::copy(folder(workshop).join(DATABASE), data.join(DATABASE)).map_err(machine)?;
    }
    let path = |path: &Path| path.display().to_string();
    let mut args: Vec<String> = ["site", "b2b", "--listen", "127.0.0.1:0"].map(String::from).into();
    let values = [
        ("--data", Some(path(&data))),
        ("--database", settings.database.clone()),
        ("--cores", Some(cores.to_string())),
        ("--trace", settings.is_traced().then(|| path(&run.join(TRACE)))),
        ("--log", Some("warn".to_owned())),
    ];
    for (flag, value) in values {
        args.extend(value.into_iter().flat_map(|value| [flag.to_owned(), value]));
    }
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
    Ok(B2b { service: Service::start(launch.args(args))?, customers, data })
}
