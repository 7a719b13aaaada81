//! Every request in a file, so that any figure can be drawn again: as lines of
//! JSON, or as Parquet.

use std::fs::File;
use std::io::{self, BufWriter, Write};
use std::sync::Arc;
use std::time::Duration;

use parquet::basic::{Compression, ConvertedType, Repetition, Type as Physical};
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type,
};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::types::Type;
use serde::Serialize;

use super::event::{Event, Request};
use super::file::Rows;
use crate::outcome::Outcome;

/// Declares a row, with the columns of Parquet that hold many of them, none nullable.
macro_rules! row {
    (<$a:lifetime> $($(#[$doc:meta])* $name:ident: $value:ty as $column:ty => $cell:expr,)*) => {
        /// One request, as files have it.
        #[derive(Clone, Copy, Serialize)]
        pub(super) struct Row<$a> { $($(#[$doc])* $name: $value,)* }

        /// Columns of the rows held, in the order of the file.
        #[derive(Default)]
        struct Columns { $($name: Vec<<$column as DataType>::T>,)* }

        impl Columns {
            fn push(&mut self, row: &Row<'_>) {
                $(self.$name.push($cell(row.$name));)*
            }

            fn write(
                &self,
                group: &mut SerializedRowGroupWriter<'_, File>,
            ) -> Result<(), ParquetError> {
                $(column::<$column>(group, &self.$name)?;)*
                Ok(())
            }

            fn names_and_types() -> Vec<(&'static str, Physical)> {
                vec![$((stringify!($name), <$column>::get_physical_type()),)*]
            }
        }
    };
}

/// Beyond 2⁶³ nothing is counted.
fn int(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

row! {
    <'a>
    session: u64 as Int64Type => int,
    page: &'a str as ByteArrayType => ByteArray::from,
    /// Intended start since the start of the run.
    intended_s: f64 as DoubleType => f64::from,
    start_delay_ms: f64 as DoubleType => f64::from,
    /// From the intended start to the end, whatever it was.
    response_ms: f64 as DoubleType => f64::from,
    first_byte_ms: f64 as DoubleType => f64::from,
    last_byte_ms: f64 as DoubleType => f64::from,
    status: u16 as Int32Type => i32::from,
    received_bytes: u64 as Int64Type => int,
    ok: bool as BoolType => bool::from,
    /// `answered`, or why there was no answer.
    end: &'static str as ByteArrayType => ByteArray::from,
    measured: bool as BoolType => bool::from,
    /// Empty where the scenario has no classes.
    class: &'a str as ByteArrayType => ByteArray::from,
    /// The entry of the arrivals that brought its customer, from 0.
    model: u8 as Int32Type => i32::from,
    /// The asset of the page that was requested, as in the scenario; empty for the page itself.
    asset: &'a str as ByteArrayType => ByteArray::from,
}

impl<'a> Row<'a> {
    /// `page`, `class` and `asset` are the names of the request's own.
    pub(super) fn new(
        event: &Event,
        request: &Request,
        [page, class, asset]: [&'a str; 3],
        measured: bool,
    ) -> Self {
        let ms = |duration: Duration| (duration.as_secs_f64() * 1e6).round() / 1e3;
        Self {
            session: request.session,
            page,
            intended_s: (request.intended.as_secs_f64() * 1e6).round() / 1e6,
            start_delay_ms: ms(request.late),
            response_ms: ms(event.at.saturating_sub(request.intended)),
            first_byte_ms: ms(request.first_byte),
            last_byte_ms: ms(request.last_byte),
            status: request.status,
            received_bytes: request.received_bytes,
            ok: request.ok,
            end: match request.outcome {
                None | Some(Outcome::Completed) => "answered",
                Some(Outcome::Refused(kind)) => kind.name(),
                Some(Outcome::Failed(kind)) => kind.name(),
                Some(Outcome::Abandoned(_)) => "abandoned",
                Some(Outcome::CutOff) => "cut_off",
            },
            measured,
            class,
            model: request.group.model,
            asset,
        }
    }
}

/// A line of JSON each.
#[derive(Debug)]
pub(super) struct JsonLines(BufWriter<File>);

impl Rows for JsonLines {
    type Row<'a> = Row<'a>;

    fn begin(file: File) -> io::Result<Self> {
        Ok(Self(BufWriter::with_capacity(64 * 1024, file)))
    }

    fn write(&mut self, row: &Row<'_>) -> io::Result<()> {
        serde_json::to_writer(&mut self.0, row)?;
        self.0.write_all(b"\n")
    }

    fn finish(&mut self) -> io::Result<()> {
        self.0.flush()
    }

    fn abandon(self) {
        // Dropping it would try once more to flush.
        drop(self.0.into_parts());
    }
}

/// A row of a Parquet file each, with the columns of [`Row`], none of them
/// nullable.
pub(super) struct Parquet {
    file: SerializedFileWriter<File>,
    held: Columns,
}

/// Rows of a group: held until it is full, 6 MB or so.
const ROW_GROUP: usize = 65_536;

impl Rows for Parquet {
    type Row<'a> = Row<'a>;

    fn begin(file: File) -> io::Result<Self> {
        let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
        let schema = Arc::new(schema().map_err(ours)?);
        let file = SerializedFileWriter::new(file, schema, Arc::new(properties)).map_err(ours)?;
        Ok(Self { file, held: Columns::default() })
    }

    fn write(&mut self, row: &Row<'_>) -> io::Result<()> {
        self.held.push(row);
        if self.held.session.len() < ROW_GROUP { Ok(()) } else { self.write_group() }
    }

    fn finish(&mut self) -> io::Result<()> {
        if !self.held.session.is_empty() {
            self.write_group()?;
        }
        self.file.finish().map_err(ours)?;
        Ok(())
    }
}

impl Parquet {
    fn write_group(&mut self) -> io::Result<()> {
        let mut group = self.file.next_row_group().map_err(ours)?;
        self.held.write(&mut group).map_err(ours)?;
        group.close().map_err(ours)?;
        self.held = Columns::default();
        Ok(())
    }
}

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, File>,
    values: &[T::T],
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.expect("as many columns as the schema has");
    column.typed::<T>().write_batch(values, None, None)?;
    column.close()
}

pub(super) fn schema() -> Result<Type, ParquetError> {
    let fields = Columns::names_and_types().into_iter().map(|(name, physical)| {
        let is_text = physical == Physical::BYTE_ARRAY;
        let converted = if is_text { ConvertedType::UTF8 } else { ConvertedType::NONE };
        Type::primitive_type_builder(name, physical)
            .with_repetition(Repetition::REQUIRED)
            .with_converted_type(converted)
            .build()
            .map(Arc::new)
    });
    Type::group_type_builder("request").with_fields(fields.collect::<Result<_, _>>()?).build()
}

/// The disk's own error if it was one, else Parquet's in words.
pub(super) fn ours(error: ParquetError) -> io::Error {
    match error {
        ParquetError::External(source) => match source.downcast::<io::Error>() {
            Ok(error) => *error,
            Err(other) => io::Error::other(other),
        },
        other => io::Error::other(other.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::RowAccessor;

    use super::super::event::SessionGroup;
    use super::super::file::RowFile;
    use super::*;

    fn request(session: u64) -> (Event, Request) {
        let request = Request {
            session,
            group: SessionGroup { class: 1, model: 2 },
            page: 0,
            asset: None,
            intended: Duration::from_millis(1500),
            late: Duration::from_micros(250),
            status: 200,
            ok: true,
            outcome: None,
            failed: None,
            first_byte: Duration::from_millis(2),
            last_byte: Duration::from_millis(1),
            received_bytes: 1234,
            encoded: false,
            decoded_bytes: 0,
        };
        let at = Duration::from_millis(1510);
        (Event { at, kind: super::super::event::EventKind::Request(request) }, request)
    }

    #[test]
    fn parquet_is_read_back_as_written_over_groups() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("requests.parquet");
        let mut file = RowFile::<Parquet>::create(&path).unwrap();
        let rows = ROW_GROUP as u64 + 5;
        for session in 0..rows {
            let (event, request) = request(session);
            file.write(&Row::new(&event, &request, ["Home", "bots", ""], session > 2));
        }
        assert_eq!(file.finish(), None);

        let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
        assert_eq!(reader.metadata().num_row_groups(), 2);
        assert_eq!(reader.metadata().file_metadata().num_rows() as u64, rows);
        for (index, row) in reader.into_iter().map(Result::unwrap).enumerate() {
            assert_eq!(row.get_long(0).unwrap(), index as i64);
            assert_eq!(row.get_bool(11).unwrap(), index > 2);
            if index == 0 {
                let json = serde_json::json!({
                    "session": 0, "page": "Home", "intended_s": 1.5, "start_delay_ms": 0.25,
                    "response_ms": 10.0, "first_byte_ms": 2.0, "last_byte_ms": 1.0,
                    "status": 200, "received_bytes": 1234, "ok": true, "end": "answered",
                    "measured": false, "class": "bots", "model": 2,
                    "asset": "",
                });
                let (event, request) = request(0);
                let line =
                    serde_json::to_value(Row::new(&event, &request, ["Home", "bots", ""], false));
                assert_eq!(line.unwrap(), json);
                let columns: Vec<&String> = row.get_column_iter().map(|(name, _)| name).collect();
                let keys = ["session", "page", "intended_s", "start_delay_ms", "response_ms"];
                assert_eq!(columns[..5], keys);
                assert_eq!(row.get_string(1).unwrap(), "Home");
                assert_eq!((row.get_double(2).unwrap(), row.get_double(4).unwrap()), (1.5, 10.0));
                assert_eq!((row.get_int(7).unwrap(), row.get_long(8).unwrap()), (200, 1234));
                assert_eq!(row.get_string(10).unwrap(), "answered");
                assert_eq!(
                    (row.get_string(12).unwrap().as_str(), row.get_int(13).unwrap()),
                    ("bots", 2)
                );
            }
        }
    }

    #[test]
    fn a_run_without_requests_gives_a_parquet_file_without_rows() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("none.parquet");
        assert_eq!(RowFile::<Parquet>::create(&path).unwrap().finish(), None);
        let reader = SerializedFileReader::try_from(path.as_path()).unwrap();
        assert_eq!(reader.metadata().file_metadata().num_rows(), 0);
    }
}
