//! The log of the gate on the standard error output.

use crate::exit::bad_input;
use tidegate_gate::config::{Config, LogFormat};
use tracing_subscriber::EnvFilter;
use tracing_subscriber::filter::ParseError;

/// Changes the level of the log.
pub type SetLevel = Box<dyn Fn(&str)>;

/// Starts the log. Returns how to change its level.
///
/// # Errors
/// The configured level is no filter.
pub fn start(config: &Config) -> anyhow::Result<SetLevel> {
    let filter = filter(&config.log.level).map_err(bad_input)?;
    let log = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr);
    Ok(match config.log.format {
        LogFormat::Text => {
            let log = log.with_ansi(std::io::IsTerminal::is_terminal(&std::io::stderr()));
            let log = log.with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |level| set_level(level, |filter| handle.reload(filter)))
        }
        LogFormat::Json => {
            let log = log.json().with_filter_reloading();
            let handle = log.reload_handle();
            log.init();
            Box::new(move |level| set_level(level, |filter| handle.reload(filter)))
        }
    })
}

/// The filter of a level. The NATS library logs each attempt to connect; the gate has lines of its
/// own for what an operator must know.
fn filter(level: &str) -> Result<EnvFilter, ParseError> {
    const NATS: &str = "async_nats";
    match level.contains(NATS) {
        true => EnvFilter::try_new(level),
        false => EnvFilter::try_new(format!("{level},{NATS}=off")),
    }
}

fn set_level<E: std::fmt::Display>(level: &str, set: impl FnOnce(EnvFilter) -> Result<(), E>) {
    let set = match filter(level) {
        Ok(filter) => set(filter).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = set {
        tracing::error!("log.level = {level:?} was not set: {error}");
    }
}
