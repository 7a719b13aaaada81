//! Plain JSON, protected by nothing but, perhaps, its connection.

use http::HeaderMap;

use super::codec::Codec;
use crate::message::Message;
use crate::refused::Refused;
use crate::wire::Scene;
use tidegate_sitekit::Result;

/// JSON as it is.
pub(super) struct Plain;

impl Codec for Plain {
    fn seal(&self, message: &Message, _: &Scene, _: &mut HeaderMap) -> Result<Vec<u8>> {
        message.to_json()
    }

    fn open(&self, _: &HeaderMap, body: &[u8], _: &Scene) -> Result<Message, Refused> {
        Message::from_json(body)
    }

    #[cfg(any(test, feature = "fuzzing"))]
    fn forge(
        &self,
        layer: super::codec::Layer,
        bytes: &[u8],
        _: &Scene,
        _: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        (layer == super::codec::Layer::Content).then(|| bytes.to_vec())
    }
}
