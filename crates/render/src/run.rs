//! A run: request all pages, then write all files.

use std::collections::BTreeMap;
use std::fs;
use std::io::Read as _;

use url::Url;

use crate::crawl::{Crawl, Seen, Watch};
use crate::error::{Error, Result};
use crate::fetch::Client;
use crate::key::Key;
use crate::layout::Layout;
use crate::media::Kind;
use crate::options::Options;
use crate::outcome::{Entry, Outcome};
use crate::robots::{self, Robots};
use crate::sitemap::Sitemap;
use crate::store::{Run, Store};
use crate::summary::{Summary, VariantFiles};
use crate::tree::Tree;

/// Most sitemaps that are read.
const SITEMAPS: usize = 1000;
/// Largest sitemap, in bytes.
///
/// Source: sitemaps.org, protocol 0.9.
const LARGEST_SITEMAP: usize = 50 << 20;

/// Renders a site into its folder. Each page that was there before is served until all are
/// written.
///
/// # Errors
/// The folder is as it was.
pub async fn render<W: Watch>(options: &Options, watch: &mut W) -> Result<Summary> {
    let site = options.site()?;
    let client = Client::new(options, &site)?;
    // What is exchanged is the folder, not a link to it.
    let out = fs::canonicalize(&options.out).unwrap_or_else(|_| options.out.clone());
    let mut store = Store::open(&out)?;
    let run = Run::of(options, &site);
    store.begin(&run)?;
    let known = store.known_files()?;
    let mut tree = Tree::begin(&out, store.next(), &known)?;
    let resumed = store.resumed() as u64;
    let robots = match options.ignore_robots {
        true => Robots::default(),
        false => robots(&client, &site).await?,
    };
    let roots = roots(options, &client, &site).await?;
    let mut crawl = Crawl::new(options, client, &site, robots, &mut store, watch);
    let mut seen = vec![crawl.pass(None, roots.iter().cloned(), &|_| false).await?];
    for value in options.vary.iter().flat_map(|it| &it.values) {
        let plain = &seen[0];
        let is_page = |key: &&Key| matches!(&plain.outcomes[*key], Outcome::Body(body) if body.kind == Kind::Page);
        let pages = plain.outcomes.keys().filter(is_page).cloned();
        let all: Vec<Key> = roots.iter().cloned().chain(pages).collect();
        // Files other than pages are the same for all.
        let is_file = |key: &Key| {
            matches!(plain.outcomes.get(key),
                Some(Outcome::Body(body)) if body.kind != Kind::Page)
        };
        let variant = crawl.pass(Some(value.as_str()), all, &is_file).await?;
        seen.push(variant);
    }
    let answers = crawl.answers as u64;
    let entries = entries(&seen);
    let layout = Layout::of(&site, &mut seen, options);
    if !(0..=options.vary.as_ref().map_or(0, |it| it.values.len()))
        .any(|variant| layout.pages(variant).next().is_some())
    {
        return Err(nothing(&entries, &site));
    }
    let variants = write(options, &store, &layout, &mut tree)?;
    let mut summary = layout.summary();
    summary.site = site.to_string();
    (summary.answers, summary.resumed, summary.variants) = (answers, resumed, variants);
    (summary.new, summary.changed, summary.unchanged) = (tree.new, tree.changed, tree.unchanged);
    summary.bytes = tree.bytes;
    store.prepare(run, options.vary.as_ref(), entries, &tree.files)?;
    summary.removed = tree.show(&known)?;
    store.finish()?;
    Ok(summary)
}

/// Puts all files in their places. Returns how many each variant has of its own.
fn write(
    options: &Options,
    store: &Store,
    layout: &Layout<'_>,
    tree: &mut Tree,
) -> Result<Vec<VariantFiles>> {
    let mut hashes: BTreeMap<String, String> = BTreeMap::new();
    for (key, body, name) in layout.pages(0) {
        let bytes = layout.written(0, key, body, store.body(body)?);
        if options.vary.is_some() {
            hashes.insert(name.file.clone(), crate::hash::of(&bytes));
        }
        tree.put(&name.file, &bytes)?;
    }
    let mut variants = Vec::new();
    for (at, value) in options.vary.iter().flat_map(|it| &it.values).enumerate() {
        let vary = options.vary.as_ref().expect("it has the value");
        let folder = vary.folder(value);
        tree.folder(&folder)?;
        let mut files = 0;
        for (key, body, name) in layout.pages(at + 1) {
            let bytes = layout.written(at + 1, key, body, store.body(body)?);
            if hashes.get(&name.file).is_some_and(|it| *it == crate::hash::of(&bytes)) {
                continue;
            }
            tree.put(&format!("{folder}/{}", name.file), &bytes)?;
            files += 1;
        }
        variants.push(VariantFiles { value: value.clone(), files });
    }
    Ok(variants)
}

/// What is recorded. Names follow from all pages, also from those that have no file.
fn entries(seen: &[Seen]) -> Vec<Entry> {
    let mut entries = Vec::new();
    for seen in seen {
        let variant = || seen.variant.clone();
        entries.extend(seen.outcomes.iter().map(|(key, outcome)| Entry {
            key: key.clone(),
            variant: variant(),
            outcome: outcome.clone(),
        }));
    }
    entries
}

fn nothing(entries: &[Entry], site: &Url) -> Error {
    let example = entries.iter().find_map(|entry| match &entry.outcome {
        Outcome::Skipped(why) => Some(format!("{}: {why}", entry.key)),
        _ => None,
    });
    Error::Site(format!(
        "no page of {site} can be rendered ({}); the pages that are there were not touched",
        example.unwrap_or_else(|| "none is in scope".to_owned())
    ))
}

/// The rules of the site for robots.
pub async fn robots(client: &Client, site: &Url) -> Result<Robots> {
    let mut url = site.clone();
    url.set_path("/robots.txt");
    let answer = client.send(&url, None, None, robots::LARGEST).await;
    match answer {
        Ok(it) if it.status.is_success() => Ok(Robots::parse(&String::from_utf8_lossy(&it.body))),
        // Source: RFC 9309, sections 2.3.1.3 and 2.3.1.4.
        Ok(it) if it.status.is_server_error() => Ok(Robots::nothing()),
        Ok(_) => Ok(Robots::default()),
        Err(why) if why.too_long => Ok(Robots::nothing()),
        Err(why) => Err(Error::Site(format!("{url}: {why}"))),
    }
}

/// The pages to begin with, with those of sitemaps.
async fn roots(options: &Options, client: &Client, site: &Url) -> Result<Vec<Key>> {
    let mut keys: Vec<Key> = options.roots.iter().map(Key::of).collect();
    let mut sitemaps = options.sitemaps.clone();
    let mut read = 0;
    while let Some(url) = sitemaps.pop() {
        read += 1;
        let answered = client
            .send(&url, None, None, LARGEST_SITEMAP)
            .await
            .map_err(|why| Error::Site(format!("--sitemap {url}: {why}")))?;
        if !answered.status.is_success() {
            return Err(Error::Site(format!("--sitemap {url}: status {}", answered.status)));
        }
        let text = match answered.body.starts_with(&[0x1f, 0x8b]) {
            true => expanded(&answered.body)
                .map_err(|error| Error::Site(format!("--sitemap {url}: {error}")))?,
            false => String::from_utf8_lossy(&answered.body).into_owned(),
        };
        let sitemap = Sitemap::read(&text, options.max_pages.saturating_mul(2));
        let urls = sitemap.urls.iter().filter_map(|it| site.join(it).ok());
        let own = urls.filter(|it| it.origin() == site.origin());
        match sitemap.is_index {
            true if read < SITEMAPS => {
                sitemaps.extend(own.take(SITEMAPS.saturating_sub(read + sitemaps.len())));
            }
            true => {}
            false => {
                let before = keys.len();
                keys.extend(own.map(|it| Key::of(&it)).filter(|it| options.scope.has(it.as_str())));
                if keys.len() == before && options.roots.is_empty() {
                    return Err(Error::Site(format!(
                        "--sitemap {url}: names no page of {site} in scope; its URLs must begin with that"
                    )));
                }
            }
        }
    }
    Ok(keys)
}

/// The text of a compressed sitemap, within the limit of one that is not.
fn expanded(bytes: &[u8]) -> std::io::Result<String> {
    let mut text = Vec::new();
    let decoder = flate2::read::MultiGzDecoder::new(bytes);
    decoder.take(LARGEST_SITEMAP as u64).read_to_end(&mut text)?;
    Ok(String::from_utf8_lossy(&text).into_owned())
}
