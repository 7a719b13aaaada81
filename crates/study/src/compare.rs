//! Two runs of the same study.

use std::path::Path;

use tidegate_experiment::compare::{
    Comparison, can_be_compared, commits, compare_groups, different, differing,
};
use tidegate_experiment::{Result, State};

use crate::messages::{self, Kept};

/// Compares two folders.
///
/// # Errors
/// [`tidegate_experiment::Error::Operator`]: one holds no study, one that cannot be compared, or
/// one of another version; or they are of different studies.
pub fn compare(first: &Path, second: &Path) -> Result<Comparison> {
    can_be_compared(first)?;
    can_be_compared(second)?;
    let name = |folder| State::of(folder).map(|state| state.experiment.name);
    match (Kept::of(first)?, Kept::of(second)?) {
        (Some(a), Some(b)) => Ok(of_messages(&a, &b)),
        (Some(_), None) => Err(different((first, messages::NAME), (second, &name(second)?))),
        (None, Some(_)) => Err(different((first, &name(first)?), (second, messages::NAME))),
        (None, None) => Comparison::of(first, second),
    }
}

fn of_messages(a: &Kept, b: &Kept) -> Comparison {
    let named = a.settings.named().into_iter().zip(b.settings.named());
    let mut settings = differing(named.map(|((what, first), (_, second))| (what, first, second)));
    let both = (commits(a.commits.clone()), commits(b.commits.clone()));
    settings.extend(differing([("commit", both.0, both.1)]));
    let metrics = a.metrics();
    let metrics: Vec<&str> = metrics.iter().map(String::as_str).collect();
    let compared = compare_groups(&a.rounds, &b.rounds, |it| it.to_string(), &metrics);
    Comparison { study: messages::NAME.into(), settings, ..compared }
}
