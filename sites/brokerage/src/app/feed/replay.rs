//! A file of ticks that is replayed: CSV with the columns `tick,symbol,price`, the tick a
//! whole number from 1 that never falls, the price an amount such as 12.50.
//!
//! ```csv
//! tick,symbol,price
//! 1,ALEN,51.20
//! 1,BAFI,17.05
//! 2,ALEN,51.35
//! ```

use std::collections::{BTreeMap, HashSet};
use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::securities;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::{Error, Result};

/// Most bytes of a file.
const LARGEST: u64 = 64 * 1024 * 1024;
/// Most mistakes that are named.
const NAMED: usize = 20;
/// The columns.
const HEAD: [&str; 3] = ["tick", "symbol", "price"];

/// The prices of each tick that has some.
type Ticks = BTreeMap<i64, Vec<(String, Cents)>>;

/// A file of ticks.
#[derive(Clone, Debug)]
pub struct Replay {
    name: String,
    ticks: Ticks,
}

impl Replay {
    /// Reads a file.
    ///
    /// # Errors
    /// It cannot be read, has no tick, or some of its lines are wrong: an error for the
    /// operator that names the first 20 with their numbers.
    pub fn read(path: &Path) -> Result<Self> {
        let wrong = |text: String| Error::Operator(format!("--feed {}: {text}", path.display()));
        let bytes = tidegate_config::read_bytes(path, LARGEST);
        let bytes = bytes.map_err(|error| wrong(error.to_string()))?;
        let ticks = parse(&bytes).map_err(|mistakes| wrong(mistakes.join("\n")))?;
        // What has the same name continues where it was.
        let hash = URL_SAFE_NO_PAD.encode(&digest(&SHA256, &bytes).as_ref()[..12]);
        Ok(Self { name: format!("file {hash}"), ticks })
    }

    /// What it calls itself.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The prices of the `nth` tick; `None` after the last.
    pub fn tick(&self, nth: i64) -> Option<Vec<(String, Cents)>> {
        let last = *self.ticks.last_key_value()?.0;
        (nth <= last).then(|| self.ticks.get(&nth).cloned().unwrap_or_default())
    }
}

/// Reads a file's content: how many ticks have prices, or the mistakes.
///
/// # Errors
/// The mistakes, each with its line.
#[cfg(feature = "fuzzing")]
pub fn read_ticks(bytes: &[u8]) -> std::result::Result<usize, Vec<String>> {
    parse(bytes).map(|ticks| ticks.len())
}

fn parse(bytes: &[u8]) -> std::result::Result<Ticks, Vec<String>> {
    let symbols: HashSet<String> =
        securities::all().into_iter().map(|listed| listed.symbol).collect();
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .trim(csv::Trim::All)
        .from_reader(bytes);
    let (mut ticks, mut mistakes) = (BTreeMap::new(), Vec::new());
    let mut last = 1;
    for (index, record) in reader.records().enumerate() {
        if mistakes.len() == NAMED {
            mistakes.push("further lines were not read".into());
            break;
        }
        let record = match record {
            Ok(record) => record,
            Err(error) => {
                mistakes.push(error.to_string());
                continue;
            }
        };
        let line = record.position().map_or(0, csv::Position::line);
        if index == 0 && record.iter().eq(HEAD) {
            continue;
        }
        match row(&record, last, &symbols) {
            Ok((tick, symbol, price)) => {
                last = tick;
                ticks.entry(tick).or_insert_with(Vec::new).push((symbol, price));
            }
            Err(mistake) => mistakes.push(format!("line {line}: {mistake}")),
        }
    }
    if ticks.is_empty() && mistakes.is_empty() {
        mistakes.push("has no tick; write lines such as 1,ALEN,51.20".into());
    }
    if mistakes.is_empty() { Ok(ticks) } else { Err(mistakes) }
}

fn row(
    record: &csv::StringRecord,
    last: i64,
    symbols: &HashSet<String>,
) -> std::result::Result<(i64, String, Cents), String> {
    let [tick, symbol, price] = match record.iter().collect::<Vec<_>>()[..] {
        [tick, symbol, price] => [tick, symbol, price],
        _ => {
            return Err(format!("has {} columns instead of tick,symbol,price", record.len()));
        }
    };
    let number: Option<i64> = tick.parse().ok().filter(|number| *number >= 1);
    let number = number.ok_or_else(|| format!("tick {tick:?}: must be a whole number from 1"))?;
    if number < last {
        return Err(format!("tick {number}: must not be below the one before, {last}"));
    }
    if !symbols.contains(symbol) {
        return Err(format!("symbol {symbol:?}: is not traded here; try ALEN"));
    }
    let cents = Cents::parse(price).filter(|cents| cents.0 > 0).ok_or_else(|| {
        format!(
            "price {price:?}: must be an amount such as 12.50, from 0.01 to {}",
            Cents::MOST.plain()
        )
    })?;
    Ok((number, symbol.into(), cents))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<Replay> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("feed.csv");
        std::fs::write(&path, text).unwrap();
        Replay::read(&path)
    }

    #[test]
    fn ticks_are_replayed_and_then_the_file_has_ended() {
        let replay = read("tick,symbol,price\n1,ALEN,51.20\n1, BAFI ,17\n3,ALEN,51.35\n").unwrap();
        let alen = |cents| ("ALEN".to_owned(), Cents(cents));
        assert_eq!(replay.tick(1).unwrap(), [alen(5120), ("BAFI".into(), Cents(1700))]);
        assert_eq!(replay.tick(2), Some(Vec::new()));
        assert_eq!(replay.tick(3).unwrap(), [alen(5135)]);
        assert_eq!(replay.tick(4), None);
        let same = read("tick,symbol,price\n1,ALEN,51.20\n1, BAFI ,17\n3,ALEN,51.35\n").unwrap();
        assert_eq!(replay.name(), same.name());
        assert_ne!(replay.name(), read("1,ALEN,1").unwrap().name());
    }

    #[test]
    fn every_wrong_line_is_named_with_its_number_and_remedy() {
        let text = "tick,symbol,price\n1,ALEN,51.20\nx,ALEN,1\n2,NONE,1\n2,ALEN,-1\n2,ALEN\n\
                    2,ALEN,1.234\n2,ALEN,0\n1,ALEN,1\n2,BAFI,1\n1,BAFI,1\n";
        let error = read(text).unwrap_err().to_string();
        for expected in [
            "line 3: tick \"x\": must be a whole number from 1",
            "line 4: symbol \"NONE\": is not traded here; try ALEN",
            "line 5: price \"-1\": must be an amount such as 12.50",
            "line 6: has 2 columns",
            "line 7: price \"1.234\"",
            "line 8: price \"0\"",
            "line 11: tick 1: must not be below the one before, 2",
        ] {
            assert!(error.contains(expected), "{expected} is not in {error}");
        }
        assert!(!error.contains("line 9") && !error.contains("line 10"), "{error}");
    }

    #[test]
    fn a_file_without_a_tick_and_a_long_list_of_mistakes_are_bounded() {
        assert!(read("").unwrap_err().to_string().contains("has no tick"));
        assert!(read("tick,symbol,price\n").unwrap_err().to_string().contains("has no tick"));
        let error = read(&"a,b,c\n".repeat(10_000)).unwrap_err().to_string();
        assert_eq!(error.lines().count(), NAMED + 1, "{error}");
        let error = Replay::read(Path::new("/does/not/exist")).unwrap_err().to_string();
        assert!(error.contains("--feed /does/not/exist: No such file"), "{error}");
    }
}
