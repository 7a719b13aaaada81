//! The shop of a run, with a card processor of its own beside it.

use std::path::{Path, PathBuf};

use tidegate_card::client::return_url;
use tidegate_host::Cores;
use tidegate_lab::{CardProcessor, Launch, Service, free_address};
use tidegate_shop::{Options, RETURNED};

use super::served::{self, Served, path, prepared};
use super::site::TRACE;
use super::{Workshop, of_this_program, password_cost};
use crate::experiment::Settings;
use crate::{Error, Result};

/// Folder of its database: each size has one of its own.
fn folder(settings: &Settings, workshop: &Workshop) -> PathBuf {
    workshop.data(&format!("shop-{}", settings.size), settings)
}

/// Makes the shop's database if it is not there; the number of its customers.
///
/// # Errors
/// It cannot be made.
pub(super) fn prepare(settings: &Settings, workshop: &Workshop) -> Result<u64> {
    let internal = |error: String| Error::Internal(format!("system: {error}"));
    let data = folder(settings, workshop);
    let options = Options {
        data: data.clone(),
        database: settings.database.clone(),
        size: Some(settings.size.parse().map_err(internal)?),
        password_cost: password_cost(settings)?,
        ..Options::default()
    };
    let prepared = prepared(tidegate_shop::prepare(&options), settings, &data)?;
    served::customers(prepared.customers)
}

/// Starts the processor and the shop.
pub(super) fn start(
    settings: &Settings,
    cores: &Cores,
    workshop: &Workshop,
    run: &Path,
) -> Result<Served> {
    let customers = prepare(settings, workshop)?;
    let listen = free_address()?;
    let public_url = format!("http://{listen}");
    let returns_to = return_url(&public_url, RETURNED)?.to_string();
    let card = folder(settings, workshop).join("card");
    let processor = CardProcessor::prepare(&card, "shop", ([127, 0, 0, 1], 0).into(), returns_to)?;
    let launch = Launch::this_program("card processor").log(&run.join("card.log"))?;
    let running = processor.start(launch)?;
    let args = served::arguments(
        &["site", "shop"],
        [
            ("--listen", Some(listen.to_string())),
            ("--data", Some(path(&folder(settings, workshop)))),
            ("--database", settings.database.clone()),
            ("--size", Some(settings.size.clone())),
            ("--build", Some(settings.build.clone())),
            ("--password-cost", Some(settings.password_cost.clone())),
            ("--card-processor", Some(running.url.clone())),
            ("--card-key-file", Some(path(processor.key_file()))),
            ("--public-url", Some(public_url)),
            ("--trace", settings.is_traced().then(|| path(&run.join(TRACE)))),
            ("--log", Some("warn".to_owned())),
        ],
    );
    let launch = of_this_program("shop", cores, &run.join("site.log"))?;
    let service = Service::start(launch.args(args))?;
    Ok(Served::new(service, customers).with_processor(running))
}
