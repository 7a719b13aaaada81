//! The transaction and the progress bar of a population that is being written.

use indicatif::{ProgressBar, ProgressStyle};

use super::plan::Plan;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Connection;
use tidegate_sitekit::password::PasswordCost;

/// Rows of one transaction, roughly.
const TRANSACTION: u64 = 20_000;

/// Writes a population.
pub struct Writer<'a> {
    /// Open to the database; a transaction is under way.
    pub connection: &'a mut Connection,
    /// What is written.
    pub plan: Plan,
    /// Cost of the password hashes.
    pub cost: PasswordCost,
    /// When the population is made, seconds since 1970.
    pub now: i64,
    /// How many people there are.
    pub users: i64,
    /// Shows the progress, in rows.
    pub bar: ProgressBar,
    uncommitted: u64,
}

impl<'a> Writer<'a> {
    /// A writer that has written nothing.
    pub fn new(connection: &'a mut Connection, plan: Plan, cost: PasswordCost, now: i64) -> Self {
        let active: i64 = plan.active_items().iter().sum();
        let total = plan.users() + plan.old_items() + active;
        // The bar is hidden where standard error is not a terminal.
        let bar = ProgressBar::new(u64::try_from(total).unwrap_or(0));
        let style = "{msg:>18} [{bar:32}] {human_pos} of {human_len}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self { users: plan.users(), connection, plan, cost, now, bar, uncommitted: 0 }
    }

    /// Begins a transaction.
    pub async fn begin(&mut self) -> Result<()> {
        self.connection.run("BEGIN", &[]).await?;
        Ok(())
    }

    /// Commits the transaction.
    pub async fn commit(&mut self) -> Result<()> {
        self.connection.run("COMMIT", &[]).await?;
        Ok(())
    }

    /// Counts rows that were written, and begins a new transaction after 20,000.
    pub async fn done(&mut self, rows: u64) -> Result<()> {
        self.bar.inc(rows);
        self.uncommitted += rows;
        if self.uncommitted >= TRANSACTION {
            self.uncommitted = 0;
            self.commit().await?;
            self.begin().await?;
        }
        Ok(())
    }
}
