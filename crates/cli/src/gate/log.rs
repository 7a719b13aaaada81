//! The log of the gate on the standard error output.

use crate::exit::bad_input;
use tidegate_gate::config::{Config, LogFormat};
use tracing_subscriber::EnvFilter;

/// Changes the level of the log.
pub type SetLevel = Box<dyn Fn(&str)>;

/// Starts the log. Returns how to change its level.
///
/// # Errors
/// The configured level is no filter.
pub fn start(config: &Config) -> anyhow::Result<SetLevel> {
    let filter = EnvFilter::try_new(&config.log.level).map_err(bad_input)?;
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

fn set_level<E: std::fmt::Display>(level: &str, set: impl FnOnce(EnvFilter) -> Result<(), E>) {
    let set = match EnvFilter::try_new(level) {
        Ok(filter) => set(filter).map_err(|error| error.to_string()),
        Err(error) => Err(error.to_string()),
    };
    if let Err(error) = set {
        tracing::error!("log.level = {level:?} was not set: {error}");
    }
}
