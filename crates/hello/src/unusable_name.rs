//! A server name that no TLS library can use, such as one with a port.

use crate::records;

/// A server_name extension whose name is no host name. Servers that take any bytes for a
/// name treat it as an unknown one; libraries that check it reject the hello. Given to
/// such a library under another type, the extension is skipped, and the hello is one
/// without a name. The transcript of the handshake must have the type that was sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnusableName {
    /// Where the extension's type stands in the handshake message.
    pub at: usize,
    /// A GREASE value that the hello has no extension of.
    pub stand_in: u16,
}

impl UnusableName {
    /// The type of the extension.
    pub const TYPE: u16 = 0;

    /// Writes the other type into a hello as it was received, in records.
    pub fn hide(&self, raw: &mut [u8]) {
        for (place, byte) in self.stand_in.to_be_bytes().into_iter().enumerate() {
            let at = records::place_of(raw, self.at + place);
            if let Some(slot) = at.and_then(|at| raw.get_mut(at)) {
                *slot = byte;
            }
        }
    }
}
