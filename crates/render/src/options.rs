//! What is rendered, and how.

use std::path::PathBuf;
use std::time::Duration;

use url::Url;

use crate::error::{Error, Result};
use crate::key::origin;
use crate::scope::{Pattern, Scope};

/// What is rendered, and how.
#[derive(Clone, Debug)]
pub struct Options {
    /// Pages to begin with, all of one site.
    pub roots: Vec<Url>,
    /// Sitemaps with further pages to begin with.
    pub sitemaps: Vec<Url>,
    /// The folder of the pages. What it holds is replaced as a whole.
    pub out: PathBuf,
    /// The paths that are rendered.
    pub scope: Scope,
    /// Paths of pages that are the same for every visitor, though their header says otherwise.
    pub public: Vec<Pattern>,
    /// The header field in which the site may name a page's file.
    pub name_header: String,
    /// Links have the URLs of the site where a server that tries `PATH.html` and
    /// `PATH/index.html` finds the file by them.
    pub keep_urls: bool,
    /// A cookie of which each of some values has pages of its own.
    pub vary: Option<Vary>,
    /// Most requests per second; above 0.
    pub rate: f64,
    /// Most requests at a time; 1 or more.
    pub concurrency: usize,
    /// Most pages and files that are requested.
    pub max_pages: usize,
    /// Most links from a root to a page.
    pub max_depth: u32,
    /// Largest answer, in bytes.
    pub largest: usize,
    /// Longest time for all requests; pages that are not reached stay dynamic.
    pub longest: Option<Duration>,
    /// Longest wait for an answer.
    pub timeout: Duration,
    /// Requests also what robots.txt asks to leave alone.
    pub ignore_robots: bool,
    /// The site is the operator's, though it is not on this machine.
    pub is_mine: bool,
    /// Accepts any server certificate.
    pub insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM).
    pub ca: Option<PathBuf>,
}

/// A cookie of which each value has pages of its own.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Vary {
    /// The name of the cookie.
    pub cookie: String,
    /// The values.
    pub values: Vec<String>,
}

impl Vary {
    /// Reads `NAME=VALUE,VALUE`.
    ///
    /// # Errors
    /// It is something else, or a value would be no name of a folder; in words.
    pub fn parse(text: &str) -> std::result::Result<Self, String> {
        let wrong =
            || "must be NAME=VALUE,VALUE with letters, digits, . _ and -, such as zone=1,2,3";
        let is_word = |it: &str| {
            (1..=64).contains(&it.len())
                && !it.starts_with('.')
                && it.bytes().all(|it| it.is_ascii_alphanumeric() || b"._-".contains(&it))
        };
        let (cookie, values) = text.split_once('=').ok_or_else(wrong)?;
        let mut distinct: Vec<String> = Vec::new();
        for value in values.split(',') {
            if !is_word(value) || !is_word(cookie) {
                return Err(wrong().to_owned());
            }
            if distinct.iter().any(|it| it == value) {
                return Err(format!("has the value {value} twice"));
            }
            distinct.push(value.to_owned());
        }
        Ok(Self { cookie: cookie.to_owned(), values: distinct })
    }

    /// The folder of the pages of a value, below that of all.
    pub fn folder(&self, value: &str) -> String {
        format!("@{}={value}", self.cookie)
    }
}

impl Options {
    /// The defaults for these roots.
    pub fn new(roots: Vec<Url>, out: PathBuf) -> Self {
        Self {
            roots,
            sitemaps: Vec::new(),
            out,
            scope: Scope::default(),
            public: Vec::new(),
            name_header: "render-as".to_owned(),
            keep_urls: false,
            vary: None,
            rate: 20.0,
            concurrency: 4,
            max_pages: 10_000,
            max_depth: 30,
            largest: 16 << 20,
            longest: None,
            timeout: Duration::from_secs(30),
            ignore_robots: false,
            is_mine: false,
            insecure: false,
            ca: None,
        }
    }

    /// The site, as a URL with the path `/`.
    ///
    /// # Errors
    /// [`Error::Operator`]: there is none, there are two, or it is on another machine and not said
    /// to be the operator's. [`Error::Site`]: its name does not resolve.
    pub fn site(&self) -> Result<Url> {
        let operator = |text: String| Err(Error::Operator(text));
        let mut all = self.roots.iter().chain(&self.sitemaps);
        let Some(first) = all.next() else {
            return operator("no page to begin with: give a URL, or --sitemap URL".to_owned());
        };
        let site = origin(first);
        for url in self.roots.iter().chain(&self.sitemaps) {
            if !matches!(url.scheme(), "http" | "https") {
                return operator(format!("{url}: must begin with http:// or https://"));
            }
            if url.origin() != site.origin() {
                return operator(format!(
                    "{url} is not of {site}: a run renders one site; run the command for each, with a folder of its own"
                ));
            }
        }
        if self.out.file_name().is_none() {
            return operator(format!(
                "--out {}: must be a folder that can be replaced as a whole, such as ./rendered",
                self.out.display()
            ));
        }
        let target = site.as_str().trim_end_matches('/');
        let addresses =
            tidegate_load::addresses_of(target, &[]).map_err(|error| match error.exit_code() {
                2 => Error::Operator(error.to_string()),
                _ => Error::Site(error.to_string()),
            })?;
        let foreign = addresses.iter().find(|it| !tidegate_host::is_own_address(it.ip()));
        if let Some(address) = foreign.filter(|_| !self.is_mine) {
            return operator(format!(
                "{target}: {address} is not this machine, and every page of the site is requested; if the site is yours, add --yes-this-is-mine"
            ));
        }
        Ok(site)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(roots: &[&str]) -> Options {
        let roots = roots.iter().map(|it| Url::parse(it).unwrap()).collect();
        Options::new(roots, "out".into())
    }

    #[test]
    fn roots_are_of_one_site_on_this_machine_or_the_operators_own() {
        let error = |roots: &[&str]| options(roots).site().unwrap_err().to_string();
        assert!(error(&[]).contains("no page to begin with"));
        assert!(error(&["http://127.0.0.1/", "http://127.0.0.1:81/"]).contains("one site"));
        assert!(error(&["ftp://127.0.0.1/"]).contains("must begin with http"));
        assert!(error(&["http://192.0.2.1/"]).contains("--yes-this-is-mine"));
        let own = Options { is_mine: true, ..options(&["http://192.0.2.1/a?b"]) };
        assert_eq!(own.site().unwrap().as_str(), "http://192.0.2.1/");
        assert!(options(&["https://127.0.0.1:8443/a"]).site().is_ok());
        let root = Options { out: "/".into(), ..options(&["http://127.0.0.1/"]) };
        assert_eq!(root.site().unwrap_err().exit_code(), 2);
    }

    #[test]
    fn values_of_a_cookie_are_names_of_folders() {
        let vary = Vary::parse("zone=1,2,north").unwrap();
        assert_eq!(vary.folder(&vary.values[2]), "@zone=north");
        for wrong in ["zone", "zone=", "=1", "zone=1,,2", "zone=../x", "zone=a b", "zo;ne=1"] {
            assert!(Vary::parse(wrong).unwrap_err().contains("NAME=VALUE"), "{wrong}");
        }
        assert!(Vary::parse("zone=1,1").unwrap_err().contains("twice"));
    }
}
