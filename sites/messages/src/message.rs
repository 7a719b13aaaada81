//! What a message says, whatever its format.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::keys::Party;
use crate::refused::Refused;
use tidegate_sitekit::{Error, Result};

/// Most characters of a payload: 1 MiB.
pub const MOST_PAYLOAD: usize = 1024 * 1024;

/// A message. The names of its fields are those of its JSON and CBOR maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Message {
    /// Names the message; no two have the same.
    pub id: Id,
    /// Who sent it.
    pub sender: Party,
    /// Who is to receive it.
    pub recipient: Party,
    /// When it was made: milliseconds since 1970.
    pub issued_ms: u64,
    /// The request that it answers; `None` for a request.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub in_reply_to: Option<Id>,
    /// What is asked for, or was done.
    pub operation: Operation,
    /// 0 in a request; in an answer, how many requests the service has answered, this one
    /// included.
    pub counter: u64,
    /// Printable ASCII characters, at most [`MOST_PAYLOAD`]: all formats write letters and
    /// digits as they are, so that a message of a given size has that size in each.
    pub payload: String,
}

/// What a request asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    /// The payload.
    Echo,
    /// The number of its characters.
    Count,
}

impl Operation {
    /// Its name in messages.
    pub fn name(self) -> &'static str {
        match self {
            Self::Echo => "echo",
            Self::Count => "count",
        }
    }

    /// The payload of the answer.
    fn answer(self, payload: &str) -> String {
        match self {
            Self::Echo => payload.to_owned(),
            Self::Count => payload.len().to_string(),
        }
    }
}

impl Message {
    /// A request of the client.
    ///
    /// # Errors
    /// The payload is too long or has other characters than printable ASCII, or there is no
    /// randomness.
    pub fn request(operation: Operation, payload: String, now_ms: u64) -> Result<Self> {
        let message = Self {
            id: Id::random()?,
            sender: Party::Client,
            recipient: Party::Server,
            issued_ms: now_ms,
            in_reply_to: None,
            operation,
            counter: 0,
            payload,
        };
        message.check_payload().map_err(|_| {
            Error::Operator(format!(
                "payload: must be printable ASCII, at most {MOST_PAYLOAD} characters"
            ))
        })?;
        Ok(message)
    }

    /// The service's answer, its `counter`th.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn answer(&self, counter: u64, now_ms: u64) -> Result<Self> {
        Ok(Self {
            id: Id::random()?,
            sender: self.recipient,
            recipient: self.sender,
            issued_ms: now_ms,
            in_reply_to: Some(self.id),
            operation: self.operation,
            counter,
            payload: self.operation.answer(&self.payload),
        })
    }

    /// Whether this is what the service answers to a request.
    pub fn answers(&self, request: &Self) -> bool {
        self.in_reply_to == Some(request.id)
            && self.operation == request.operation
            && self.counter > 0
            && self.payload == request.operation.answer(&request.payload)
    }

    /// Whether the payload is one.
    ///
    /// # Errors
    /// It is too long, or has other characters than printable ASCII.
    pub(super) fn check_payload(&self) -> Result<(), Refused> {
        if self.payload.len() > MOST_PAYLOAD {
            return Err(Refused::TooLarge);
        }
        let printable = self.payload.bytes().all(|byte| (0x20..=0x7e).contains(&byte));
        if printable { Ok(()) } else { Err(Refused::Malformed) }
    }

    /// The message as JSON.
    pub(super) fn to_json(&self) -> Result<Vec<u8>> {
        serde_json::to_vec(self).map_err(|error| Error::Internal(error.to_string()))
    }

    /// A message from JSON: all fields once, no others.
    pub(super) fn from_json(bytes: &[u8]) -> Result<Self, Refused> {
        let message: Self = serde_json::from_slice(bytes).map_err(|_| Refused::Malformed)?;
        message.check_payload().map(|()| message)
    }
}

/// The name of a message: 128 random bits, written as 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Id(pub [u8; 16]);

impl Id {
    /// A new one.
    ///
    /// # Errors
    /// There is no randomness.
    pub fn random() -> Result<Self> {
        let mut bytes = [0; 16];
        aws_lc_rs::rand::fill(&mut bytes)
            .map_err(|_| Error::Internal("no random numbers".into()))?;
        Ok(Self(bytes))
    }

    /// One from its 32 lower-case digits.
    pub fn parse(text: &str) -> Option<Self> {
        let digits = text.as_bytes();
        let mut bytes = [0; 16];
        if digits.len() != 32 {
            return None;
        }
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks_exact(2)) {
            *byte = digit(pair[0])? << 4 | digit(pair[1])?;
        }
        Some(Self(bytes))
    }
}

/// The value of a lower-case hexadecimal digit.
fn digit(character: u8) -> Option<u8> {
    match character {
        b'0'..=b'9' => Some(character - b'0'),
        b'a'..=b'f' => Some(character - b'a' + 10),
        _ => None,
    }
}

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl Serialize for Id {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Id {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = String::deserialize(deserializer)?;
        Self::parse(&text).ok_or_else(|| serde::de::Error::custom("must be 32 hexadecimal digits"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_answer_is_the_payload_or_its_length_and_names_its_request() {
        let request = Message::request(Operation::Count, "four".into(), 5).unwrap();
        let answer = request.answer(3, 6).unwrap();
        assert_eq!((answer.payload.as_str(), answer.counter), ("4", 3));
        assert_eq!((answer.sender, answer.recipient), (Party::Server, Party::Client));
        assert!(answer.answers(&request));
        let other = Message::request(Operation::Count, "four".into(), 5).unwrap();
        assert!(!answer.answers(&other));
        assert!(!Message { payload: "5".into(), ..answer }.answers(&request));
    }

    #[test]
    fn only_printable_ascii_up_to_the_limit_is_a_payload() {
        let request = |payload: String| Message::request(Operation::Echo, payload, 0);
        assert!(request(" ~".into()).is_ok());
        assert!(request("x".repeat(MOST_PAYLOAD)).is_ok());
        for bad in ["\n".to_owned(), "é".to_owned(), "x".repeat(MOST_PAYLOAD + 1)] {
            assert!(request(bad).unwrap_err().to_string().contains("printable ASCII"));
        }
    }

    #[test]
    fn json_of_a_message_has_each_field_once_and_no_others() {
        let message = Message::request(Operation::Echo, "<&\"".into(), 7).unwrap();
        let json = String::from_utf8(message.to_json().unwrap()).unwrap();
        assert_eq!(Message::from_json(json.as_bytes()), Ok(message));
        for bad in [
            json.replacen('{', "{\"counter\":1,", 1),
            json.replacen('{', "{\"other\":1,", 1),
            json.replace("\"counter\":0,", ""),
            json.replace("echo", "delete"),
            format!("{json}{{}}"),
        ] {
            assert_eq!(Message::from_json(bad.as_bytes()), Err(Refused::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_name_is_written_in_32_digits() {
        let id = Id::random().unwrap();
        assert_eq!(Id::parse(&id.to_string()), Some(id));
        assert_eq!(Id([1; 16]).to_string(), "01".repeat(16));
        for bad in ["", "0", &"0".repeat(31), &"g".repeat(32), &"A".repeat(32)] {
            assert_eq!(Id::parse(bad), None, "{bad}");
        }
    }
}
