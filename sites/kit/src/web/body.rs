//! Bodies of requests, in bounded memory and time.

use std::time::Duration;

use axum::body::Body;
use bytes::Bytes;
use http_body_util::{BodyExt as _, LengthLimitError, Limited};

/// How long a body may take to arrive.
pub const SLOWEST: Duration = Duration::from_secs(10);

/// Why a body was not read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unread {
    /// It is longer than allowed.
    TooLong,
    /// It broke off before its end.
    BrokenOff,
    /// It took longer than [`SLOWEST`].
    TooSlow,
}

/// The body, of at most so many bytes.
///
/// # Errors
/// It is longer, takes too long, or breaks off.
pub async fn collect(body: Body, most: usize) -> Result<Bytes, Unread> {
    match tokio::time::timeout(SLOWEST, Limited::new(body, most).collect()).await {
        Ok(Ok(collected)) => Ok(collected.to_bytes()),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(Unread::TooLong),
        Ok(Err(_)) => Err(Unread::BrokenOff),
        Err(_) => Err(Unread::TooSlow),
    }
}
