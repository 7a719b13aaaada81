//! Messages as XML by their declaration: elements named as the fields, in their order; a list is
//! its element repeated. Reading gives the JSON of the same message, which is then read as JSON is.

use std::fmt::Write as _;

use roxmltree::{Document, Node, NodeType, ParsingOptions};
use serde_json::Value;
use tidegate_sitekit::Problem;

use super::{MOST_ENTRIES, Record, Shape, empty};

/// Namespace of the services.
pub const NAMESPACE: &str = "urn:tidegate:b2b";
/// Most nodes of a document: its elements, attributes and texts.
const MOST_NODES: u32 = 2000;

/// Parses a document without document type, entities and processing instructions.
///
/// # Errors
/// It is not well-formed, has one of these, or more nodes than any message.
pub fn parse(text: &str) -> Result<Document<'_>, Problem> {
    let options =
        ParsingOptions { allow_dtd: false, nodes_limit: MOST_NODES, ..ParsingOptions::default() };
    let document = Document::parse_with_options(text, options).map_err(|error| {
        let text = match error {
            roxmltree::Error::DtdDetected => {
                "The message has a document type; send it without.".to_owned()
            }
            roxmltree::Error::NodesLimitReached => {
                format!("The message has more than {MOST_NODES} nodes.")
            }
            error => {
                let place = error.pos();
                format!("The message is no XML: see line {}, column {}.", place.row, place.col)
            }
        };
        Problem::coded(400, "malformed_xml", text)
    })?;
    let instruction = |node: Node<'_, '_>| node.node_type() == NodeType::PI;
    if document.descendants().any(instruction) {
        let text = "The message has a processing instruction; send it without.";
        return Err(Problem::coded(400, "malformed_xml", text));
    }
    Ok(document)
}

/// The JSON of a message that an element holds.
///
/// # Errors
/// A field is unknown, twice, of another type, or something else stands between them.
pub fn read(element: Node<'_, '_>, record: &Record) -> Result<Value, Problem> {
    read_within(element, record, "")
}

fn read_within(element: Node<'_, '_>, record: &Record, path: &str) -> Result<Value, Problem> {
    let mut message = empty();
    for node in element.children().filter(|node| !node.is_comment()) {
        if node.is_text() {
            if node.text().is_some_and(|text| text.trim().is_empty()) {
                continue;
            }
            let text = format!("Text stands between the fields of {}.", record.name);
            return Err(Problem::coded(400, "malformed_xml", text));
        }
        let name = node.tag_name();
        let known = record
            .fields
            .iter()
            .find(|field| field.name == name.name() && matches!(name.namespace(), Some(NAMESPACE)));
        let Some(field) = known else {
            let fields: Vec<&str> = record.fields.iter().map(|field| field.name).collect();
            let text = format!(
                "{} has an element that it must not have; its fields, in the namespace {NAMESPACE}, are {}.",
                record.name,
                fields.join(", ")
            );
            return Err(Problem::coded(400, "field_unknown", text));
        };
        let path = format!("{path}{}", field.name);
        match field.shape {
            Shape::List(of) => {
                let entries = entries(&mut message, field.name);
                if entries.len() >= MOST_ENTRIES {
                    return Err(too_many(&path));
                }
                let at = entries.len();
                let entry = read_within(node, of, &format!("{path}[{at}]."))?;
                entries.push(entry);
            }
            Shape::Numbers(..) => {
                let number = number(node, &path)?;
                let entries = entries(&mut message, field.name);
                if entries.len() >= MOST_ENTRIES {
                    return Err(too_many(&path));
                }
                entries.push(number);
            }
            _ if message.get(field.name).is_some() => {
                let text = format!("The field `{}` is there twice.", field.name);
                return Err(Problem::coded(400, "field_repeated", text).at(&path));
            }
            Shape::Number(..) => message[field.name] = number(node, &path)?,
            Shape::Text(_) | Shape::OneOf(_) | Shape::Bytes => {
                message[field.name] = text(node, &path)?.into();
            }
        }
    }
    Ok(message)
}

fn entries<'m>(message: &'m mut Value, name: &str) -> &'m mut Vec<Value> {
    if message.get(name).is_none() {
        message[name] = Value::Array(Vec::new());
    }
    message[name].as_array_mut().expect("it was made here")
}

fn too_many(path: &str) -> Problem {
    let text = format!("Must have 1 to {MOST_ENTRIES} entries.");
    Problem::of_field(path, "value_out_of_range", text)
}

fn text(node: Node<'_, '_>, path: &str) -> Result<String, Problem> {
    if node.children().any(|child| child.is_element()) {
        return Err(another_type(path, "text"));
    }
    Ok(node.children().filter_map(|child| child.text().filter(|_| child.is_text())).collect())
}

/// Source: XML Schema part 2, `xs:long`, whose white space collapses.
fn number(node: Node<'_, '_>, path: &str) -> Result<Value, Problem> {
    let text = text(node, path)?;
    let number = text.trim_matches([' ', '\t', '\n', '\r']).parse::<i64>();
    number.map(Value::from).map_err(|_| another_type(path, "a whole number"))
}

fn another_type(path: &str, expected: &str) -> Problem {
    Problem::coded(400, "value_of_another_type", format!("Must be {expected}.")).at(path)
}

/// Writes the fields of a message as elements with the prefix `b:`.
pub fn write(record: &Record, message: &Value, to: &mut String) {
    for field in record.fields {
        let name = field.name;
        let value = &message[name];
        match field.shape {
            Shape::List(of) => {
                for entry in value.as_array().into_iter().flatten() {
                    let _ = write!(to, "<b:{name}>");
                    write(of, entry, to);
                    let _ = write!(to, "</b:{name}>");
                }
            }
            Shape::Numbers(..) => {
                for entry in value.as_array().into_iter().flatten() {
                    let _ = write!(to, "<b:{name}>{entry}</b:{name}>");
                }
            }
            Shape::Number(..) => {
                let _ = write!(to, "<b:{name}>{value}</b:{name}>");
            }
            Shape::Text(_) | Shape::OneOf(_) | Shape::Bytes => {
                let _ = write!(to, "<b:{name}>");
                escape(value.as_str().unwrap_or_default(), to);
                let _ = write!(to, "</b:{name}>");
            }
        }
    }
}

/// Writes text as the content of an element.
///
/// Source: XML 1.0, section 2.4; a carriage return is written as a reference, since a parser
/// turns it into a line feed (section 2.11).
pub fn escape(text: &str, to: &mut String) {
    for character in text.chars() {
        match character {
            '&' => to.push_str("&amp;"),
            '<' => to.push_str("&lt;"),
            '>' => to.push_str("&gt;"),
            '\r' => to.push_str("&#13;"),
            other => to.push(other),
        }
    }
}

/// The type of a field in XML Schema, with how often it stands.
pub fn schema_element(name: &str, shape: Shape) -> String {
    let simple = |base: &str, limits: String| {
        format!(
            "<xs:simpleType><xs:restriction base=\"{base}\">{limits}</xs:restriction></xs:simpleType>"
        )
    };
    let bounds = |least: i64, most: i64| {
        simple(
            "xs:long",
            format!("<xs:minInclusive value=\"{least}\"/><xs:maxInclusive value=\"{most}\"/>"),
        )
    };
    let many = format!(" minOccurs=\"0\" maxOccurs=\"{MOST_ENTRIES}\"");
    let (occurs, inner) = match shape {
        Shape::Number(least, most) => (String::new(), bounds(least, most)),
        Shape::Text(most) => {
            (String::new(), simple("xs:string", format!("<xs:maxLength value=\"{most}\"/>")))
        }
        Shape::OneOf(names) => {
            let each = |name: &&str| format!("<xs:enumeration value=\"{name}\"/>");
            (String::new(), simple("xs:string", names.iter().map(each).collect()))
        }
        Shape::Bytes => (String::new(), simple("xs:base64Binary", String::new())),
        Shape::Numbers(least, most) => (many, bounds(least, most)),
        Shape::List(record) => (many, schema_of(record)),
    };
    format!("<xs:element name=\"{name}\"{occurs}>{inner}</xs:element>")
}

/// The complex type of a message in XML Schema.
pub fn schema_of(record: &Record) -> String {
    let fields: String = record.fields.iter().map(|it| schema_element(it.name, it.shape)).collect();
    format!("<xs:complexType><xs:sequence>{fields}</xs:sequence></xs:complexType>")
}
