//! Settings that are a choice between words.

use serde::{Deserialize, Serialize};

/// A type whose values are words of the configuration file.
pub trait Word: Copy + Sized + 'static {
    /// The word of each value.
    fn word(self) -> &'static str;
}

/// Declares an enum whose variants are words, with its list of all values.
macro_rules! words {
    ($(
        $(#[doc = $about:literal])*
        pub enum $Name:ident { $( $(#[doc = $doc:literal])* $Variant:ident = $word:literal, )* }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
        pub enum $Name { $( $(#[doc = $doc])* #[serde(rename = $word)] $Variant, )* }

        impl $Name {
            /// Every value, in the order in which they are documented.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// The word in the configuration file.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $word),* }
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
    /// Who decides about newcomers.
    pub enum Policy {
        /// Nobody: all are let in.
        Off = "off",
        /// A fixed rate.
        Static = "static",
        /// The rule of 2007.
        Eac = "eac",
        /// Measured costs against measured capacity.
        Tide = "tide",
    }

    /// How a newcomer is refused.
    pub enum Refusal {
        /// A TCP reset.
        Reset = "reset",
        /// A fatal TLS alert, then a close.
        Alert = "alert",
    }

    /// Key of a self-signed certificate.
    pub enum SelfSigned {
        /// ECDSA over P-256.
        EcdsaP256 = "ecdsa-p256",
        /// RSA of 2048 bits.
        Rsa2048 = "rsa-2048",
    }

    /// Oldest TLS version spoken.
    pub enum MinimumVersion {
        /// TLS 1.2 and 1.3.
        Tls12 = "1.2",
        /// TLS 1.3 only.
        Tls13 = "1.3",
    }

    /// What becomes of the `X-Forwarded-*` header fields of a request.
    pub enum Forwarded {
        /// The customer's are removed and the gate's own set.
        Replace = "replace",
        /// The gate's own are added to those that came.
        Append = "append",
        /// They pass as they came; the gate adds none.
        Off = "off",
    }

    /// Which `Host` the upstream sees.
    pub enum Host {
        /// The one the customer asked for.
        Keep = "keep",
        /// Host and port of `upstream.url`.
        Upstream = "upstream",
    }

    /// Form of log lines.
    pub enum LogFormat {
        /// For people.
        Text = "text",
        /// One JSON object a line.
        Json = "json",
    }
}

/// Processor cores to work on.
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
    /// The kernel does not tell the affinity.
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
    /// Whoever listens on the upstream's port, if that is on this host.
    Auto,
    /// Not looked at.
    None,
    /// These process ids.
    List(Vec<u32>),
}
