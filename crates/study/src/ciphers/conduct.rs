//! Measures a site, from what it offers to what to choose.

use std::time::{Duration, Instant};

use tidegate_experiment::turns::Order;
use tidegate_experiment::{Error, Folder, Result, requests_each};
use tidegate_host::Provenance;

use super::advice::Chooser;
use super::analysis::Found;
use super::kinds::{self, Factor, Kind};
use super::modes::Mode;
use super::options::{Design, Options};
use super::trial::{Bench, RUNS, Trial};
use super::{Event, NAME, Report, output};
use crate::live::Counters;
use crate::site::addresses::addresses;
use crate::site::clear::clear;
use crate::site::measure::Measuring;
use crate::site::processes::Processes;
use crate::site::step::Limit;

/// Measures a site and leaves the result in its folder.
///
/// # Errors
/// [`Error::Operator`] for what the user has to change, otherwise what failed; also when it is
/// interrupted. Then there is no finished result.
pub fn study(
    options: &Options,
    provenance: Provenance,
    show: &mut dyn FnMut(Event),
) -> Result<Report> {
    let plan = &options.plan;
    if !plan.target.starts_with("https://") {
        return Err(Error::Operator(format!(
            "--target {}: has no TLS; give the https:// address of the site",
            plan.target
        )));
    }
    let addresses = addresses(plan)?;
    if let Some(admin) = &options.gate_admin {
        Counters::read(admin).map_err(|why| Error::Operator(format!("--gate-admin {why}")))?;
    }
    let folder = Folder::create(&options.out)?;
    folder.begin_anew(NAME)?;
    clear(&folder, &[RUNS], &[output::PAGE, output::RESULTS])?;
    let site = Processes::of_site(&addresses, &options.processes, &mut |note| {
        show(Event::Note(note));
    })?;
    let (kinds, not_offered) = kinds::find(plan)?;
    show(Event::Note(format!("customers get today: {}", kinds[0].levels())));
    let offers = kinds[1..].iter().map(Kind::name).collect::<Vec<_>>();
    show(Event::Note(match offers.is_empty() {
        true => "the site offers nothing else".to_owned(),
        false => format!("the site offers as well: {}", offers.join(", ")),
    }));
    let look = Measuring {
        plan,
        one_page: false,
        // No step is judged.
        limit: Limit { ms: f64::INFINITY, percentile: 95 },
        length: options.window,
        folder: &folder,
        site: site.as_ref(),
        began: Instant::now(),
        number: 0,
        overloaded: false,
    }
    .look()?;
    let requests = requests_each(&plan.scenario);
    let design = options.design(Duration::from_secs_f64(look.response_s * requests));
    let own_mode = Mode::of(plan);
    let mut bench = Bench {
        plan,
        folder: &folder,
        site: site.as_ref(),
        gate_admin: options.gate_admin.as_deref(),
        requests_each: requests,
        design,
        number: 0,
    };
    let trials = measure(&mut bench, &kinds, own_mode, show)?;
    let found = Found::of(&trials);
    let advice =
        Chooser { found: &found, kinds: &kinds, not_offered: &not_offered, own: own_mode }.advice();
    let report = Report {
        options: options.clone(),
        processes: site.as_ref().map(Processes::in_words),
        requests_each: requests,
        own_mode,
        kinds,
        not_offered,
        trials,
        found,
        advice,
        provenance,
    };
    output::write(&folder, &report)?;
    Ok(report)
}

/// Which kinds are used in which way. Handshakes show with a connection for each interaction;
/// ciphers as well where connections stay open.
fn contenders(kinds: &[Kind], own: Mode) -> Vec<(usize, Mode)> {
    let ways = |kind: &Kind| {
        let all = matches!(kind.factor, None | Some(Factor::Cipher));
        Mode::ALL.into_iter().filter(move |mode| {
            all || *mode == own || matches!(mode, Mode::Full | Mode::Resumed | Mode::Kept)
        })
    };
    kinds.iter().enumerate().flat_map(|(at, kind)| ways(kind).map(move |mode| (at, mode))).collect()
}

/// Bytes and round trips of each once, then all rounds in random turns.
fn measure(
    bench: &mut Bench<'_>,
    kinds: &[Kind],
    own: Mode,
    show: &mut dyn FnMut(Event),
) -> Result<Vec<Trial>> {
    let contenders = contenders(kinds, own);
    let Design { rounds, warm_up, window } = bench.design;
    let mut left = contenders.len() as u32 * (rounds + 1);
    show(Event::Note(format!(
        "{} of connections and their uses, {rounds} rounds of runs of {:.1} s, about {:.0} minutes",
        tidegate_report::number::plural(contenders.len() as u64, "combination", "combinations"),
        (warm_up + window).as_secs_f64(),
        ((warm_up + window) * left).as_secs_f64() / 60.0 + 0.5
    )));
    let counted = contenders.iter().map(|it| (*it, None));
    let turns = Order::seeded(bench.plan.seed).turns(contenders.len(), rounds);
    let measured = turns.map(|turn| (contenders[turn.contender], Some(turn.round)));
    let mut trials = Vec::new();
    for ((kind, mode), round) in counted.chain(measured) {
        let of = (kind, &kinds[kind]);
        let trial = match round {
            Some(round) => bench.run(of, mode, round),
            None => bench.count(of, mode),
        }?;
        left -= 1;
        show(Event::Trial(&trial, &kinds[kind], (warm_up + window) * left));
        trials.push(trial);
    }
    Ok(trials)
}

#[cfg(test)]
mod tests {
    use super::super::kinds::tests::{today, with_group};
    use super::*;

    #[test]
    fn todays_kind_is_used_in_every_way_and_a_group_where_handshakes_are() {
        let kinds = [today(), with_group("X25519MLKEM768")];
        let of = |own| {
            let all = contenders(&kinds, own);
            [0, 1].map(|kind| all.iter().filter(|it| it.0 == kind).count())
        };
        assert_eq!(of(Mode::Kept), [5, 3]);
        assert_eq!(of(Mode::Open), [5, 4], "the scenario's own use is always measured");
    }
}
