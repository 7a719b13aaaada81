//! One end of a conversation: protects what it sends and accepts what it should receive.

use bytes::Bytes;
use http::header::CONTENT_TYPE;
use http::{HeaderMap, HeaderValue};

use crate::formats::{Codec, Format};
use crate::keys::{Keys, Party};
use crate::message::{Id, Message};
use crate::receiver::Receiver;
use crate::refused::Refused;
use crate::wire::{Scene, Wire, check_media_type};
use tidegate_sitekit::{Error, Result};

/// One end of a conversation in one format.
pub struct Channel {
    format: Format,
    codec: Box<dyn Codec>,
    receiver: Receiver,
}

impl Channel {
    /// The end of the party that the keys belong to.
    ///
    /// # Errors
    /// A format's library does not take the keys.
    pub fn new(format: Format, keys: Keys) -> Result<Self> {
        let receiver = Receiver::new(keys.party);
        Ok(Self { format, codec: format.codec(keys)?, receiver })
    }

    /// The end of a party without keys, for [`Format::None`] alone.
    pub fn unprotected(party: Party) -> Self {
        let receiver = Receiver::new(party);
        Self { format: Format::None, codec: Format::unprotected(), receiver }
    }

    /// The format.
    pub fn format(&self) -> Format {
        self.format
    }

    /// Writes a message.
    ///
    /// # Errors
    /// The format's library fails.
    pub fn protect(&self, message: &Message, scene: &Scene) -> Result<Wire> {
        let media_type = HeaderValue::from_static(self.format.media_type());
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
        let body = self.codec.seal(message, scene, &mut headers)?;
        if body.len() > self.format.most_body() {
            return Err(Error::Internal("a message is longer than its receiver reads".into()));
        }
        Ok(Wire { headers, body: Bytes::from(body) })
    }

    /// Like [`protect`](Self::protect), with any bytes in a layer of the message; `None` where
    /// the format cannot write that.
    #[cfg(any(test, feature = "fuzzing"))]
    pub fn forge(&self, layer: crate::Layer, bytes: &[u8], scene: &Scene) -> Option<Wire> {
        let media_type = HeaderValue::from_static(self.format.media_type());
        let mut headers = HeaderMap::from_iter([(CONTENT_TYPE, media_type)]);
        let body = self.codec.forge(layer, bytes, scene, &mut headers)?;
        Some(Wire { headers, body: Bytes::from(body) })
    }

    /// Reads a request and accepts it once.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn receive(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        scene: &Scene,
        now_ms: u64,
    ) -> Result<Message, Refused> {
        let message = self.open(headers, body, scene)?;
        if self.format != Format::None {
            self.receiver.accept(&message, now_ms)?;
        }
        Ok(message)
    }

    /// Reads the answer to a request.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn receive_answer(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        scene: &Scene,
        to: Id,
        now_ms: u64,
    ) -> Result<Message, Refused> {
        let message = self.open(headers, body, scene)?;
        match self.format {
            Format::None if message.in_reply_to == Some(to) => {}
            Format::None => return Err(Refused::Unbound),
            _ => self.receiver.accept_answer(&message, to, now_ms)?,
        }
        Ok(message)
    }

    /// Reads a message, without regard to its time and parties.
    ///
    /// # Errors
    /// Why it is refused.
    pub fn open(
        &self,
        headers: &HeaderMap,
        body: &[u8],
        scene: &Scene,
    ) -> Result<Message, Refused> {
        if body.len() > self.format.most_body() {
            return Err(Refused::TooLarge);
        }
        check_media_type(headers, self.format.media_type())?;
        let message = self.codec.open(headers, body, scene)?;
        message.check_payload().map(|()| message)
    }
}

tidegate_sitekit::printed_by!(Channel: format);
