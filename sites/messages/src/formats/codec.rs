//! What every format does.

use http::HeaderMap;

use crate::message::Message;
use crate::refused::Refused;
use crate::wire::Scene;
use tidegate_sitekit::Result;

/// Writes and reads messages in one format with the keys of one party.
pub trait Codec: Send + Sync {
    /// The body of a message; fields of the format go to `headers`, which holds the
    /// Content-Type.
    fn seal(&self, message: &Message, scene: &Scene, headers: &mut HeaderMap) -> Result<Vec<u8>>;

    /// The message of a body with the format's Content-Type.
    fn open(&self, headers: &HeaderMap, body: &[u8], scene: &Scene) -> Result<Message, Refused>;

    /// Like [`seal`](Self::seal), with any bytes in a layer of the message; `None` where the
    /// format or its library cannot write that.
    #[cfg(any(test, feature = "fuzzing"))]
    fn forge(
        &self,
        layer: Layer,
        bytes: &[u8],
        scene: &Scene,
        headers: &mut HeaderMap,
    ) -> Option<Vec<u8>>;
}

/// Where bytes are put that are not a message's, to test what a receiver makes of them.
#[cfg(any(test, feature = "fuzzing"))]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layer {
    /// In place of the signed message, inside of an encryption that is right.
    Signed,
    /// In place of the content, inside of a signature that is right. In XML: of the payload.
    Content,
}
