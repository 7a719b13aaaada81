//! What is kept of pages: whole browse pages by address and zone, and the lists that stand around
//! all pages. It is used for a stated time, and no longer than the prices are those that it was
//! made with.

use std::collections::HashMap;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use axum::http::HeaderMap;
use axum::http::header::{CACHE_CONTROL, HeaderName, HeaderValue, VARY};
use axum::response::{IntoResponse, Response};

use super::app::App;
use super::failure::Failure;
use crate::options::Build;
use crate::store::places::{self, Catalogue, Department};
use crate::zones::Zone;
use tidegate_sitekit::Result;
use tidegate_sitekit::web::page::Page;

/// Most pages that a core keeps, about 40 MB.
const MOST: usize = 4096;
/// How long a look at the changes of prices is used.
const LOOK: Duration = Duration::from_secs(1);
/// Names the file below which a crawler keeps a page.
const RENDER_AS: HeaderName = HeaderName::from_static("render-as");

/// What a core keeps.
#[derive(Debug, Default)]
pub struct Shelf {
    kept: Mutex<Kept>,
}

#[derive(Debug, Default)]
struct Kept {
    pages: HashMap<(i64, String), (Instant, i64, Page)>,
    catalogue: Option<(Instant, Catalogue)>,
    around: Option<(Instant, Vec<Department>, Vec<Zone>)>,
}

/// What stands around the content of a page.
#[derive(Clone, Debug)]
pub struct Around {
    /// All departments.
    pub departments: Vec<Department>,
    /// The zone of the reader.
    pub zone: Zone,
}

impl App {
    /// The answer to a request for a browse page: the same for everybody in a zone. `path` is its
    /// address, `file` the file as which it can be kept, of those that can, and `make` makes it.
    ///
    /// # Errors
    /// Those of `make`; an error of the database.
    pub async fn browse(
        &self,
        request: &HeaderMap,
        (zone, path, file): (i64, String, Option<String>),
        make: impl AsyncFnOnce(Around) -> Result<Page, Failure>,
    ) -> Result<Response, Failure> {
        if self.build == Build::Baseline {
            return Ok(make(self.around(zone).await?).await?.into_response());
        }
        let catalogue = self.catalogue().await?;
        let key = (zone, path);
        if let Some(page) = self.kept_page(&key, catalogue.version) {
            return Ok(page.answer(request));
        }
        let made = Instant::now();
        let mut page = make(self.around(zone).await?).await?.header(VARY, value("cookie".into()));
        if self.build == Build::Rendered {
            let fresh = format!("public, max-age={}", self.keep.as_secs());
            page = page.header(CACHE_CONTROL, value(fresh));
            if let Some(file) = file {
                page = page.header(RENDER_AS, value(file));
            }
        }
        let page = page.validated(catalogue.changed);
        let answer = page.answer(request);
        let mut kept = self.shelf.kept.lock().expect("no panic under this lock");
        if kept.pages.len() >= MOST {
            // Those that are outdated, or all if none is.
            kept.pages.retain(|_, (since, version, _)| {
                since.elapsed() < self.keep && *version == catalogue.version
            });
            if kept.pages.len() >= MOST {
                kept.pages.clear();
            }
        }
        kept.pages.insert(key, (made, catalogue.version, page));
        Ok(answer)
    }

    /// What stands around a page for readers in a zone.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn around(&self, zone: i64) -> Result<Around> {
        if self.build == Build::Baseline {
            let departments = places::departments(&self.database).await?;
            return Ok(Around { departments, zone: places::zone(&self.database, zone).await? });
        }
        let kept = self.shelf.kept.lock().expect("no panic under this lock").around.clone();
        let kept = kept.filter(|(since, ..)| since.elapsed() < self.keep);
        let (departments, zones) = match kept {
            Some((_, departments, zones)) => (departments, zones),
            None => {
                let made = Instant::now();
                let departments = places::departments(&self.database).await?;
                let zones = places::zones(&self.database).await?;
                let around = Some((made, departments.clone(), zones.clone()));
                self.shelf.kept.lock().expect("no panic under this lock").around = around;
                (departments, zones)
            }
        };
        let found = zones.into_iter().find(|found| found.id == zone);
        let zone = found.ok_or(tidegate_sitekit::database::Error::NoRow)?;
        Ok(Around { departments, zone })
    }

    fn kept_page(&self, key: &(i64, String), version: i64) -> Option<Page> {
        let kept = self.shelf.kept.lock().expect("no panic under this lock");
        let (since, of, page) = kept.pages.get(key)?;
        (since.elapsed() < self.keep && *of == version).then(|| page.clone())
    }

    async fn catalogue(&self) -> Result<Catalogue> {
        let known = self.shelf.kept.lock().expect("no panic under this lock").catalogue;
        if let Some((at, catalogue)) = known
            && at.elapsed() < LOOK
        {
            return Ok(catalogue);
        }
        let at = Instant::now();
        let found = places::catalogue(&self.database).await?;
        self.shelf.kept.lock().expect("no panic under this lock").catalogue = Some((at, found));
        Ok(found)
    }
}

fn value(text: String) -> HeaderValue {
    HeaderValue::try_from(text).expect("names of sets are plain text")
}
