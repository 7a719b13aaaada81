//! All files that are written during a run.

use super::file::RowFile;
use super::requests::{JsonLines, Parquet, Row};
use super::seconds::Seconds;
use crate::error::Error;
use crate::plan::Plan;
use crate::result::series::Point;

/// Files written during the run.
pub(super) struct Files {
    lines: Option<RowFile<JsonLines>>,
    parquet: Option<RowFile<Parquet>>,
    seconds: Option<RowFile<Seconds>>,
}

impl Files {
    pub(super) fn create(plan: &Plan) -> Result<Self, Error> {
        Ok(Self {
            lines: plan.raw.as_deref().map(RowFile::create).transpose()?,
            parquet: plan.parquet.as_deref().map(RowFile::create).transpose()?,
            seconds: plan.csv.as_deref().map(RowFile::create).transpose()?,
        })
    }

    pub(super) fn request<'a>(&mut self, row: impl FnOnce() -> Row<'a>) {
        if self.lines.is_none() && self.parquet.is_none() {
            return;
        }
        let row = row();
        self.lines.iter_mut().for_each(|file| file.write(&row));
        self.parquet.iter_mut().for_each(|file| file.write(&row));
    }

    pub(super) fn second(&mut self, second: &Point) {
        self.seconds.iter_mut().for_each(|file| file.write(second));
    }

    /// Finishes all files; returns their errors.
    pub(super) fn finish(&mut self) -> Option<String> {
        let errors = [
            self.lines.take().and_then(RowFile::finish),
            self.parquet.take().and_then(RowFile::finish),
            self.seconds.take().and_then(RowFile::finish),
        ];
        let errors: Vec<String> = errors.into_iter().flatten().collect();
        (!errors.is_empty()).then(|| errors.join("; "))
    }
}
