//! Every request as a line of JSON, so that any figure can be drawn again.
//! Written by the folding thread, never by a driver thread; an error of the
//! disk ends the writing and is reported with the result.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::event::{Event, Request};
use crate::error::Error;
use crate::outcome::Outcome;

/// The file, and what went wrong with it.
#[derive(Debug)]
pub(super) struct Raw {
    path: PathBuf,
    out: Option<BufWriter<File>>,
    lines: u64,
    error: Option<String>,
}

/// One line.
#[derive(Serialize)]
struct Line<'a> {
    session: u64,
    page: &'a str,
    /// Intended start since the start of the run.
    intended_s: f64,
    start_delay_ms: f64,
    /// From the intended start to the end, whatever it was.
    response_ms: f64,
    first_byte_ms: f64,
    last_byte_ms: f64,
    status: u16,
    received_bytes: u64,
    ok: bool,
    /// `answered`, or why there was no answer.
    end: &'a str,
    measured: bool,
}

impl Raw {
    pub(super) fn create(path: &Path) -> Result<Self, Error> {
        let file =
            File::create(path).map_err(|source| Error::File { path: path.to_owned(), source })?;
        let out = Some(BufWriter::with_capacity(64 * 1024, file));
        Ok(Self { path: path.to_owned(), out, lines: 0, error: None })
    }

    pub(super) fn write(&mut self, event: &Event, request: &Request, page: &str, measured: bool) {
        let Some(out) = &mut self.out else { return };
        let ms = |duration: std::time::Duration| (duration.as_secs_f64() * 1e6).round() / 1e3;
        let line = Line {
            session: request.session,
            page,
            intended_s: (request.intended.as_secs_f64() * 1e6).round() / 1e6,
            start_delay_ms: ms(request.late),
            response_ms: ms(event.at.saturating_sub(request.intended)),
            first_byte_ms: ms(request.first_byte),
            last_byte_ms: ms(request.last_byte),
            status: request.status,
            received_bytes: request.received_bytes,
            ok: request.ok,
            end: match request.outcome {
                None | Some(Outcome::Completed) => "answered",
                Some(Outcome::Refused(kind)) => kind.name(),
                Some(Outcome::Failed(kind)) => kind.name(),
                Some(Outcome::Abandoned(_)) => "abandoned",
                Some(Outcome::CutOff) => "cut_off",
            },
            measured,
        };
        let written = serde_json::to_writer(&mut *out, &line)
            .map_err(std::io::Error::from)
            .and_then(|()| out.write_all(b"\n"));
        match written {
            Ok(()) => self.lines += 1,
            Err(error) => self.fail(&error),
        }
    }

    /// Writes what is buffered; gives what went wrong at any time.
    pub(super) fn finish(mut self) -> Option<String> {
        if let Some(mut out) = self.out.take()
            && let Err(error) = out.flush()
        {
            self.fail(&error);
        }
        self.error
    }

    fn fail(&mut self, error: &std::io::Error) {
        self.error =
            Some(format!("{}: {error}, after about {} lines", self.path.display(), self.lines));
        // Dropping the writer would try once more to flush.
        if let Some(out) = self.out.take() {
            let _ = out.into_parts();
        }
    }
}
