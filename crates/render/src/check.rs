//! Compares rendered pages with the live ones.

use std::fs;
use std::path::Path;
use std::time::Duration;

use tokio::time::{Interval, MissedTickBehavior, interval};

use crate::crawl::{Seen, Watch};
use crate::error::{Error, Result};
use crate::fetch::{Client, Reply};
use crate::key::Key;
use crate::layout::Layout;
use crate::options::Options;
use crate::outcome::{Body, Entry};
use crate::robots::Robots;
use crate::run::robots;
use crate::store::{Run, Store};

/// A rendered page that differs from the live one.
#[derive(Clone, Debug, PartialEq, Eq, serde::Serialize)]
pub struct Difference {
    /// The page.
    pub page: String,
    /// The value of the cookie.
    pub variant: Option<String>,
    /// How it differs.
    pub why: String,
}

/// What a check found.
#[derive(Clone, Debug, Default, PartialEq, Eq, serde::Serialize)]
pub struct Checked {
    /// Pages and files that were compared.
    pub compared: u64,
    /// Those that differ.
    pub differences: Vec<Difference>,
}

/// Compares the pages of a folder with the live ones: each is requested anew, its links are
/// rewritten as they were, and the result is compared byte for byte.
///
/// # Errors
/// There is nothing to compare, or a file cannot be read.
pub async fn check<W: Watch>(options: &Options, watch: &mut W) -> Result<Checked> {
    let site = options.site()?;
    let client = Client::new(options, &site)?;
    let out = fs::canonicalize(&options.out).unwrap_or_else(|_| options.out.clone());
    let store = Store::open(&out)?;
    if store.last.run != Run::of(options, &site) || store.last.vary != options.vary {
        return Err(Error::Operator(format!(
            "--out {}: was not rendered from {site} with the same --vary, --public, --keep-urls and --name-header; render it first",
            options.out.display()
        )));
    }
    let robots = match options.ignore_robots {
        true => Robots::default(),
        false => robots(&client, &site).await?,
    };
    let own = Duration::from_secs_f64(1.0 / options.rate);
    let mut pace = interval(own.max(robots.delay.unwrap_or_default()));
    pace.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut seen = seen_of(&store.last.entries, options);
    let count: usize = seen.iter().map(|it| it.outcomes.len()).sum();
    let variants: Vec<Option<String>> = seen.iter().map(|it| it.variant.clone()).collect();
    let layout = Layout::of(&site, &mut seen, options);
    let mut checked = Checked::default();
    for (at, value) in variants.iter().enumerate() {
        let mut live = Live { client: &client, layout: &layout, pace: &mut pace, at, value };
        for (key, body, name) in layout.pages(at) {
            if watch.is_stopped() {
                return Err(Error::Stopped(checked.compared as usize));
            }
            checked.compared += 1;
            watch.progress(checked.compared as usize, count - checked.compared as usize);
            let own = value
                .as_ref()
                .zip(options.vary.as_ref())
                .map(|(value, vary)| out.join(vary.folder(value)).join(&name.file));
            let path = own.filter(|it| it.exists()).unwrap_or_else(|| out.join(&name.file));
            let why = live.differs(key, body, &path).await;
            checked.differences.extend(why.map(|why| Difference {
                page: key.to_string(),
                variant: value.clone(),
                why,
            }));
        }
    }
    if checked.compared == 0 {
        return Err(Error::Operator(format!(
            "--out {}: nothing is rendered there yet; run the command without --check first",
            options.out.display()
        )));
    }
    Ok(checked)
}

/// The live site, for one value of the cookie.
struct Live<'l> {
    client: &'l Client,
    layout: &'l Layout<'l>,
    pace: &'l mut Interval,
    at: usize,
    value: &'l Option<String>,
}

impl Live<'_> {
    /// How a page differs from its file.
    async fn differs(&mut self, key: &Key, body: &Body, path: &Path) -> Option<String> {
        let live = match self.get(key).await {
            Reply::Body(live, bytes) if live.kind == body.kind => {
                self.layout.written(self.at, key, &live, bytes.into())
            }
            Reply::Body(live, _) => return Some(format!("is now {}", live.content_type)),
            Reply::Moved { to, .. } => return Some(format!("redirects to {to}")),
            Reply::Later(status, _) => return Some(format!("the site is busy (status {status})")),
            Reply::Skipped(why) => return Some(why.to_string()),
            Reply::Unchanged => return None,
        };
        match fs::read(path) {
            Err(_) => return Some("its file is missing".to_owned()),
            Ok(there) if there == live => return None,
            Ok(_) => {}
        }
        Some(match self.get(key).await {
            Reply::Body(again, bytes)
                if self.layout.written(self.at, key, &again, bytes.clone().into()) == live =>
            {
                "changed since it was rendered".to_owned()
            }
            _ => "differs from request to request".to_owned(),
        })
    }

    async fn get(&mut self, key: &Key) -> Reply {
        self.pace.tick().await;
        self.client.get(key, self.value.as_deref(), None).await
    }
}

/// The pages of a record, by variant.
fn seen_of(entries: &[Entry], options: &Options) -> Vec<Seen> {
    let values = options.vary.iter().flat_map(|it| &it.values).cloned().map(Some);
    let variants = std::iter::once(None).chain(values);
    variants
        .map(|variant| {
            let own = entries.iter().filter(|it| it.variant == variant);
            let outcomes = own.map(|it| (it.key.clone(), it.outcome.clone())).collect();
            Seen { variant, outcomes, beyond: 0 }
        })
        .collect()
}
