//! Values that go into a query and rows that come out of it.

use super::Result;
use crate::money::Cents;

/// A value bound to a placeholder. Never part of the statement's text.
#[derive(Clone, Copy, Debug)]
pub enum Value<'a> {
    /// A number, an id, cents, or seconds since 1970.
    Int(i64),
    /// Text of any content.
    Text(&'a str),
}

/// Makes values of a type: `Type: value => Value`.
macro_rules! values_of {
    ($($type:ty: $from:ident => $value:expr;)+) => {
        $(impl<'a> From<$type> for Value<'a> {
            fn from($from: $type) -> Self {
                $value
            }
        })+
    };
}
values_of! {
    i64: number => Self::Int(number);
    &i64: number => Self::Int(*number);
    &&i64: number => Self::Int(**number);
    &Cents: amount => Self::Int(amount.0);
    &'a str: text => Self::Text(text);
    &&'a str: text => Self::Text(text);
    &'a String: text => Self::Text(text);
    &&'a String: text => Self::Text(text);
}

/// The values of a statement, in the order of its placeholders, or of a row in that of its
/// columns: `values![order.id, order.state, "open", now]`.
#[macro_export]
macro_rules! values {
    ($($value:expr),* $(,)?) => { [$($crate::database::Value::from(&$value)),*] };
}

/// The columns of one row, by position from 0.
pub trait Fields {
    /// The integer in this column.
    ///
    /// # Errors
    /// The column is missing, null, or of another type.
    fn int(&self, column: usize) -> Result<i64>;

    /// The text in this column.
    ///
    /// # Errors
    /// The column is missing, null, or of another type.
    fn text(&self, column: usize) -> Result<String>;
}

/// The columns of one row, read one after the other.
pub struct Columns<'r> {
    fields: &'r dyn Fields,
    next: usize,
}

impl<'r> Columns<'r> {
    /// All columns of a row.
    pub fn new(fields: &'r dyn Fields) -> Self {
        Self { fields, next: 0 }
    }

    /// The next column, or the next columns for a record of several.
    ///
    /// # Errors
    /// A column is missing, null, or of another type or content.
    #[allow(clippy::should_implement_trait, reason = "each column has a type of its own")]
    pub fn next<T: Record>(&mut self) -> Result<T> {
        T::read(self)
    }

    fn take(&mut self) -> usize {
        self.next += 1;
        self.next - 1
    }
}

/// A type that columns are read into. See [`record!`](crate::record),
/// [`numbered!`](crate::numbered) and [`named!`](crate::named).
pub trait Record: Sized {
    /// Reads its columns, in the order in which the query names them.
    ///
    /// # Errors
    /// A column is missing, null, or of another type or content.
    fn read(columns: &mut Columns<'_>) -> Result<Self>;

    /// Reads a value that may be missing: 0 and the empty text stand for that.
    ///
    /// # Errors
    /// As for [`read`](Self::read).
    fn read_optional(columns: &mut Columns<'_>) -> Result<Option<Self>> {
        Self::read(columns).map(Some)
    }
}

impl Record for i64 {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        columns.fields.int(columns.take())
    }

    fn read_optional(columns: &mut Columns<'_>) -> Result<Option<Self>> {
        Self::read(columns).map(|number| (number > 0).then_some(number))
    }
}

impl Record for String {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        columns.fields.text(columns.take())
    }

    fn read_optional(columns: &mut Columns<'_>) -> Result<Option<Self>> {
        Self::read(columns).map(|text| (!text.is_empty()).then_some(text))
    }
}

impl Record for Cents {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        columns.next().map(Self)
    }

    fn read_optional(columns: &mut Columns<'_>) -> Result<Option<Self>> {
        Ok(i64::read_optional(columns)?.map(Self))
    }
}

impl<T: Record> Record for Option<T> {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        T::read_optional(columns)
    }
}

impl<A: Record, B: Record> Record for (A, B) {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        Ok((columns.next()?, columns.next()?))
    }
}

impl<A: Record, B: Record, C: Record> Record for (A, B, C) {
    fn read(columns: &mut Columns<'_>) -> Result<Self> {
        Ok((columns.next()?, columns.next()?, columns.next()?))
    }
}

/// Reads a struct from columns: its fields in their order, then those that no column has.
///
/// ```
/// struct Item { name: String, price: i64, sold: bool }
/// tidegate_sitekit::record!(Item { name, price; sold: false });
/// ```
#[macro_export]
macro_rules! record {
    ($type:ty { $($field:ident),+ $(,)? $(; $($other:ident: $value:expr),+ $(,)?)? }) => {
        impl $crate::database::Record for $type {
            fn read(
                columns: &mut $crate::database::Columns<'_>,
            ) -> $crate::database::Result<Self> {
                $(let $field = columns.next()?;)+
                Ok(Self { $($field,)+ $($($other: $value),+)? })
            }
        }
    };
}

/// The numbers under which the values of an enum are stored.
#[macro_export]
macro_rules! numbered {
    ($type:ident: $($value:ident = $number:literal),+ $(,)?) => {
        impl $type {
            /// The number that it is stored under.
            pub fn number(self) -> i64 {
                match self { $(Self::$value => $number),+ }
            }

            /// The value that is stored under this number.
            pub fn from_number(number: i64) -> Option<Self> {
                match number { $($number => Some(Self::$value),)+ _ => None }
            }
        }

        impl From<&$type> for $crate::database::Value<'_> {
            fn from(value: &$type) -> Self {
                Self::Int(value.number())
            }
        }

        impl $crate::database::Record for $type {
            fn read(
                columns: &mut $crate::database::Columns<'_>,
            ) -> $crate::database::Result<Self> {
                let unknown = $crate::database::Error::Content(stringify!($type));
                Self::from_number(columns.next()?).ok_or(unknown)
            }

            fn read_optional(
                columns: &mut $crate::database::Columns<'_>,
            ) -> $crate::database::Result<Option<Self>> {
                columns.next().map(Self::from_number)
            }
        }
    };
}

/// The names of the values of an enum, in messages and in the database.
#[macro_export]
macro_rules! named {
    ($type:ident: $($value:ident = $name:literal),+ $(,)?) => {
        impl $type {
            /// All of them.
            pub const ALL: &[Self] = &[$(Self::$value),+];

            /// Its name in messages and in the database.
            pub fn name(self) -> &'static str {
                match self { $(Self::$value => $name),+ }
            }

            /// The value of this name.
            pub fn of_name(name: &str) -> Option<Self> {
                match name { $($name => Some(Self::$value),)+ _ => None }
            }
        }

        impl From<&$type> for $crate::database::Value<'_> {
            fn from(value: &$type) -> Self {
                Self::Text(value.name())
            }
        }

        impl $crate::database::Record for $type {
            fn read(
                columns: &mut $crate::database::Columns<'_>,
            ) -> $crate::database::Result<Self> {
                let unknown = $crate::database::Error::Content(stringify!($type));
                columns.next::<Option<Self>>()?.ok_or(unknown)
            }

            fn read_optional(
                columns: &mut $crate::database::Columns<'_>,
            ) -> $crate::database::Result<Option<Self>> {
                let Some(name) = columns.next::<Option<String>>()? else { return Ok(None) };
                let unknown = $crate::database::Error::Content(stringify!($type));
                Self::of_name(&name).map(Some).ok_or(unknown)
            }
        }
    };
}
