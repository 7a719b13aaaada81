//! The files that several drivers wrote of their requests, as one file. Nothing is
//! encoded anew: lines are copied, and so are the column chunks of Parquet.

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parquet::column::writer::ColumnCloseResult;
use parquet::errors::ParquetError;
use parquet::file::metadata::ParquetMetaDataReader;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::SerializedFileWriter;

use super::requests::{ours, schema};

/// Lines of JSON one file after the other; the last line of a driver that was lost
/// may not be whole, and is left out.
///
/// # Errors
/// A file cannot be read or written.
pub fn join_lines(shards: &[PathBuf], to: &Path) -> io::Result<()> {
    let mut whole = OpenOptions::new().write(true).create(true).truncate(true).open(to)?;
    for shard in shards {
        let mut file = File::open(shard)?;
        let length = whole_lines(&mut file)?;
        file.rewind()?;
        // On Linux the kernel copies it.
        io::copy(&mut file.take(length), &mut whole)?;
    }
    Ok(())
}

/// How many bytes of a file are whole lines.
fn whole_lines(file: &mut File) -> io::Result<u64> {
    let mut end = file.seek(SeekFrom::End(0))?;
    let mut buffer = [0; 8192];
    while end > 0 {
        let begin = end.saturating_sub(buffer.len() as u64);
        let piece = &mut buffer[..(end - begin) as usize];
        file.seek(SeekFrom::Start(begin))?;
        file.read_exact(piece)?;
        if let Some(at) = piece.iter().rposition(|byte| *byte == b'\n') {
            return Ok(begin + at as u64 + 1);
        }
        end = begin;
    }
    Ok(0)
}

/// Row groups one file after the other.
///
/// # Errors
/// A file cannot be read or written, or is no Parquet of requests: a driver that
/// was lost has not finished its own.
pub fn join_parquet(shards: &[PathBuf], to: &Path) -> io::Result<()> {
    let whole = File::create(to)?;
    let join = || -> Result<(), ParquetError> {
        let properties = Arc::new(WriterProperties::builder().build());
        let mut writer = SerializedFileWriter::new(whole, Arc::new(schema()?), properties)?;
        for shard in shards {
            let file = File::open(shard)?;
            let metadata = ParquetMetaDataReader::new().parse_and_finish(&file)?;
            for group in metadata.row_groups() {
                let mut joined = writer.next_row_group()?;
                for column in group.columns() {
                    let result = ColumnCloseResult {
                        bytes_written: column.compressed_size() as u64,
                        rows_written: group.num_rows() as u64,
                        metadata: column.clone(),
                        bloom_filter: None,
                        column_index: None,
                        offset_index: None,
                    };
                    joined.append_column(&file, result)?;
                }
                joined.close()?;
            }
        }
        writer.close()?;
        Ok(())
    };
    join().map_err(ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_all_files_are_joined_and_one_that_was_cut_is_left_out() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        let long = "x".repeat(20_000);
        std::fs::write(path("1"), "a\nb\n").unwrap();
        std::fs::write(path("2"), format!("c\n{long}\n{long}")).unwrap();
        std::fs::write(path("3"), "").unwrap();
        std::fs::write(path("4"), "cut").unwrap();
        let shards: Vec<PathBuf> = ["1", "2", "3", "4"].map(path).to_vec();
        join_lines(&shards, &path("all")).unwrap();
        let text = std::fs::read_to_string(path("all")).unwrap();
        assert_eq!(text, format!("a\nb\nc\n{long}\n"));
        assert!(join_lines(&[path("none")], &path("all")).is_err());
    }
}
