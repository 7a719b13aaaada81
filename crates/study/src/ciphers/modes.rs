//! How customers use connections: new ones, resumed ones, kept ones.

use serde::Serialize;
use tidegate_load::{KeepAlive, Plan, TicketsOf};

/// How customers use connections.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// A connection with a full handshake for each interaction.
    Full,
    /// A connection for each interaction; all but the first of a session resume.
    Resumed,
    /// One connection for a session, with a full handshake.
    Kept,
    /// One connection for a session, which resumes an earlier one.
    Returning,
    /// Connections stay open from session to session.
    Open,
}

impl Mode {
    /// All, the costliest first.
    pub const ALL: [Self; 5] = [Self::Full, Self::Resumed, Self::Kept, Self::Returning, Self::Open];

    /// How the customers of a plan use connections.
    pub(super) fn of(plan: &Plan) -> Self {
        match plan.keep {
            KeepAlive::Request if plan.full_share.is_some_and(|share| share > 0.5) => Self::Full,
            KeepAlive::Request => Self::Resumed,
            KeepAlive::Session if plan.full_share.is_some_and(|share| share < 0.5) => {
                Self::Returning
            }
            KeepAlive::Session => Self::Kept,
            KeepAlive::Customer => Self::Open,
        }
    }

    /// Lets the customers of a plan use connections so.
    pub(super) fn put(self, plan: &mut Plan) {
        let (keep, full_share, tickets) = match self {
            Self::Full => (KeepAlive::Request, Some(1.0), None),
            Self::Resumed => (KeepAlive::Request, None, Some(TicketsOf::Customer)),
            Self::Kept => (KeepAlive::Session, None, Some(TicketsOf::Customer)),
            Self::Returning => (KeepAlive::Session, Some(0.0), Some(TicketsOf::All)),
            Self::Open => (KeepAlive::Customer, None, Some(TicketsOf::Customer)),
        };
        (plan.keep, plan.full_share, plan.tickets) = (keep, full_share, tickets);
    }

    /// In words, for a table.
    pub fn name(self) -> &'static str {
        match self {
            Self::Full => "a connection per interaction",
            Self::Resumed => "the same, resumed",
            Self::Kept => "a connection per session",
            Self::Returning => "the same, resumed from the last",
            Self::Open => "connections that stay open",
        }
    }

    /// The clause that says how customers use connections so.
    pub(super) fn clause(self) -> &'static str {
        match self {
            Self::Full => "with a connection and a full handshake for each interaction",
            Self::Resumed => "with a connection for each interaction, resumed within a session",
            Self::Kept => "with one connection for a session",
            Self::Returning => "with one connection for a session, which resumes the last",
            Self::Open => "with connections that stay open from session to session",
        }
    }
}
