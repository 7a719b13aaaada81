//! Signature wrapping: a document that contains what was signed, where the verifier finds it,
//! and something else where the receiver looks.
//!
//! Source: McIntosh and Austel 2005, "XML Signature Element Wrapping Attacks and
//! Countermeasures"; Somorovsky et al. 2012, "On Breaking SAML: Be Whoever You Want to Be"
//! (the variants XSW1 to XSW8).

use super::xml::{document, ends, library_verifies, open, replaced};
use crate::Refused;

/// The parts of a signed document: its first tag, its content, and its signature.
struct Signed {
    begin: String,
    content: String,
    signature: String,
}

impl Signed {
    fn of(document: &str) -> Self {
        let (begin, rest) = document.split_once('>').unwrap();
        let (content, signature) = rest.split_once("<Signature ").unwrap();
        let signature = signature.strip_suffix("</Message>").unwrap();
        Self {
            begin: format!("{begin}>"),
            content: content.to_owned(),
            signature: format!("<Signature {signature}"),
        }
    }

    /// What was signed, without its signature.
    fn message(&self) -> String {
        format!("{}{}</Message>", self.begin, self.content)
    }

    /// Other content under another name.
    fn forged(&self) -> (String, String) {
        let id = &self.begin[self.begin.len() - 34..self.begin.len() - 2];
        let begin = replaced(&self.begin, id, &"0".repeat(32));
        (begin, replaced(&self.content, "five!", "evil!"))
    }
}

/// The classic variants, each with its name and why it is refused.
fn variants(signed: &Signed) -> Vec<(&'static str, String, Refused)> {
    use Refused::{Coverage, Digest, Malformed, Signature};
    let Signed { begin, content, signature } = signed;
    let whole = signed.message();
    let with_signature = replaced(&whole, "</Message>", &format!("{signature}</Message>"));
    let (other, evil) = signed.forged();
    let forged = format!("{other}{evil}</Message>");
    let around = |it: &str, place: &str| replaced(signature, place, &format!("{it}{place}"));
    let object = |it: &str| around(&format!("<Object>{it}</Object>"), "</Signature>");
    let before = |it: &str| around(&format!("<Object>{it}</Object>"), "<SignedInfo>");
    let extension = format!("<Extension>{with_signature}</Extension>");
    let envelope = format!("<Envelope>{forged}{with_signature}</Envelope>");
    let inside = format!("{forged}<Sender>");
    let payload = replaced(&evil, "evil!", &with_signature);
    let dtd = "<!DOCTYPE Message [<!ATTLIST Message Id ID #IMPLIED>]>";
    let in_forged = |it: &str| format!("{other}{evil}{it}</Message>");
    vec![
        // The receiver finds a forged message, the verifier the signed one.
        ("beside the signature", in_forged(&format!("{signature}{whole}")), Malformed),
        ("before the signature", in_forged(&format!("{whole}{signature}")), Signature),
        ("before the content", format!("{other}{whole}{evil}{signature}</Message>"), Malformed),
        ("in an object of the signature", in_forged(&object(&whole)), Malformed),
        ("in an object before SignedInfo", in_forged(&before(&whole)), Signature),
        ("with its signature", in_forged(&with_signature), Signature),
        (
            "with its signature, in front",
            format!("{other}{with_signature}{evil}</Message>"),
            Malformed,
        ),
        ("in an extension", in_forged(&extension), Signature),
        ("in the payload", format!("{other}{payload}{signature}</Message>"), Malformed),
        ("in a comment", in_forged(&format!("{signature}<!--{whole}-->")), Malformed),
        ("in CDATA", in_forged(&format!("{signature}<![CDATA[{whole}]]>")), Malformed),
        // The same name twice.
        ("forged around signed", format!("{begin}{evil}{with_signature}</Message>"), Signature),
        ("signed in the object", format!("{begin}{evil}{}</Message>", object(&whole)), Malformed),
        // The forged message where only a receiver would look that searches.
        ("forged in signed", replaced(&with_signature, "<Sender>", &inside), Malformed),
        (
            "forged in the object",
            format!("{begin}{content}{}</Message>", object(&forged)),
            Malformed,
        ),
        ("forged, then signed", format!("{forged}{with_signature}"), Signature),
        ("signed, then forged", format!("{with_signature}{forged}"), Malformed),
        ("both in an envelope", envelope, Malformed),
        // The signature elsewhere.
        ("signature in front", format!("{begin}{signature}{content}</Message>"), Malformed),
        ("signature behind", format!("{whole}{signature}"), Signature),
        ("signature around", object(&whole), Malformed),
        ("signature twice", in_forged(&format!("{signature}{signature}")), Malformed),
        // Names.
        ("of another name", in_forged(signature), Coverage),
        ("forged under the signed name", format!("{begin}{evil}{signature}</Message>"), Digest),
        ("a name declared by a DTD", format!("{dtd}{with_signature}"), Malformed),
        (
            "a second name",
            replaced(&with_signature, "<Message ", "<Message xml:id=\"x\" "),
            Malformed,
        ),
    ]
}

#[test]
fn no_variant_of_signature_wrapping_is_accepted() {
    let ends = ends();
    let document = document(&ends);
    for (name, text, expected) in variants(&Signed::of(&document)) {
        assert_eq!(open(&ends, &text), Err(expected), "{name}");
    }
    assert!(open(&ends, &document).is_ok(), "what is refused is not remembered");
}

#[test]
fn a_verifier_that_looks_up_references_finds_many_variants_right() {
    let ends = ends();
    let document = document(&ends);
    let right: Vec<&str> = variants(&Signed::of(&document))
        .into_iter()
        .filter(|(_, text, _)| library_verifies(&ends, text))
        .map(|(name, ..)| name)
        .collect();
    // So the outline refuses what nothing else would.
    for name in ["beside the signature", "in an extension", "in the payload", "signature in front"]
    {
        assert!(right.contains(&name), "{name} not in {right:?}");
    }
}
