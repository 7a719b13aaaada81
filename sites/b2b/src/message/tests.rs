//! Both formats of one declaration.

use proptest::prelude::*;
use serde_json::{Map, Value};

use super::{Record, Shape, check, xml};
use crate::services::Service;

/// Texts as XML allows them, with what has to be escaped.
fn text(most: usize) -> BoxedStrategy<Value> {
    let character = prop_oneof![
        Just('&'),
        Just('<'),
        Just('>'),
        Just('"'),
        Just(' '),
        Just('\u{e9}'),
        Just('\u{1f680}'),
        prop::char::range('a', 'z'),
    ];
    prop::collection::vec(character, 0..most.min(20))
        .prop_map(|text| Value::from(format!("x{}", text.into_iter().collect::<String>())))
        .boxed()
}

fn of_shape(shape: Shape) -> BoxedStrategy<Value> {
    match shape {
        Shape::Number(least, most) => (least..=most).prop_map(Value::from).boxed(),
        Shape::Text(most) => text(most).boxed(),
        Shape::OneOf(names) => prop::sample::select(names).prop_map(Value::from).boxed(),
        Shape::Bytes => "[A-Za-z0-9+/]{4,8}".prop_map(Value::from).boxed(),
        Shape::List(record) => {
            prop::collection::vec(of_record(record), 1..4).prop_map(Value::from).boxed()
        }
        Shape::Numbers(least, most) => {
            prop::collection::vec(least..=most, 1..4).prop_map(Value::from).boxed()
        }
    }
}

/// Messages of a declaration.
fn of_record(record: &'static Record) -> BoxedStrategy<Value> {
    let fields: Vec<BoxedStrategy<Value>> =
        record.fields.iter().map(|field| of_shape(field.shape)).collect();
    fields
        .prop_map(|values| {
            let names = record.fields.iter().map(|field| field.name.to_owned());
            Value::Object(names.zip(values).collect::<Map<_, _>>())
        })
        .boxed()
}

fn of_service() -> impl Strategy<Value = (&'static Record, Value)> {
    let records: Vec<&'static Record> =
        Service::ALL.iter().flat_map(|it| [it.request(), it.answer()]).collect();
    prop::sample::select(records)
        .prop_flat_map(|record| of_record(record).prop_map(move |message| (record, message)))
}

proptest! {
    #[test]
    fn a_message_is_the_same_in_json_and_in_xml((record, message) in of_service()) {
        let mut document = format!("<b:m xmlns:b=\"{}\">", xml::NAMESPACE);
        xml::write(record, &message, &mut document);
        document.push_str("</b:m>");
        let parsed = xml::parse(&document).unwrap();
        let read = xml::read(parsed.root_element(), record).unwrap();
        prop_assert_eq!(&read, &message);
        prop_assert!(check(record, &read).is_ok());
    }

    #[test]
    fn any_text_is_read_or_refused_and_nothing_panics(document in "\\PC*", record in 0..7usize) {
        if let Ok(parsed) = xml::parse(&document) {
            drop(xml::read(parsed.root_element(), Service::ALL[record].request()));
        }
    }
}
