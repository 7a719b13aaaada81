//! Content codings of responses.
//!
//! Source: RFC 9110, section 8.4; RFC 1952 (gzip), RFC 7932 (br), RFC 8878 (zstd).

use std::io::Read;

use flate2::read::MultiGzDecoder;

use super::body::KEPT;

/// What customers accept who accept compressed responses.
pub(crate) const ACCEPTED: &str = "gzip, br, zstd";
/// Largest window of zstd as a power of two: 8 MiB.
///
/// Source: RFC 9659, section 3.
const WINDOW_LOG: u32 = 23;

/// How a body is encoded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Coding {
    #[default]
    Identity,
    Gzip,
    Brotli,
    Zstd,
    /// Another one, or several.
    Unknown,
}

impl Coding {
    /// Decodes a body in its place; returns its length. `None`: it is not encoded so.
    pub(crate) fn decode_in_place(self, body: &mut Vec<u8>) -> Option<u64> {
        // A response to HEAD, or one without content.
        if body.is_empty() {
            return Some(0);
        }
        *body = self.decode(body)?;
        Some(body.len() as u64)
    }

    /// The coding that a Content-Encoding names.
    pub(crate) fn of(value: &str) -> Self {
        let known = [
            ("", Self::Identity),
            ("identity", Self::Identity),
            ("gzip", Self::Gzip),
            ("x-gzip", Self::Gzip),
            ("br", Self::Brotli),
            ("zstd", Self::Zstd),
        ];
        let same = |(name, _): &&(&str, Self)| value.trim().eq_ignore_ascii_case(name);
        known.iter().find(same).map_or(Self::Unknown, |(_, coding)| *coding)
    }

    /// The beginning of the decoded body, up to [`KEPT`] bytes: what is compressed may be a
    /// thousand times as long. `body` is the beginning of the encoded one.
    ///
    /// `None` if the coding is unknown, or if the body is not encoded so.
    pub(crate) fn decode(self, body: &[u8]) -> Option<Vec<u8>> {
        match self {
            Self::Identity => Some(body.to_vec()),
            Self::Gzip => read(MultiGzDecoder::new(body), body),
            Self::Brotli => read(brotli_decompressor::Decompressor::new(body, 4096), body),
            Self::Zstd => {
                let mut decoder = zstd::stream::read::Decoder::with_buffer(body).ok()?;
                decoder.window_log_max(WINDOW_LOG).ok()?;
                read(decoder, body)
            }
            Self::Unknown => None,
        }
    }
}

fn read(decoder: impl Read, body: &[u8]) -> Option<Vec<u8>> {
    let mut decoded = Vec::new();
    match decoder.take(KEPT as u64).read_to_end(&mut decoded) {
        Ok(_) => Some(decoded),
        // Of a long body only the beginning was kept.
        Err(_) if body.len() >= KEPT && !decoded.is_empty() => Some(decoded),
        Err(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use proptest::prelude::*;
    use rand::{RngExt, SeedableRng};

    use super::*;
    use crate::rng::Rng;

    fn gzip(text: &[u8]) -> Vec<u8> {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text).unwrap();
        encoder.finish().unwrap()
    }

    fn zstd(text: &[u8]) -> Vec<u8> {
        zstd::stream::encode_all(text, 1).unwrap()
    }

    #[test]
    fn each_coding_is_decoded() {
        assert_eq!(Coding::of(" GZIP").decode(&gzip(b"hello")).unwrap(), b"hello");
        assert_eq!(Coding::of("zstd").decode(&zstd(b"hello")).unwrap(), b"hello");
        let brotli = b"\x0b\x02\x80hello\x03";
        assert_eq!(Coding::of("br").decode(brotli).unwrap(), b"hello");
        assert_eq!(Coding::of("identity").decode(b"hello").unwrap(), b"hello");
        for unknown in ["deflate", "gzip, br", "compress"] {
            assert_eq!(Coding::of(unknown).decode(b"hello"), None, "{unknown}");
        }
    }

    #[test]
    fn what_is_not_encoded_so_or_ends_early_is_told() {
        let whole = gzip(b"hello");
        for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
            assert_eq!(coding.decode(b"<p>hello"), None, "{coding:?}");
        }
        assert_eq!(Coding::Gzip.decode(&whole[..whole.len() - 9]), None);
        assert_eq!(Coding::Zstd.decode(&zstd(&[7; 1000])[..12]), None);
    }

    #[test]
    fn a_body_that_grows_when_it_is_decoded_is_cut() {
        let long = vec![b'x'; 16 << 20];
        for (coding, bomb) in [(Coding::Gzip, gzip(&long)), (Coding::Zstd, zstd(&long))] {
            assert!(bomb.len() < KEPT, "{coding:?}: {}", bomb.len());
            assert_eq!(coding.decode(&bomb).unwrap().len(), KEPT, "{coding:?}");
        }
    }

    #[test]
    fn of_a_body_that_was_cut_the_beginning_is_decoded() {
        let mut rng = Rng::seed_from_u64(1);
        let noise: Vec<u8> = (0..2 * KEPT).map(|_| rng.random()).collect();
        let encoded = gzip(&noise);
        let decoded = Coding::Gzip.decode(&encoded[..KEPT]).unwrap();
        assert!(decoded.len() > KEPT / 2 && noise.starts_with(&decoded), "{}", decoded.len());
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            for coding in [Coding::Gzip, Coding::Brotli, Coding::Zstd] {
                let _ = coding.decode(&bytes);
            }
        }
    }
}
