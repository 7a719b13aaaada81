//! Reads the command line. Mistakes that clap describes by its own terms are put in those of
//! the user.

use clap::Parser;
use clap::error::{ContextKind, ContextValue, ErrorKind};

use crate::exit::{Outcome, bad_input};

/// The parsed command line.
///
/// # Errors
/// The exit code, after the mistake, the help or the version was printed.
pub fn parse<C: Parser>() -> Result<C, std::process::ExitCode> {
    C::try_parse().map_err(|error| match second(&error) {
        Some(word) => Outcome::report(Err(bad_input(format!(
            "{word}: a second URL or scenario; give one, in quotes if it has a space"
        )))),
        None => error.exit(),
    })
}

/// The second of two arguments where only one can be given. It could be a subcommand, and clap
/// takes it for one.
fn second(error: &clap::Error) -> Option<&str> {
    match (error.kind(), error.get(ContextKind::InvalidSubcommand)?) {
        (ErrorKind::ArgumentConflict, ContextValue::String(word)) => Some(word),
        _ => None,
    }
}
