//! The lines of a file that may be compressed and may have no end. No line takes more memory than
//! its bound.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::Path;

use flate2::bufread::MultiGzDecoder;

/// Longest line, in bytes.
pub(super) const LONGEST: usize = 64 << 10;

/// What begins a file that is compressed with gzip.
const GZIP: &[u8] = &[0x1f, 0x8b];

/// Lines with their numbers.
pub(super) struct Lines {
    reader: BufReader<Box<dyn Read>>,
    number: u64,
    line: Vec<u8>,
}

/// A line.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Line<'a> {
    /// Its bytes, without the end of the line.
    Bytes(&'a [u8]),
    /// It is longer than [`LONGEST`].
    TooLong,
}

impl Lines {
    /// Of a file; `-` is the standard input.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        let bytes: Box<dyn Read> = match path.as_os_str() == "-" {
            true => Box::new(io::stdin()),
            false => Box::new(File::open(path)?),
        };
        Self::of(bytes)
    }

    /// Of bytes as they are, or compressed with gzip.
    pub(super) fn of(bytes: Box<dyn Read>) -> io::Result<Self> {
        let mut bytes = BufReader::new(bytes);
        let bytes: Box<dyn Read> = match bytes.fill_buf()?.starts_with(GZIP) {
            true => Box::new(MultiGzDecoder::new(bytes)),
            false => Box::new(bytes),
        };
        Ok(Self { reader: BufReader::new(bytes), number: 0, line: Vec::new() })
    }

    /// The next line, and its number from 1.
    pub(super) fn next(&mut self) -> io::Result<Option<(u64, Line<'_>)>> {
        self.line.clear();
        let (mut any, mut too_long) = (false, false);
        loop {
            let bytes = self.reader.fill_buf()?;
            if bytes.is_empty() {
                break;
            }
            any = true;
            let end = memchr::memchr(b'\n', bytes);
            let part = &bytes[..end.unwrap_or(bytes.len())];
            too_long |= self.line.len() + part.len() > LONGEST;
            if !too_long {
                self.line.extend_from_slice(part);
            }
            let read = end.map_or(bytes.len(), |end| end + 1);
            self.reader.consume(read);
            if end.is_some() {
                break;
            }
        }
        if !any {
            return Ok(None);
        }
        self.number += 1;
        let line = self.line.strip_suffix(b"\r").unwrap_or(&self.line);
        Ok(Some((self.number, if too_long { Line::TooLong } else { Line::Bytes(line) })))
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    fn all(bytes: Vec<u8>) -> Vec<Option<Vec<u8>>> {
        let mut lines = Lines::of(Box::new(io::Cursor::new(bytes))).unwrap();
        let mut all = Vec::new();
        while let Some((number, line)) = lines.next().unwrap() {
            all.push(match line {
                Line::Bytes(line) => Some(line.to_vec()),
                Line::TooLong => None,
            });
            assert_eq!(number, all.len() as u64);
        }
        all
    }

    #[test]
    fn lines_end_in_any_way_and_too_long_ones_are_passed_over() {
        let text = |text: &str| Some(text.as_bytes().to_vec());
        assert_eq!(all(b"a\r\n\nb".to_vec()), [text("a"), text(""), text("b")]);
        assert!(all(Vec::new()).is_empty());
        let bytes = [vec![b'x'; LONGEST + 1], b"\ny\n".to_vec(), vec![b'z'; LONGEST]].concat();
        let found = all(bytes);
        assert_eq!(found[..2], [None, text("y")]);
        assert_eq!(found[2].as_ref().map(Vec::len), Some(LONGEST));
    }

    #[test]
    fn gzip_is_recognised_by_its_bytes_also_of_several_members() {
        let packed = |text: &str| {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text.as_bytes()).unwrap();
            packer.finish().unwrap()
        };
        let bytes = [packed("a\nb"), packed("c\n")].concat();
        assert_eq!(all(bytes.clone()), [Some(b"a".to_vec()), Some(b"bc".to_vec())]);
        let mut cut = Lines::of(Box::new(io::Cursor::new(bytes[..12].to_vec()))).unwrap();
        assert!(std::iter::from_fn(|| Some(cut.next().map(|_| ()))).take(5).any(|it| it.is_err()));
    }
}
