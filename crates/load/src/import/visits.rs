//! The steps of the session: documents and what scripts request, each with the assets that the
//! browser fetched for it.

use std::collections::HashMap;

use super::left_out::{LeftOut, Reason};
use super::recorded::{Purpose, Recorded, RecordedAnswer, path_of};
use crate::scenario::page::ASSETS;

/// Most steps of a script.
const STEPS: usize = 10_000;
/// Most redirects that customers follow.
const REDIRECTS: u32 = 5;
/// A request that begins later than this after everything else of a page has ended, in ms, is not
/// part of loading it.
const QUIET: f64 = 1000.0;

/// A step of the session.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) request: Recorded,
    /// The last one, after redirects.
    pub(super) answer: RecordedAnswer,
    /// It redirects to another origin, with this status.
    pub(super) leads_elsewhere: Option<u16>,
    /// Paths of its assets, each once.
    pub(super) assets: Vec<String>,
    /// When all of it had come, in milliseconds since 1970.
    pub(super) ends: f64,
}

/// Groups the requests of one origin, which are in the order of their times.
pub(super) fn group(all: Vec<Recorded>, origin: &str, left_out: &mut LeftOut) -> Vec<Visit> {
    let mut places: HashMap<String, Vec<usize>> = HashMap::new();
    for (index, recorded) in all.iter().enumerate().rev() {
        places.entry(recorded.url.as_str().to_owned()).or_default().push(index);
    }
    let mut all: Vec<Option<Recorded>> = all.into_iter().map(Some).collect();
    let mut grouped = Grouped::default();
    for index in 0..all.len() {
        let Some(mut request) = all[index].take() else { continue };
        let mut answer = std::mem::take(&mut request.answer);
        let (mut ends, mut leads_elsewhere, mut from) = (request.ends, None, index);
        for _ in 0..REDIRECTS {
            let Some(location) = &answer.location else { break };
            if location.origin().ascii_serialization() != origin {
                leads_elsewhere = Some(answer.status);
                break;
            }
            // What customers request by following the redirect is no step of its own.
            let next = places.get_mut(location.as_str());
            let Some(next) = next.and_then(|places| next_of(places, from, &all)) else { break };
            let followed = all[next].take().expect("it was found there");
            (answer, from, ends) = (followed.answer, next, ends.max(followed.ends));
        }
        let visit = Visit { request, answer, leads_elsewhere, assets: Vec::new(), ends };
        match grouped.add(visit) {
            Ok(()) => {}
            Err(reason) => left_out.add(reason),
        }
    }
    grouped.visits
}

/// The first request after `from` of those at `places`, which are in descending order.
fn next_of(places: &mut Vec<usize>, from: usize, all: &[Option<Recorded>]) -> Option<usize> {
    while let Some(next) = places.pop() {
        if next > from && all[next].is_some() {
            return Some(next);
        }
    }
    None
}

/// The steps so far.
#[derive(Debug, Default)]
struct Grouped {
    visits: Vec<Visit>,
    /// The step of an address: its own, or that of an asset.
    by_url: HashMap<String, usize>,
    /// The last document, and the last step, of a page of the recording.
    by_page: HashMap<String, (usize, usize)>,
    last: Option<(usize, usize)>,
}

impl Grouped {
    fn add(&mut self, visit: Visit) -> Result<(), Reason> {
        if visit.request.kind == Purpose::Asset { self.asset(&visit) } else { self.step(visit) }
    }

    fn step(&mut self, visit: Visit) -> Result<(), Reason> {
        let index = self.visits.len();
        if index == STEPS {
            return Err(Reason::TooMany);
        }
        let is_document = visit.request.kind == Purpose::Document;
        let next = |known: Option<(usize, usize)>| match known {
            Some((document, _)) if !is_document => (document, index),
            _ => (index, index),
        };
        self.last = Some(next(self.last));
        if let Some(page) = &visit.request.pageref {
            let known = self.by_page.get(page).copied();
            self.by_page.insert(page.clone(), next(known));
        }
        self.by_url.insert(visit.request.url.as_str().to_owned(), index);
        self.visits.push(visit);
        Ok(())
    }

    fn asset(&mut self, asset: &Visit) -> Result<(), Reason> {
        if asset.answer.status >= 400 {
            return Err(Reason::FailedAsset);
        }
        if asset.leads_elsewhere.is_some() {
            return Err(Reason::AssetElsewhere);
        }
        let request = &asset.request;
        let of_page = request.pageref.as_ref().and_then(|page| self.by_page.get(page)).copied();
        let (document, latest) = of_page.or(self.last).ok_or(Reason::NoPage)?;
        let initiator = request.initiator.as_ref().and_then(|url| self.by_url.get(url)).copied();
        let loading = |index: &usize| request.begins <= self.visits[*index].ends + QUIET;
        let owner = [initiator, Some(document)].into_iter().flatten().find(loading);
        let owner = owner.unwrap_or(latest);
        let visit = &mut self.visits[owner];
        visit.ends = visit.ends.max(asset.ends);
        let path = path_of(&request.url);
        if !visit.assets.contains(&path) {
            if visit.assets.len() == ASSETS {
                return Err(Reason::TooMany);
            }
            visit.assets.push(path);
        }
        self.by_url.insert(request.url.as_str().to_owned(), owner);
        Ok(())
    }
}
