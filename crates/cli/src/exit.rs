//! Exit codes.

use std::fmt;
use std::process::ExitCode;

/// The result of a command that ran to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Exit code 0.
    Done,
    /// Exit code 1: a goal or threshold was missed.
    GoalMissed,
}

pub use tidegate_lab::BadInput;

/// An error that ends the command with exit code 2.
pub fn bad_input(message: impl fmt::Display) -> anyhow::Error {
    anyhow::Error::new(BadInput(message.to_string()))
}

impl Outcome {
    /// The exit code of a result; an error is printed first.
    pub fn report(result: anyhow::Result<Self>) -> ExitCode {
        match result {
            Ok(Self::Done) => ExitCode::SUCCESS,
            Ok(Self::GoalMissed) => ExitCode::from(1),
            Err(error) => {
                let bad = error.chain().any(|cause| cause.is::<BadInput>());
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
    fn each_kind_of_result_has_its_own_code() {
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
