//! Errors of the sites by whose they are: the operator's, or the program's.

use crate::exit::bad_input;

/// Marks what the operator can mend.
pub(super) fn classify(error: tidegate_sitekit::Error) -> anyhow::Error {
    match error {
        tidegate_sitekit::Error::Operator(_) => bad_input(error),
        other => other.into(),
    }
}
