//! SOAP 1.2: envelopes in, envelopes and faults out.
//!
//! Source: SOAP 1.2 part 1, sections 2.6 (headers that must be understood), 2.8 (versions), 5.4
//! (faults); part 2, section 7.5.2 (status of a fault).

use serde_json::Value;
use tidegate_sitekit::Problem;

use crate::message::xml::{NAMESPACE, escape, parse, read, write};
use crate::services::Service;

/// The media type of SOAP 1.2.
pub const MEDIA_TYPE: &str = "application/soap+xml";

const ENVELOPE: &str = "http://www.w3.org/2003/05/soap-envelope";

/// A fault: its code of SOAP, and the problem.
#[derive(Debug)]
pub struct Fault {
    code: &'static str,
    problem: Box<Problem>,
}

impl Fault {
    /// The fault of a problem: the sender's, or the receiver's.
    pub fn of(problem: Problem) -> Self {
        let code = if problem.status >= 500 { "Receiver" } else { "Sender" };
        Self { code, problem: Box::new(problem) }
    }

    fn sender(code: &'static str, problem_code: &str, text: impl Into<String>) -> Self {
        Self { code, problem: Box::new(Problem::coded(400, problem_code, text)) }
    }

    /// The problem.
    pub fn problem(&self) -> &Problem {
        &self.problem
    }

    /// The envelope.
    pub fn envelope(&self) -> String {
        let mut text = String::from(OPEN);
        text.push_str("<env:Fault><env:Code><env:Value>env:");
        text.push_str(self.code);
        text.push_str("</env:Value></env:Code><env:Reason><env:Text xml:lang=\"en\">");
        escape(&self.problem.sentences().join(" "), &mut text);
        text.push_str("</env:Text></env:Reason><env:Detail><b:code>");
        escape(&self.problem.code, &mut text);
        text.push_str("</b:code>");
        if let Some(mistake) = self.problem.mistakes.first() {
            text.push_str("<b:field>");
            escape(&mistake.field, &mut text);
            text.push_str("</b:field>");
        }
        text.push_str("</env:Detail></env:Fault>");
        text.push_str(CLOSE);
        text
    }
}

impl From<Problem> for Fault {
    fn from(problem: Problem) -> Self {
        Self::of(problem)
    }
}

const OPEN: &str = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<env:Envelope xmlns:env=\"http://www.w3.org/2003/05/soap-envelope\" xmlns:b=\"urn:tidegate:b2b\"><env:Body>";
const CLOSE: &str = "</env:Body></env:Envelope>\n";

/// The service that an envelope calls, and its request as JSON.
///
/// # Errors
/// The fault that answers it.
pub fn call(body: &[u8]) -> Result<(Service, Value), Fault> {
    let text = std::str::from_utf8(body)
        .map_err(|_| Fault::sender("Sender", "malformed_xml", "The message is not UTF-8."))?;
    let document = parse(text.trim_start_matches('\u{feff}'))?;
    let root = document.root_element();
    let namespace = root.tag_name().namespace();
    if root.tag_name().name() != "Envelope" || namespace != Some(ENVELOPE) {
        let text =
            format!("The message must be an Envelope of SOAP 1.2, in the namespace {ENVELOPE}.");
        return Err(Fault::sender("VersionMismatch", "not_soap_1_2", text));
    }
    let (mut header, mut content) = (None, None);
    for part in root.children().filter(roxmltree::Node::is_element) {
        let of_soap = part.tag_name().namespace() == Some(ENVELOPE);
        match part.tag_name().name() {
            "Header" if of_soap && header.is_none() && content.is_none() => header = Some(part),
            "Body" if of_soap && content.is_none() => content = Some(part),
            _ => {
                let text = "An Envelope has at most one Header, and then one Body.";
                return Err(Fault::sender("Sender", "malformed_envelope", text));
            }
        }
    }
    let must = |block: roxmltree::Node<'_, '_>| {
        matches!(block.attribute((ENVELOPE, "mustUnderstand")), Some("1" | "true"))
    };
    if header.is_some_and(|header| header.children().any(|it| it.is_element() && must(it))) {
        let text = "A header that must be understood is not; these services have no headers.";
        return Err(Fault::sender("MustUnderstand", "header_not_understood", text));
    }
    let mut calls = content.iter().flat_map(|it| it.children()).filter(|it| it.is_element());
    let (Some(call), None) = (calls.next(), calls.next()) else {
        let text = "The Body must hold one element: the request of a service.";
        return Err(Fault::sender("Sender", "malformed_envelope", text));
    };
    let of_ours = call.tag_name().namespace() == Some(NAMESPACE);
    let service =
        Service::of_name(call.tag_name().name()).filter(|_| of_ours).ok_or_else(|| {
            let names = Service::ALL.map(Service::name).join(", ");
            let text = format!(
                "There is no such service; in the namespace {NAMESPACE} there are {names}."
            );
            Fault::sender("Sender", "service_unknown", text)
        })?;
    Ok((service, read(call, service.request())?))
}

/// The envelope of an answer.
pub fn answer(service: Service, message: &Value) -> String {
    let name = service.name();
    let mut text = format!("{OPEN}<b:{name}Response>");
    write(service.answer(), message, &mut text);
    text.push_str(&format!("</b:{name}Response>{CLOSE}"));
    text
}
