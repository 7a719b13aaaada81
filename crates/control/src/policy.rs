//! The policies by name, and the answer that each of them gives.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// A policy and what it needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum PolicyKind {
    /// Every new session is admitted: a gate without admission control.
    Off,
    /// A token bucket: so many new sessions a second, whatever the load.
    Static {
        /// New sessions per second; 0 admits none.
        per_second: f64,
    },
    /// The rule of 2007: a number of new sessions released at the start of
    /// every interval.
    Eac {
        /// Length of the sampling interval; 2 s in the paper.
        interval: Duration,
        /// What connections cost, if that was profiled beforehand; otherwise it is learned.
        profile: Option<EacProfile>,
    },
    /// As many new sessions as the measured capacity carries to their end.
    #[default]
    Tide,
    /// A rival, for comparison: [`PolicyKind::Tide`] without plan, trim and latency limit,
    /// that is a limit of the work in flight alone.
    BacklogOnly,
    /// A rival, for comparison: CoDel on the admission queue (RFC 8289).
    CoDel {
        /// Threads of the service; 0: not known, and processors alone count.
        threads: u32,
    },
}

/// What connections cost, profiled before the rule of 2007 is in force, as in the paper.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct EacProfile {
    /// CPU seconds of a new connection with its requests, at gate and upstream.
    pub new_cpu_s: f64,
    /// The same of a returning one.
    pub returning_cpu_s: f64,
}

impl PolicyKind {
    /// The sampling interval of the 2007 rule, in its authors' experiments.
    pub const EAC_INTERVAL: Duration = Duration::from_secs(2);

    /// The name without its parameters.
    pub fn name(&self) -> PolicyName {
        match self {
            Self::Off => PolicyName::Off,
            Self::Static { .. } => PolicyName::Static,
            Self::Eac { .. } => PolicyName::Eac,
            Self::Tide => PolicyName::Tide,
            Self::BacklogOnly => PolicyName::BacklogOnly,
            Self::CoDel { .. } => PolicyName::CoDel,
        }
    }
}

/// The name of a policy, as flags, configuration and results spell it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum PolicyName {
    /// `off`
    Off,
    /// `static`
    Static,
    /// `eac`
    Eac,
    /// `tide`
    #[default]
    Tide,
    /// `backlog-only`
    #[serde(rename = "backlog-only")]
    BacklogOnly,
    /// `codel`
    CoDel,
}

impl PolicyName {
    /// The policies that users choose from, in the order of a comparison.
    pub const ALL: [Self; 4] = [Self::Off, Self::Static, Self::Eac, Self::Tide];
    /// Those that exist for comparison.
    pub const RIVALS: [Self; 2] = [Self::BacklogOnly, Self::CoDel];

    /// The name as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Off => "off",
            Self::Static => "static",
            Self::Eac => "eac",
            Self::Tide => "tide",
            Self::BacklogOnly => "backlog-only",
            Self::CoDel => "codel",
        }
    }
}

impl fmt::Display for PolicyName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl FromStr for PolicyName {
    type Err = UnknownPolicy;

    fn from_str(text: &str) -> Result<Self, UnknownPolicy> {
        Self::ALL.into_iter().find(|name| name.as_str() == text).ok_or(UnknownPolicy)
    }
}

/// A policy name that does not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownPolicy;

impl fmt::Display for UnknownPolicy {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("must be off, static, eac or tide")
    }
}

impl std::error::Error for UnknownPolicy {}

/// A decision on a new session.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// Admit it; it is counted from now on, whatever becomes of it.
    Admit,
    /// Not now: hold it or refuse it.
    NotNow {
        /// When another decision is worthwhile, from now. A hint, at least 1 ms: the
        /// next decision may be the same.
        retry_after: Duration,
    },
}

impl Decision {
    /// Whether the session is admitted.
    pub fn is_admit(self) -> bool {
        self == Self::Admit
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_name_reads_back_as_itself() {
        for name in PolicyName::ALL {
            assert_eq!(name.to_string().parse(), Ok(name));
        }
        assert_eq!("Tide".parse::<PolicyName>(), Err(UnknownPolicy));
    }

    #[test]
    fn the_default_policy_is_tide_under_both_types() {
        assert_eq!(PolicyKind::default().name(), PolicyName::default());
    }
}
