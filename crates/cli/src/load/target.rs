//! Which argument is the service: a URL needs no flag.

use std::path::Path;

use tidegate_load::Scenario;

use super::args::Args;
use super::names::{mended_url, unknown};
use crate::exit::bad_input;

/// Moves a URL from the place of the scenario to that of the target.
///
/// # Errors
/// Bad input: no target, two of them, or one without a scheme.
pub(super) fn find(args: &mut Args) -> anyhow::Result<()> {
    if args.list || args.show.is_some() || args.reference {
        return Ok(());
    }
    if args.scenario.as_ref().is_some_and(|given| given.contains("://")) {
        let url = args.scenario.take().expect("it was just found");
        if let Some(target) = &args.target {
            return Err(bad_input(format!(
                "{url} and --target {target} are two services: give one of them"
            )));
        }
        args.target = Some(url);
    }
    for (flag, given) in [("--target ", &args.target), ("", &args.scenario)] {
        let Some(given) = given.as_deref().filter(|given| !given.contains("://")) else { continue };
        if let Some(meant) = mended_url(given)
            && !is_scenario(given)
        {
            return Err(bad_input(format!("{flag}{given}: is no URL; did you mean {meant}?")));
        }
    }
    match (&args.target, &args.scenario) {
        (Some(target), _) if !target.contains("://") => Err(bad_input(format!(
            "--target {target}: the scheme is missing; write http://{target} or https://{target}"
        ))),
        (Some(_), _) => Ok(()),
        (None, Some(given)) if is_scenario(given) => Err(bad_input(format!(
            "{given} on which service? Write tidegate load {given} --target https://HOST[:PORT]"
        ))),
        (None, Some(given)) if given.contains(['.', ':']) || given == "localhost" => {
            Err(bad_input(format!(
                "{given}: no such scenario file; for a URL write http://{given} or https://{given}"
            )))
        }
        (None, Some(given)) => Err(bad_input(unknown(given))),
        (None, None) => Err(bad_input(
            "no service to load: write tidegate load https://HOST[:PORT]/PATH for one page, or \
             tidegate load SCENARIO --target https://HOST[:PORT]",
        )),
    }
}

fn is_scenario(given: &str) -> bool {
    tidegate_config::exists(Path::new(given)) || Scenario::built_in_text(given).is_some()
}
