//! Reads the result of a shard from a file.

use std::path::Path;

use serde::Deserialize;
use serde::de::IgnoredAny;

use crate::result::LARGEST_FILE;
use crate::result::shard::ShardResult;
use crate::result::summary::Summary;

/// The fields that tell the kind of a file.
#[derive(Deserialize)]
struct Head {
    format: Option<u32>,
    runs: Option<Vec<IgnoredAny>>,
    #[serde(rename = "portion")]
    shard_result: Option<ShardHead>,
}

#[derive(Deserialize)]
struct ShardHead {
    format: u32,
}

impl ShardResult {
    /// Reads the result of a shard, as `--shard` and `--json` write it.
    ///
    /// # Errors
    /// What is wrong with which file, and the remedy.
    pub fn read(path: &Path) -> Result<Self, String> {
        let name = path.display().to_string();
        let bytes = tidegate_config::read_bytes(path, LARGEST_FILE)
            .map_err(|error| format!("{name}: {error}"))?;
        Self::parse(&name, &bytes)
    }

    pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Self, String> {
        let not_ours = |error: serde_json::Error| {
            format!("{name}: {error}; give files that `tidegate load --shard I/N --json` wrote")
        };
        let head: Head = serde_json::from_slice(bytes).map_err(not_ours)?;
        if head.runs.is_some() {
            return Err(format!(
                "{name}: contains the runs of --repeat, not a shard of a test; compare them with \
                 `tidegate load compare`"
            ));
        }
        if let Some(other) = head.format.filter(|format| *format != Summary::FORMAT) {
            return Err(other_format(name, "format", other, Summary::FORMAT));
        }
        match head.shard_result {
            Some(ShardHead { format: Self::FORMAT }) => {}
            Some(ShardHead { format }) => {
                return Err(other_format(name, "shards of format", format, Self::FORMAT));
            }
            None => {
                return Err(format!(
                    "{name}: is a whole run or no result, not a shard of a test; shards are written by \
                     `tidegate load --shard 1/2 --json FILE`"
                ));
            }
        }
        let summary: Summary = serde_json::from_slice(bytes).map_err(not_ours)?;
        let shard_result = *summary.shard_result.expect("the head has one");
        shard_result.check().map_err(|what| {
            format!("{name}: {what}; the file is damaged; give the original file")
        })?;
        Ok(shard_result)
    }
}

fn other_format(name: &str, what: &str, other: u32, ours: u32) -> String {
    format!(
        "{name}: has {what} {other}, and this tidegate reads {ours}; merge with the version that \
         wrote it"
    )
}
