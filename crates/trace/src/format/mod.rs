//! The file: a header, then blocks of records. All numbers are little-endian or of variable
//! length.
//!
//! ```text
//! "TDGTRACE"  8 bytes
//! version     u16
//! length      u32, of the header, at most 64 KiB
//! header      JSON
//! block       as often as there are
//!   length    u32, of the records, at most 1 MiB
//!   thread    u16
//!   base      u64, nanoseconds of the monotonic clock
//!   records
//! ```

pub mod header;
pub mod metric;
pub mod number;
pub mod record;

/// How a file begins.
pub const MAGIC: [u8; 8] = *b"TDGTRACE";
/// The version of the format.
pub const VERSION: u16 = 1;
/// Most bytes of a header.
pub const LARGEST_HEADER: u32 = 64 << 10;
/// Bytes before the records of a block.
pub const BLOCK_HEAD: usize = 14;
/// Most bytes of the records of a block.
pub const LARGEST_BLOCK: u32 = 1 << 20;
