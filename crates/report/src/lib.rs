//! Numbers, tables and figures as people read them, and self-contained HTML pages of them.

mod axis;
mod bars;
mod chart;
mod figure;
pub mod number;
mod page;
mod palette;
mod stacked;
mod svg;
mod table;
pub mod words;

pub use axis::{round_step, time_ticks};
pub use bars::Bars;
pub use chart::{Chart, Line, Scale, Size};
pub use figure::{Figure, figure, histogram, plain_figure, stacked};
pub use page::Page;
pub use palette::Palette;
pub use stacked::{Bar, Group, Part, StackedBars};
pub use table::{Cell, CellOf, Column, HeadAndCell, Table};
