//! Times of arrival from a log: a column of a CSV file, the requests of a HAR file or
//! the lines of a web server's access log. They count from the earliest.

use std::io::{BufRead, BufReader, Read};
use std::path::Path;
use std::time::Duration;

use jiff::Timestamp;

use crate::access_log;
use crate::file_mistake::FileMistake;
use crate::har::{self, Har, Start};

/// Largest log in bytes, and most arrivals in it.
const LARGEST: u64 = 512 << 20;
const MOST: usize = 5_000_000;
/// Most invalid lines reported of one log.
const MOST_REPORTED: usize = 10;

/// Times since the earliest, in ascending order, divided by `speed`. A file that
/// ends in `.har` is read as HAR 1.2, one that ends in `.log` as an access log, any
/// other as CSV whose first line names the columns.
///
/// # Errors
/// Everything that is wrong, up to [`MOST_REPORTED`] lines. The list is never empty.
pub(crate) fn read(
    path: &Path,
    column: &str,
    speed: f64,
) -> Result<Vec<Duration>, Vec<FileMistake>> {
    let file = tidegate_config::open(path).map_err(|error| {
        FileMistake::whole(
            format!("{} cannot be read: {error}", path.display()),
            "the path is relative to the scenario's file",
        )
    })?;
    let ends_in = |end| path.extension().is_some_and(|own| own.eq_ignore_ascii_case(end));
    // Devices and pipes have no length beforehand.
    let mut text = BufReader::new(file).take(LARGEST + 1);
    let times = if ends_in("har") {
        from_har(&mut text)
    } else if ends_in("log") {
        from_access_log(&mut text)
    } else {
        from_csv(&mut text, column)
    };
    if text.limit() == 0 {
        let rule = format!("{} {}", path.display(), tidegate_config::too_large(LARGEST));
        return Err(FileMistake::whole(rule, "replay a part of it"));
    }
    since_first(times?, speed)
}

fn since_first(mut times: Vec<f64>, speed: f64) -> Result<Vec<Duration>, Vec<FileMistake>> {
    times.sort_unstable_by(f64::total_cmp);
    let Some(first) = times.first().copied() else {
        return Err(FileMistake::whole("has no time in it", "replay a log with at least one"));
    };
    let day = super::limits::LONGEST_RUN.as_secs_f64();
    let last = (times[times.len() - 1] - first) / speed;
    if last > day {
        return Err(FileMistake::whole(
            format!("lasts {:.1} h, at most 24 h", last / 3600.0),
            "replay a part of it, or raise speed",
        ));
    }
    Ok(times.into_iter().map(|at| Duration::from_secs_f64((at - first) / speed)).collect())
}

fn from_csv(text: impl Read, column: &str) -> Result<Vec<f64>, Vec<FileMistake>> {
    let mut reader = csv::ReaderBuilder::new()
        .comment(Some(b'#'))
        .trim(csv::Trim::All)
        .flexible(true)
        .from_reader(text);
    let bad = |error: csv::Error| FileMistake::whole(error.to_string(), "write it as CSV in UTF-8");
    let headers = reader.byte_headers().map_err(bad)?.clone();
    let Some(place) = headers.iter().position(|name| name == column.as_bytes()) else {
        let names: Vec<_> = headers.iter().take(20).map(String::from_utf8_lossy).collect();
        let rule = format!("has no column {column}, but {}", names.join(", "));
        let remedy = "name the column with the times: column = \"...\"";
        return Err(vec![FileMistake::at(1, rule, remedy)]);
    };
    let mut times = Times::new("write seconds such as 12.5, or 2024-05-01T12:00:00Z");
    let mut record = csv::ByteRecord::new();
    while times.wants_more() && reader.read_byte_record(&mut record).map_err(bad)? {
        let cell = String::from_utf8_lossy(record.get(place).unwrap_or_default());
        times.take(record.position().map_or(0, |at| at.line() as usize), &cell, time(&cell));
    }
    times.all()
}

/// Times line by line, and what is wrong with some.
struct Times {
    good: Vec<f64>,
    wrong: Vec<FileMistake>,
    remedy: &'static str,
}

impl Times {
    fn new(remedy: &'static str) -> Self {
        Self { good: Vec::new(), wrong: Vec::new(), remedy }
    }

    fn wants_more(&self) -> bool {
        self.wrong.len() < MOST_REPORTED && self.good.len() <= MOST
    }

    fn take(&mut self, line: usize, text: &str, time: Option<f64>) {
        match time {
            Some(at) => self.good.push(at),
            None => {
                let rule = format!("\"{text:.40}\" is no time");
                self.wrong.push(FileMistake::at(line, rule, self.remedy));
            }
        }
    }

    fn all(self) -> Result<Vec<f64>, Vec<FileMistake>> {
        if !self.wrong.is_empty() {
            return Err(self.wrong);
        }
        if self.good.len() > MOST {
            return Err(FileMistake::whole(
                format!("has more than {MOST} times"),
                "replay a part of it",
            ));
        }
        Ok(self.good)
    }
}

/// Seconds, or a date and time of RFC 3339.
fn time(cell: &str) -> Option<f64> {
    if let Ok(seconds) = cell.parse::<f64>() {
        return seconds.is_finite().then_some(seconds);
    }
    let at: Timestamp = cell.parse().ok()?;
    Some(at.as_nanosecond() as f64 / 1e9)
}

/// The common log format of Apache's httpd, whose time nginx writes alike:
/// `host user name [10/Oct/2000:13:55:36 -0700] "request" ...`. It has whole seconds:
/// the requests of one are spread evenly over it.
fn from_access_log(text: impl Read) -> Result<Vec<f64>, Vec<FileMistake>> {
    let mut times = Times::new("write times as [10/Oct/2000:13:55:36 -0700], or use CSV");
    let mut lines = BufReader::new(text).split(b'\n').zip(1..);
    while times.wants_more()
        && let Some((line, number)) = lines.next()
    {
        let line =
            line.map_err(|error| FileMistake::whole(error.to_string(), "replay a copy of it"))?;
        let line = String::from_utf8_lossy(&line);
        if !line.trim().is_empty() {
            times.take(number, &line, bracketed_time(&line));
        }
    }
    let mut seconds = times.all()?;
    seconds.sort_unstable_by(f64::total_cmp);
    let within = seconds.chunk_by(|a, b| a == b).flat_map(|same| {
        let share = 1.0 / same.len() as f64;
        same.iter().zip(0u32..).map(move |(second, nth)| second + f64::from(nth) * share)
    });
    Ok(within.collect())
}

/// The time in the first brackets of a line.
fn bracketed_time(line: &str) -> Option<f64> {
    let (_, behind) = line.split_once('[')?;
    let (time, _) = behind.split_once(']')?;
    access_log::time::common(time)
}

fn from_har(text: impl Read) -> Result<Vec<f64>, Vec<FileMistake>> {
    let har: Har<Start> = serde_json::from_reader(text).map_err(|error| {
        vec![FileMistake::at(error.line(), format!("is no HAR: {error}"), har::EXPORT)]
    })?;
    Ok(har.log.entries.iter().map(|e| e.started_date_time.as_nanosecond() as f64 / 1e9).collect())
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn log(
        name: &str,
        text: &str,
        column: &str,
        speed: f64,
    ) -> Result<Vec<Duration>, Vec<FileMistake>> {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join(name);
        std::fs::write(&path, text).unwrap();
        read(&path, column, speed)
    }

    fn ms(all: [u64; 3]) -> Vec<Duration> {
        all.map(Duration::from_millis).to_vec()
    }

    #[test]
    fn a_column_of_seconds_or_dates_is_replayed_from_its_earliest() {
        let seconds = "path,time\n/a,100.5\n/b, 100\n/c,103\n";
        assert_eq!(log("log.csv", seconds, "time", 1.0).unwrap(), ms([0, 500, 3000]));
        assert_eq!(log("log.csv", seconds, "time", 2.0).unwrap(), ms([0, 250, 1500]));
        let dates = "# a remark\nat\n2024-05-01T12:00:00Z\n2024-05-01T14:00:00.5+02:00\n\
                     2024-05-01T12:00:03Z\n";
        assert_eq!(log("log.csv", dates, "at", 1.0).unwrap(), ms([0, 500, 3000]));
    }

    #[test]
    fn the_requests_of_a_har_file_are_replayed() {
        let har = r#"{"log":{"version":"1.2","entries":[
            {"startedDateTime":"2024-05-01T12:00:03.000Z","time":1,"request":{}},
            {"startedDateTime":"2024-05-01T12:00:00.000Z"},
            {"startedDateTime":"2024-05-01T12:00:00.500Z"}]}}"#;
        assert_eq!(log("visit.HAR", har, "time", 1.0).unwrap(), ms([0, 500, 3000]));
        let wrong = log("visit.har", "{\"log\":\n{}}", "time", 1.0).unwrap_err();
        assert_eq!(wrong[0].line, 2, "{wrong:?}");
        assert!(wrong[0].problem.rule.contains("entries"), "{wrong:?}");
    }

    #[test]
    fn the_lines_of_an_access_log_are_replayed_and_those_of_a_second_spread_over_it() {
        // The last three began later and ended first, as long requests are written late.
        let lines = r#"10.0.0.7 - - [10/Oct/2000:13:55:38 -0700] "GET /b HTTP/1.1" 200 17 "-" "x [y]"
10.0.0.7 - ann [10/Oct/2000:13:55:36 -0700] "GET /a HTTP/1.1" 304 -

::1 - - [10/Oct/2000:22:55:38 +0200] "GET / HTTP/2.0" 200 2326
::1 - - [10/Oct/2000:20:55:38 +0000] "\x16\x03\x01" 400 0
::1 - - [10/Oct/2000:20:55:38 +0000] "GET /c HTTP/2.0" 200 9
"#;
        let times = log("access.log", lines, "time", 1.0).unwrap();
        assert_eq!(times, [0, 2000, 2250, 2500, 2750].map(Duration::from_millis));
        let wrong = log("access.log", "a [soon] b\nno time\n", "time", 1.0).unwrap_err();
        let reported: Vec<_> = wrong.iter().map(|w| (w.line, w.problem.rule.as_str())).collect();
        assert_eq!(reported, [(1, "\"a [soon] b\" is no time"), (2, "\"no time\" is no time")]);
        assert!(
            log("access.log", "\n", "time", 1.0).unwrap_err()[0]
                .problem
                .rule
                .contains("no time in")
        );
    }

    proptest! {
        #[test]
        fn no_access_log_is_too_strange(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = from_access_log(bytes.as_slice());
            let text = format!("[{}]", String::from_utf8_lossy(&bytes));
            let _ = bracketed_time(&text);
        }
    }

    #[test]
    fn every_invalid_line_and_missing_column_is_reported() {
        let wrong = log("log.csv", "time\n1\nsoon\n2\nNaN\n", "time", 1.0).unwrap_err();
        let reported: Vec<_> = wrong.iter().map(|w| (w.line, w.problem.rule.as_str())).collect();
        assert_eq!(reported, [(3, "\"soon\" is no time"), (5, "\"NaN\" is no time")]);
        let wrong = log("log.csv", "when,what\n1,a\n", "time", 1.0).unwrap_err();
        assert_eq!(wrong[0].problem.rule, "has no column time, but when, what");
        assert!(
            log("log.csv", "time\n", "time", 1.0).unwrap_err()[0]
                .problem
                .rule
                .contains("no time in")
        );
        let long = log("log.csv", "time\n0\n90000\n", "time", 1.0).unwrap_err();
        assert_eq!(long[0].problem.rule, "lasts 25.0 h, at most 24 h");
        assert!(
            read(Path::new("/nowhere.csv"), "time", 1.0).unwrap_err()[0]
                .problem
                .rule
                .contains("read")
        );
        let many = format!("time\n{}", "x\n".repeat(100));
        assert_eq!(log("log.csv", &many, "time", 1.0).unwrap_err().len(), MOST_REPORTED);
    }
}
