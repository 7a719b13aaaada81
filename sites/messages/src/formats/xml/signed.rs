//! The signed message: the message with its signature inside of it, in canonical form.
//!
//! The form is that of Exclusive XML Canonicalization, byte by byte. So the bytes that the
//! digest is of are those of the document without its signature, and the values that are taken
//! from it are those that were digested, whatever a library makes of references and transforms.
//!
//! Source: XML Signature Syntax and Processing 1.1 sections 4 and 6.6.4; Exclusive XML
//! Canonicalization 1.0 section 3; RFC 9231 section 2.3.6 (ecdsa-sha256).

use aws_lc_rs::digest::{Context, SHA256};

use super::material::decoded;
use super::outline::{Outline, Part, algorithm, text};
use crate::keys::Party;
use crate::message::{Id, Message, Operation};
use crate::refused::Refused;

/// What the signature begins with. No value has a `<`, so its first occurrence is the
/// signature's.
const SIGNATURE: &str = "<Signature xmlns=\"http://www.w3.org/2000/09/xmldsig#\">";
const END: &str = "</Message>";

/// The document. Its name in the reference is that of the root element, which no other element
/// can have.
const OUTLINE: Outline<11> = Outline::new(&[
    text("<Message xmlns=\"urn:tidegate:messages\" Id=\"m"),
    Part::Attribute,
    text("\"><Sender>"),
    Part::Content,
    text("</Sender><Recipient>"),
    Part::Content,
    text("</Recipient><IssuedMs>"),
    Part::Content,
    text("</IssuedMs><InReplyTo>"),
    Part::Content,
    text("</InReplyTo><Operation>"),
    Part::Content,
    text("</Operation><Counter>"),
    Part::Content,
    text("</Counter><Payload>"),
    Part::Content,
    text("</Payload>"),
    Part::Text(SIGNATURE, Refused::Signature),
    Part::Text("<SignedInfo>", Refused::Signature),
    algorithm("<CanonicalizationMethod Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">"),
    text("</CanonicalizationMethod>"),
    algorithm(
        "<SignatureMethod Algorithm=\"http://www.w3.org/2001/04/xmldsig-more#ecdsa-sha256\">",
    ),
    text("</SignatureMethod>"),
    Part::Text("<Reference URI=\"#m", Refused::Coverage),
    Part::Attribute,
    Part::Text("\"><Transforms>", Refused::Coverage),
    Part::Text(
        "<Transform Algorithm=\"http://www.w3.org/2000/09/xmldsig#enveloped-signature\">",
        Refused::Coverage,
    ),
    Part::Text("</Transform>", Refused::Coverage),
    Part::Text(
        "<Transform Algorithm=\"http://www.w3.org/2001/10/xml-exc-c14n#\">",
        Refused::Coverage,
    ),
    Part::Text("</Transform></Transforms>", Refused::Coverage),
    algorithm("<DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\">"),
    text("</DigestMethod><DigestValue>"),
    Part::Content,
    text("</DigestValue></Reference>"),
    Part::Text("</SignedInfo>", Refused::Coverage),
    Part::Text("<SignatureValue>", Refused::Signature),
    Part::Content,
    text("</SignatureValue></Signature>"),
    text(END),
]);

/// A message whose signature has neither digest nor value yet.
pub(super) fn unsigned(message: &Message) -> String {
    written(message, &escaped(&message.payload))
}

/// A request of this moment with a payload that is written as it is, markup and all.
#[cfg(any(test, feature = "fuzzing"))]
pub(super) fn unsigned_as_it_is(payload: &str) -> Option<String> {
    let now = crate::now_ms();
    let message = Message::request(Operation::Echo, String::new(), now).ok()?;
    Some(written(&message, payload))
}

fn written(message: &Message, payload: &str) -> String {
    let id = message.id.to_string();
    OUTLINE.write([
        &id,
        message.sender.name(),
        message.recipient.name(),
        &message.issued_ms.to_string(),
        &message.in_reply_to.map(|id| id.to_string()).unwrap_or_default(),
        message.operation.name(),
        &message.counter.to_string(),
        payload,
        &id,
        "",
        "",
    ])
}

/// The message of a document, whose digest is right. Its signature is not verified yet.
pub(super) fn read(document: &str) -> Result<Message, Refused> {
    let [
        id,
        sender,
        recipient,
        issued_ms,
        in_reply_to,
        operation,
        counter,
        payload,
        reference,
        digest,
        signature,
    ] = OUTLINE.read(document)?;
    let in_reply_to = match in_reply_to {
        "" => None,
        id => Some(Id::parse(id).ok_or(Refused::Malformed)?),
    };
    let message = Message {
        id: Id::parse(id).ok_or(Refused::Malformed)?,
        sender: party(sender)?,
        recipient: party(recipient)?,
        issued_ms: number(issued_ms)?,
        in_reply_to,
        operation: self::operation(operation)?,
        counter: number(counter)?,
        payload: unescaped(payload).ok_or(Refused::Malformed)?,
    };
    message.check_payload()?;
    if reference != id {
        return Err(Refused::Coverage);
    }
    if decoded(digest)? != digest_of(document)? {
        return Err(Refused::Digest);
    }
    match decoded::<64>(signature) {
        Ok(_) => Ok(message),
        Err(_) => Err(Refused::Signature),
    }
}

/// The digest of the document without its signature.
fn digest_of(document: &str) -> Result<[u8; 32], Refused> {
    let (before, _) = document.split_once(SIGNATURE).ok_or(Refused::Signature)?;
    let mut digest = Context::new(&SHA256);
    digest.update(before.as_bytes());
    digest.update(END.as_bytes());
    digest.finish().as_ref().try_into().map_err(|_| Refused::Digest)
}

fn party(name: &str) -> Result<Party, Refused> {
    let parties = [Party::Client, Party::Server];
    parties.into_iter().find(|it| it.name() == name).ok_or(Refused::Malformed)
}

fn operation(name: &str) -> Result<Operation, Refused> {
    let operations = [Operation::Echo, Operation::Count];
    operations.into_iter().find(|it| it.name() == name).ok_or(Refused::Malformed)
}

/// A number without sign and leading zeros.
fn number(text: &str) -> Result<u64, Refused> {
    match text.parse::<u64>() {
        Ok(number) if number.to_string() == text => Ok(number),
        Ok(_) | Err(_) => Err(Refused::Malformed),
    }
}

/// Text as the canonical form writes it, which leaves quotes alone.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            other => escaped.push(other),
        }
    }
    escaped
}

/// The text of its canonical form; `None` for every other form.
fn unescaped(canonical: &str) -> Option<String> {
    let mut text = String::with_capacity(canonical.len());
    let mut parts = canonical.split('&');
    text.push_str(parts.next()?);
    for part in parts {
        let (name, rest) = part.split_once(';')?;
        text.push(match name {
            "amp" => '&',
            "lt" => '<',
            "gt" => '>',
            _ => return None,
        });
        text.push_str(rest);
    }
    // A bare `>` would be read as itself, so there would be two ways to write it.
    (!canonical.contains('>')).then_some(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_has_one_form() {
        for plain in ["", "a", "&<>", "a\"b'c", "&amp;", "]]>"] {
            assert_eq!(unescaped(&escaped(plain)).as_deref(), Some(plain));
        }
        assert_eq!(escaped("<&\">"), "&lt;&amp;\"&gt;");
        for bad in ["&", "&amp", "&quot;", "&apos;", "&#60;", "&#x3c;", "&x;", ">", "]]>", "&;"] {
            assert_eq!(unescaped(bad), None, "{bad}");
        }
    }

    #[test]
    fn numbers_have_one_form() {
        assert_eq!(number("0"), Ok(0));
        assert_eq!(number("18446744073709551615"), Ok(u64::MAX));
        for bad in ["", "00", "+1", "-1", "1.0", " 1", "18446744073709551616", "0x1"] {
            assert_eq!(number(bad), Err(Refused::Malformed), "{bad}");
        }
    }

    #[test]
    fn a_message_without_a_signature_is_not_read() {
        let message = Message::request(Operation::Echo, "x".into(), 5).unwrap();
        assert_eq!(read(&unsigned(&message)), Err(Refused::Malformed), "no digest");
    }
}
