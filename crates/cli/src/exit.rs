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

/// A mistake of the operator.
#[derive(Debug)]
struct BadInput(String);

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

/// The exit code of an error: 2 where it is, or was caused by, bad input, else 3.
pub fn code_of(error: &anyhow::Error) -> u8 {
    let of = |cause: &(dyn std::error::Error + 'static)| match cause.downcast_ref() {
        Some(error) => tidegate_lab::Error::exit_code(error),
        None if cause.is::<BadInput>() => 2,
        None => 3,
    };
    error.chain().map(of).min().unwrap_or(3)
}

/// An error with its causes. Some errors state their cause themselves; it is not repeated.
pub fn in_words(error: &anyhow::Error) -> String {
    error.chain().skip(1).fold(error.to_string(), |text, cause| {
        let cause = cause.to_string();
        if text.contains(&cause) { text } else { format!("{text}: {cause}") }
    })
}

impl Outcome {
    /// The exit code of a result; an error is printed first.
    pub fn report(result: anyhow::Result<Self>) -> ExitCode {
        match result {
            Ok(Self::Done) => ExitCode::SUCCESS,
            Ok(Self::GoalMissed) => ExitCode::from(1),
            Err(error) => {
                eprintln!("tidegate: {}", in_words(&error));
                ExitCode::from(code_of(&error))
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
    fn a_cause_is_told_once() {
        let refused = || std::io::Error::other("no such device");
        let error = tidegate_load::Error::System { what: "a timer", source: refused() };
        let error = anyhow::Error::new(error).context("loading");
        assert_eq!(in_words(&error), "loading: a timer: no such device");
        let error = anyhow::Error::new(refused()).context("loading");
        assert_eq!(in_words(&error), "loading: no such device");
    }

    #[test]
    fn bad_input_stays_bad_input_under_context() {
        let error = Err(bad_input("x")).context("while reading y");
        assert_eq!(code(error), format!("{:?}", ExitCode::from(2)));
    }

    #[test]
    fn an_error_of_an_experiment_has_its_own_code_also_under_context() {
        use tidegate_lab::Error::{Machine, Operator};
        for (error, code) in [(Operator("x".into()), 2), (Machine("x".into()), 3)] {
            let error = anyhow::Error::from(error);
            assert_eq!((code_of(&error), code_of(&error.context("y"))), (code, code));
        }
    }
}
