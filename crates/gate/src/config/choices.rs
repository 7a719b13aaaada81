//! Keys whose values are words.

use serde::{Deserialize, Serialize};
use tidegate_config::Word;

/// Declares an enum whose variants are words, with its list of all values.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])*
        pub enum $Name:ident { $(
            $(#[doc = $doc:literal])*
            $(#[cfg($cfg:meta)])?
            $Variant:ident = $word:literal,
        )* }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $Name { $(
            $(#[doc = $doc])*
            $(#[cfg($cfg)])?
            #[serde(rename = $word)]
            $Variant,
        )* }

        impl $Name {
            /// Every value, in the order in which they are documented.
            pub const ALL: &'static [Self] = &[$($(#[cfg($cfg)])? Self::$Variant),*];

            /// The word in the configuration file.
            pub const fn name(self) -> &'static str {
                match self { $($(#[cfg($cfg)])? Self::$Variant => $word),* }
            }
        }

        impl Word for $Name {
            fn word(self) -> &'static str {
                self.name()
            }
        }

        impl std::fmt::Display for $Name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $Name {
            type Err = String;

            /// # Errors
            /// Names the allowed words.
            fn from_str(text: &str) -> Result<Self, String> {
                Self::ALL.iter().copied().find(|value| value.name() == text).ok_or_else(|| {
                    let all: Vec<_> = Self::ALL.iter().map(|value| value.name()).collect();
                    format!("must be one of {}", all.join(", "))
                })
            }
        }
    )*};
}

words! {
    /// How the gate decides about new sessions.
    pub enum Policy {
        /// Every session is admitted.
        Off = "off",
        /// A fixed rate of new sessions.
        Static = "static",
        /// The admission control of the study of 2007.
        Eac = "eac",
        /// Measured costs against measured capacity.
        Tide = "tide",
        /// A limit of the work in flight, for comparison.
        #[cfg(feature = "rivals")]
        BacklogOnly = "backlog-only",
        /// CoDel on the admission queue, for comparison.
        #[cfg(feature = "rivals")]
        CoDel = "codel",
    }

    /// How important the requests of a route are.
    pub enum Priority {
        /// They give way to all others and to new sessions.
        Low = "low",
        /// They give way to requests of high priority.
        Normal = "normal",
        /// They are never refused in favour of others.
        High = "high",
    }

    /// How a new session is refused.
    pub enum Refusal {
        /// A waiting room: a page with a place in the line.
        Page = "page",
        /// A TCP reset.
        Reset = "reset",
        /// A fatal TLS alert, then a close.
        Alert = "alert",
    }

    /// Whether clients show a certificate.
    pub enum ClientAuth {
        /// None is asked for.
        Off = "off",
        /// One is asked for; without one, clients connect all the same.
        Request = "request",
        /// Without one there is no connection.
        Require = "require",
    }

    /// Where a cookie carries the session from one connection to the next.
    pub enum SessionCookie {
        /// Nowhere.
        Off = "off",
        /// On plain HTTP, where there are no tickets.
        Clear = "clear",
        /// Over TLS as well.
        All = "all",
    }

    /// Lowest TLS version accepted.
    pub enum MinimumVersion {
        /// TLS 1.2 and 1.3.
        Tls12 = "1.2",
        /// TLS 1.3 only.
        Tls13 = "1.3",
    }

    /// What the gate does with the header fields of a request that claim where it comes from,
    /// such as `X-Forwarded-For`.
    pub enum Forwarded {
        /// Those of the request are removed and the gate's own are set.
        Replace = "replace",
        /// The gate's own are added to those of the request.
        Append = "append",
        /// Those of the request are removed; the gate sets none.
        Off = "off",
        /// They pass unchanged; the gate sets none.
        Pass = "pass",
    }

    /// Which `Host` the upstream receives.
    pub enum Host {
        /// The one of the customer's request.
        Keep = "keep",
        /// Host and port of `upstream.url`.
        Upstream = "upstream",
    }

    /// What becomes of requests for a WebSocket.
    pub enum WebSocket {
        /// They go to the upstream; where it agrees, the connection becomes a tunnel.
        Tunnel = "tunnel",
        /// The gate answers 403.
        Refuse = "refuse",
    }

    /// Form of the access log's lines.
    pub enum AccessFormat {
        /// One JSON object per line.
        Json = "json",
        /// The combined format of Apache and nginx.
        Combined = "combined",
    }

    /// Form of log lines.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object per line.
        Json = "json",
    }
}

/// Processor cores to run on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Cores {
    /// Every core that the process's affinity allows.
    All,
    /// These, by the kernel's numbers; ascending, each once, at least one.
    List(Vec<usize>),
}

impl Cores {
    /// The cores by number: the given list, or all of the process's affinity.
    /// Never empty.
    ///
    /// # Errors
    /// The affinity cannot be read from the kernel.
    pub fn resolve(&self) -> std::io::Result<Vec<usize>> {
        match self {
            Self::All => tidegate_host::Cores::of_this_process().map(|cores| cores.list().to_vec()),
            Self::List(list) => Ok(list.clone()),
        }
    }
}

/// Processes that make up the upstream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Processes {
    /// The process that listens on the upstream's port, if that is on this host.
    Auto,
    /// None is measured.
    None,
    /// These process ids.
    List(Vec<u32>),
}
impl From<Priority> for tidegate_control::Priority {
    fn from(priority: Priority) -> Self {
        match priority {
            Priority::Low => Self::Low,
            Priority::Normal => Self::Normal,
            Priority::High => Self::High,
        }
    }
}
