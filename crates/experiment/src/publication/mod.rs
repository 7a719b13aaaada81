//! What stands in the repository of finished studies: tables as CSV, the first table of each
//! page, and the figures in its text, which are compared with the tables.

mod citation;
mod expression;
mod figures;
mod names;
mod page;
mod pivot;
mod publish;
mod sheet;

pub use names::{NAMES, Names};
pub use page::{Finding, check};
pub use pivot::renew as renew_tables;
pub use publish::{Published, publish, renew_block, table};
pub use sheet::{Sheet, Sheets, csv};
