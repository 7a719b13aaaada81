//! How a command ends: the exit codes that scripts rely on.

use std::fmt;
use std::process::ExitCode;

/// How a command ended when nothing stood in its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: it ran, and a goal or threshold was missed.
    GoalMissed,
}

/// Marks an error as the operator's to mend: exit code 2. Every other error
/// is a run that failed: exit code 3.
#[derive(Debug)]
pub struct BadInput(pub String);

impl fmt::Display for BadInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl std::error::Error for BadInput {}

/// An error that ends the command with exit code 2.
pub fn bad_input(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(BadInput(message.to_string()))
}

impl Outcome {
    /// Prints an error, if there is one, and turns the result into an exit code.
    pub fn report(result: anyhow::Result<Self>) -> ExitCode {
        match result {
            Ok(Self::Done) => ExitCode::SUCCESS,
            Ok(Self::GoalMissed) => ExitCode::from(1),
            Err(error) => {
                let bad = error
                    .chain()
                    .any(|cause| cause.is::<BadInput>() || cause.is::<tidegate_lab::BadInput>());
                eprintln!("tidegate: {error:#}");
                ExitCode::from(if bad { 2 } else { 3 })
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use anyhow::Context;

    fn code(result: anyhow::Result<Outcome>) -> String {
        format!("{:?}", Outcome::report(result))
    }

    #[test]
    fn each_kind_of_ending_has_its_own_code() {
        assert_eq!(code(Ok(Outcome::Done)), format!("{:?}", ExitCode::from(0)));
        assert_eq!(code(Ok(Outcome::GoalMissed)), format!("{:?}", ExitCode::from(1)));
        assert_eq!(code(Err(bad_input("x"))), format!("{:?}", ExitCode::from(2)));
        assert_eq!(code(Err(anyhow::anyhow!("x"))), format!("{:?}", ExitCode::from(3)));
    }

    #[test]
    fn bad_input_stays_bad_input_under_context() {
        let error = Err(bad_input("x")).context("while reading y");
        assert_eq!(code(error), format!("{:?}", ExitCode::from(2)));
    }
}
