//! Figures as SVG and self-contained HTML pages.

mod chart;
mod page;

pub use chart::{Chart, Line, Scale};
pub use page::page;
