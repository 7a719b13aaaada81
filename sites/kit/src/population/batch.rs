//! Rows collected and written many at a time.

use std::sync::Arc;

use sqlx::AssertSqlSafe;

use crate::database::{self, Connection, Dialect, Value};

/// Most values in one statement: both databases accept about 32,000.
const VALUES: usize = 12_000;

/// Rows for one table that wait to be written.
pub struct Batch {
    head: String,
    columns: usize,
    rows: usize,
    values: Vec<Cell>,
    full: Option<Arc<str>>,
}

/// An owned value.
enum Cell {
    Int(i64),
    Text(String),
}

impl From<Value<'_>> for Cell {
    fn from(value: Value<'_>) -> Self {
        match value {
            Value::Int(int) => Self::Int(int),
            Value::Text(text) => Self::Text(text.into()),
        }
    }
}

impl Batch {
    /// A batch for these columns, separated by commas, of a table.
    pub fn new(table: &str, columns: &str) -> Self {
        let head = format!("INSERT INTO {table} ({columns}) VALUES ");
        let columns = columns.split(',').count();
        let rows = (VALUES / columns).min(500);
        Self { head, columns, rows, values: Vec::new(), full: None }
    }

    /// Adds a row, made by [`values!`](crate::values!), and writes the batch if it is full.
    pub async fn push<const N: usize>(
        &mut self,
        connection: &mut Connection,
        row: [Value<'_>; N],
    ) -> database::Result<()> {
        debug_assert_eq!(N, self.columns, "{}", self.head);
        self.values.extend(row.map(Cell::from));
        if self.values.len() == self.rows * self.columns {
            self.write(connection).await?;
        }
        Ok(())
    }

    /// Writes what is left.
    pub async fn write(&mut self, connection: &mut Connection) -> database::Result<()> {
        let rows = self.values.len() / self.columns;
        if rows == 0 {
            return Ok(());
        }
        let values: Vec<Value<'_>> = self
            .values
            .iter()
            .map(|cell| match cell {
                Cell::Int(int) => Value::Int(*int),
                Cell::Text(text) => Value::Text(text),
            })
            .collect();
        let dialect = connection.dialect();
        let statement = || statement(&self.head, self.columns, rows, dialect).into();
        let sql: Arc<str> = if rows == self.rows {
            Arc::clone(self.full.get_or_insert_with(statement))
        } else {
            statement()
        };
        connection.run(AssertSqlSafe(sql), &values).await?;
        self.values.clear();
        Ok(())
    }
}

fn statement(head: &str, columns: usize, rows: usize, dialect: Dialect) -> String {
    let mut sql = String::from(head);
    for row in 0..rows {
        sql.push_str(if row == 0 { "(" } else { ",(" });
        for column in 0..columns {
            if column > 0 {
                sql.push(',');
            }
            // SQLite looks every `$1` up in a list of all: with thousands of them
            // the lookup takes longer than the insert itself.
            match dialect {
                Dialect::Sqlite => sql.push('?'),
                Dialect::Postgres => {
                    sql.push('$');
                    sql.push_str(&(row * columns + column + 1).to_string());
                }
            }
        }
        sql.push(')');
    }
    sql
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placeholders_count_on_through_the_rows() {
        let batch = Batch::new("bids", "id, bid");
        assert_eq!(
            statement(&batch.head, 2, 2, Dialect::Postgres),
            "INSERT INTO bids (id, bid) VALUES ($1,$2),($3,$4)"
        );
        assert_eq!(
            statement(&batch.head, 2, 2, Dialect::Sqlite),
            "INSERT INTO bids (id, bid) VALUES (?,?),(?,?)"
        );
    }
}
