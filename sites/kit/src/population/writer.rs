//! The transaction and the progress bar of a population that is being written.

use indicatif::{ProgressBar, ProgressStyle};

use crate::Result;
use crate::database::Connection;

/// Writes a population.
pub struct Writer<'a> {
    /// Open to the database; a transaction is under way.
    pub connection: &'a mut Connection,
    /// When the population is made, seconds since 1970.
    pub now: i64,
    bar: ProgressBar,
    /// Steps of one transaction, roughly.
    transaction: u64,
    uncommitted: u64,
}

impl<'a> Writer<'a> {
    /// A writer whose first transaction has begun.
    pub(super) async fn begin(
        connection: &'a mut Connection,
        now: i64,
        steps: u64,
        transaction: u64,
    ) -> Result<Self> {
        // The bar is hidden where standard error is not a terminal.
        let bar = ProgressBar::new(steps);
        let style = "{msg:>18} [{bar:32}] {human_pos} of {human_len}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        connection.run("BEGIN", &[]).await?;
        Ok(Self { connection, now, bar, transaction, uncommitted: 0 })
    }

    /// Says what is written now.
    pub fn stage(&self, name: &'static str) {
        self.bar.set_message(name);
        self.bar.tick();
    }

    /// Counts steps that were written, and begins a new transaction where this one has enough.
    ///
    /// # Errors
    /// An error of the database.
    pub async fn done(&mut self, steps: u64) -> Result<()> {
        self.bar.inc(steps);
        self.uncommitted += steps;
        if self.uncommitted >= self.transaction {
            self.uncommitted = 0;
            self.commit().await?;
            self.connection.run("BEGIN", &[]).await?;
        }
        Ok(())
    }

    pub(super) async fn commit(&mut self) -> Result<()> {
        Ok(self.connection.run("COMMIT", &[]).await?)
    }

    pub(super) fn end(&self) {
        self.bar.finish_and_clear();
    }
}
