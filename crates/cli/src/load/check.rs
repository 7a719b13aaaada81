//! Checks of flags that do not fit together, before a run that may last a day.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use tidegate_load::Plan;

use super::args::Args;
use super::results::is_stdout;
use crate::exit::bad_input;

/// # Errors
/// Bad input: the first combination that is not possible.
pub(super) fn check(args: &Args, plan: &Plan) -> anyhow::Result<()> {
    plan.check().map_err(bad_input)?;
    check_drivers(args)?;
    if (plan.warm_up + plan.measure).saturating_mul(args.repeat) > Plan::LONGEST {
        return Err(bad_input(format!(
            "--repeat {}: all runs together must be at most a day",
            args.repeat
        )));
    }
    check_files(args)
}

/// Rejects flags about TLS for an `http://` target.
pub(super) fn check_tls_flags(args: &Args) -> anyhow::Result<()> {
    let target = args.target.as_deref().unwrap_or_default();
    let flags = [
        ("--tls", args.tls.is_some()),
        ("--suites", !args.suites.is_empty()),
        ("--groups", !args.groups.is_empty()),
        ("--cert", args.cert.is_some()),
        ("--ca", args.ca.is_some()),
        ("--full-share", args.full_share.is_some()),
        ("--tickets", args.tickets.is_some()),
        ("--forged-tickets", args.forged_tickets),
    ];
    let given: Vec<&str> = flags.into_iter().filter(|flag| flag.1).map(|flag| flag.0).collect();
    let plain_http = target.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if given.is_empty() || !plain_http {
        return Ok(());
    }
    let flags = given.join(", ");
    Err(bad_input(format!(
        "{flags}: {target} is plain HTTP, without TLS; give an https:// target, or leave {} out",
        if given.len() == 1 { "it" } else { "these" }
    )))
}

/// Checks that every output file can be written and that no two flags name the same file.
fn check_files(args: &Args) -> anyhow::Result<()> {
    check_writable(&[
        ("--json", &args.json),
        ("--report", &args.report),
        ("--raw", &args.raw),
        ("--parquet", &args.parquet),
        ("--csv", &args.csv),
        ("--trace", &args.trace),
        ("--junit", &args.junit),
    ])
}

/// Checks that the file of every flag can be written and that no two flags name the same file.
///
/// # Errors
/// Bad input: the first flag for which it does not hold.
pub(super) fn check_writable(files: &[(&str, &Option<PathBuf>)]) -> anyhow::Result<()> {
    for (index, (flag, file)) in files.iter().enumerate() {
        let same = files[..index].iter().find(|(_, other)| file.is_some() && other == file);
        if let (Some((other, _)), Some(file)) = (same, file) {
            return Err(bad_input(format!(
                "{other} and {flag} both name {}: give each a file of its own",
                file.display()
            )));
        }
        if file.as_deref().is_some_and(is_stdout) {
            if *flag == "--json" {
                continue;
            }
            return Err(bad_input(format!(
                "{flag} -: only --json writes to standard output; name a file, such as ./- for \
                 one of this name"
            )));
        }
        if let Some(file) = file {
            try_to_write(file).map_err(|error| {
                let file = file.display();
                bad_input(format!("{flag} {file} cannot be written: {error}; name another file"))
            })?;
        }
    }
    Ok(())
}

/// Opens the file for writing and changes nothing.
fn try_to_write(file: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    match std::fs::metadata(file) {
        // Opening a pipe without a reader would block; devices are accepted as they are.
        Ok(it) if !it.is_file() && !it.is_dir() => Ok(()),
        Ok(_) => options.append(true).open(file).map(drop),
        Err(_) => {
            options.write(true).create_new(true).open(file)?;
            std::fs::remove_file(file)
        }
    }
}

fn check_drivers(args: &Args) -> anyhow::Result<()> {
    if let Some(cores) = &args.cores
        && cores.list().len() < args.drivers as usize
    {
        return Err(bad_input(format!(
            "--cores {cores}: {} processor(s) for {} drivers; give at least one for each driver, \
             or leave the flag out",
            cores.list().len(),
            args.drivers
        )));
    }
    if args.start_at.is_some() && args.repeat > 1 {
        return Err(bad_input(
            "--start-at is the start of one run; use it without --repeat, one run after the other",
        ));
    }
    Ok(())
}
