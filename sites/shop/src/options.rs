//! Options of the shop.

use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use tidegate_card::client::CardOptions;
use tidegate_sitekit::database::Location;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::server::runtimes;
use tidegate_sitekit::{Error, Result, named};

/// Options of the shop. `Default` is a small shop on this machine, without a card processor.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// URL of the database; without one, a SQLite file in `data`.
    pub database: Option<String>,
    /// Folder of the SQLite file; created if it is missing.
    pub data: PathBuf,
    /// Size of the population. `None` takes the database as it is, or [`Size::Small`] for a
    /// new one.
    pub size: Option<Size>,
    /// Seed of the population. `None` takes the database as it is, or 1.
    pub seed: Option<u64>,
    /// How browse pages are made.
    pub build: Build,
    /// How long what is kept of a page may be used, at most [`Options::LONGEST_KEPT`].
    pub keep: Duration,
    /// The card processor; without one nothing can be ordered.
    pub card: Option<CardOptions>,
    /// URL under which customers reach the shop, for its site map; without one, that of the
    /// request.
    pub public_url: Option<String>,
    /// Cost of a password hash.
    pub password_cost: PasswordCost,
    /// Addresses of proxies, beside those of this machine, whose `X-Forwarded-For` names the
    /// customer.
    pub trusted_proxies: Vec<IpAddr>,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor that
    /// this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
    /// File for a trace of what every connection does; none by default.
    pub trace: Option<PathBuf>,
}

/// How browse pages are made.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Build {
    /// Each anew, with a query for each thing that it shows.
    #[default]
    Baseline,
    /// Kept for [`Options::keep`], and made anew after a price has changed.
    Cached,
    /// As cached, with the header fields by which a crawler writes them to files.
    Rendered,
}

named!(Build: Baseline = "baseline", Cached = "cached", Rendered = "rendered");

/// A size of the population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Size {
    /// 500 products in 40 sets, 1,000 customers.
    Small,
    /// 5,000 products in 160 sets, 5,000 customers.
    Medium,
    /// 50,000 products in 800 sets, 20,000 customers.
    Large,
}

named!(Size: Small = "small", Medium = "medium", Large = "large");

impl Options {
    /// Default size of a new population.
    pub const SIZE: Size = Size::Small;
    /// Default seed of a new population.
    pub const SEED: u64 = 1;
    /// Default time for which a page is kept.
    pub const KEPT: Duration = Duration::from_secs(60);
    /// Longest time for which a page is kept.
    pub const LONGEST_KEPT: Duration = Duration::from_secs(3600);

    /// Where the database is.
    pub(super) fn location(&self) -> Result<Location> {
        runtimes(self.cores.as_deref())?;
        if !(Duration::from_secs(1)..=Self::LONGEST_KEPT).contains(&self.keep) {
            let (least, most) = (1, Self::LONGEST_KEPT.as_secs());
            return Err(Error::Operator(format!(
                "pages are kept for {:?}: must be {least} to {most} s; try {}",
                self.keep,
                Self::KEPT.as_secs()
            )));
        }
        Location::of_site(self.database.as_deref(), &self.data, "shop.db")
    }
}

impl Default for Options {
    fn default() -> Self {
        Self {
            listen: SocketAddr::from(([127, 0, 0, 1], 8080)),
            database: None,
            data: PathBuf::from("data"),
            size: None,
            seed: None,
            build: Build::default(),
            keep: Self::KEPT,
            card: None,
            public_url: None,
            password_cost: PasswordCost::default(),
            trusted_proxies: Vec::new(),
            cores: None,
            trace: None,
        }
    }
}

/// Reads and writes the names of an enum as flags and notes have them.
macro_rules! worded {
    ($($type:ident),+) => { $(
        impl std::fmt::Display for $type {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(self.name())
            }
        }

        impl std::str::FromStr for $type {
            type Err = String;

            fn from_str(text: &str) -> Result<Self, String> {
                Self::of_name(text).ok_or_else(|| {
                    let names: Vec<&str> = Self::ALL.iter().map(|it| it.name()).collect();
                    format!("must be one of {}", names.join(", "))
                })
            }
        }
    )+ };
}
worded!(Build, Size);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_read_as_they_are_written() {
        for build in Build::ALL {
            assert_eq!(build.to_string().parse(), Ok(*build));
        }
        assert_eq!("large".parse(), Ok(Size::Large));
        let error = "huge".parse::<Size>().unwrap_err();
        assert_eq!(error, "must be one of small, medium, large");
    }

    #[test]
    fn pages_are_kept_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let of = |keep| {
            Options { keep, data: folder.path().to_owned(), ..Options::default() }.location()
        };
        assert!(of(Options::KEPT).is_ok() && of(Options::LONGEST_KEPT).is_ok());
        for keep in [Duration::ZERO, Duration::from_secs(3601)] {
            assert!(of(keep).unwrap_err().to_string().contains("must be 1 to 3600 s; try 60"));
        }
    }
}
