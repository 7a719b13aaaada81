//! A table as Parquet.

use std::sync::Arc;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde_json::Value;

use crate::summary::Row;
use crate::{Error, Result};

/// What a column holds.
#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Truth,
    Whole,
    Number,
}

/// A file with a row for each row, and the columns of all of them in the order of their names;
/// every value may be missing.
///
/// # Errors
/// A defect of this program: rows with columns of different types.
pub fn table(rows: &[Row]) -> Result<Vec<u8>> {
    groups([rows])
}

/// The same of a table that is made in groups of rows, so that few are in memory at a time. The
/// columns are those of the first group.
///
/// # Errors
/// As of [`table`].
pub fn groups<R: AsRef<[Row]>>(groups: impl IntoIterator<Item = R>) -> Result<Vec<u8>> {
    write(groups).map_err(|error| Error::Internal(format!("cannot write a table: {error}")))
}

fn write<R: AsRef<[Row]>>(
    groups: impl IntoIterator<Item = R>,
) -> std::result::Result<Vec<u8>, ParquetError> {
    let mut groups = groups.into_iter().peekable();
    let columns = groups.peek().map(|first| columns(first.as_ref())).unwrap_or_default();
    let fields = columns.iter().map(|(name, kind)| {
        let (physical, converted) = match kind {
            Kind::Text => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Kind::Truth => (Physical::BOOLEAN, ConvertedType::NONE),
            Kind::Whole => (Physical::INT64, ConvertedType::NONE),
            Kind::Number => (Physical::DOUBLE, ConvertedType::NONE),
        };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::OPTIONAL)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    });
    let fields = fields.collect::<std::result::Result<Vec<_>, _>>()?;
    let schema = Type::group_type_builder("run").with_fields(fields).build()?;
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), Arc::new(properties))?;
    for rows in groups {
        let mut group = file.next_row_group()?;
        for (name, kind) in &columns {
            let values = rows.as_ref().iter().map(|row| row.get(name).unwrap_or(&Value::Null));
            column(&mut group, *kind, &values.collect::<Vec<_>>())?;
        }
        group.close()?;
    }
    file.into_inner()
}

/// Names and types. A column without any value is one of numbers.
fn columns(rows: &[Row]) -> Vec<(String, Kind)> {
    let mut columns: Vec<(String, Option<Kind>)> = Vec::new();
    for (name, value) in rows.iter().flatten() {
        let kind = match value {
            Value::Null => None,
            Value::Bool(_) => Some(Kind::Truth),
            Value::Number(number) if number.is_f64() => Some(Kind::Number),
            Value::Number(_) => Some(Kind::Whole),
            _ => Some(Kind::Text),
        };
        match columns.iter_mut().find(|(known, _)| known == name) {
            None => columns.push((name.clone(), kind)),
            Some((_, known)) => {
                *known = match (*known, kind) {
                    (Some(Kind::Whole), Some(Kind::Number)) => Some(Kind::Number),
                    (known, kind) => known.or(kind),
                }
            }
        }
    }
    columns.into_iter().map(|(name, kind)| (name, kind.unwrap_or(Kind::Number))).collect()
}

fn column(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    kind: Kind,
    values: &[&Value],
) -> std::result::Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    // 1 where there is a value.
    let mut levels = Vec::with_capacity(values.len());
    macro_rules! write {
        ($type:ty, $value:expr) => {{
            let mut present = Vec::new();
            for value in values {
                let value = $value(value);
                levels.push(i16::from(value.is_some()));
                present.extend(value);
            }
            column.typed::<$type>().write_batch(&present, Some(&levels), None)?;
        }};
    }
    match kind {
        Kind::Text => write!(ByteArrayType, |value: &Value| value.as_str().map(ByteArray::from)),
        Kind::Truth => write!(BoolType, Value::as_bool),
        Kind::Whole => write!(Int64Type, Value::as_i64),
        Kind::Number => write!(DoubleType, Value::as_f64),
    }
    column.close()
}

#[cfg(test)]
mod tests {
    use super::*;
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::Field;
    use serde_json::json;

    fn row(value: Value) -> Row {
        value.as_object().unwrap().clone()
    }

    #[test]
    fn a_table_is_read_back_with_its_types_and_its_gaps() {
        let rows = [
            row(json!({ "run": "a", "round": 1, "x": null, "y": 1, "bad": true })),
            row(json!({ "run": "b", "round": 2, "x": 2.5, "y": 0.5, "bad": false })),
        ];
        let reader = SerializedFileReader::new(bytes(&table(&rows).unwrap())).unwrap();
        let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let fields: Vec<Vec<Field>> = read
            .iter()
            .map(|row| row.get_column_iter().map(|(_, field)| field.clone()).collect())
            .collect();
        assert_eq!(
            fields[0],
            [
                Field::Bool(true),
                Field::Long(1),
                Field::Str("a".into()),
                Field::Null,
                Field::Double(1.0)
            ]
        );
        assert_eq!(fields[1][3], Field::Double(2.5));
        assert!(table(&[]).is_ok());
    }

    #[test]
    fn groups_of_rows_are_one_table() {
        let group = |name: &str| vec![row(json!({ "run": name })), row(json!({ "run": null }))];
        let reader =
            SerializedFileReader::new(bytes(&groups([group("a"), group("b")]).unwrap())).unwrap();
        let rows: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let names: Vec<String> = rows.iter().map(ToString::to_string).collect();
        assert_eq!(names, ["{run: \"a\"}", "{run: null}", "{run: \"b\"}", "{run: null}"]);
        assert!(groups(Vec::<Vec<Row>>::new()).is_ok());
    }

    /// A file, which the reader needs.
    fn bytes(content: &[u8]) -> std::fs::File {
        use std::io::{Seek, Write};
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        file.rewind().unwrap();
        file
    }
}
