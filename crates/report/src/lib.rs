//! Figures as SVG and self-contained HTML pages.

mod axis;
mod bars;
mod chart;
mod figure;
mod page;
mod palette;
mod stacked;
mod svg;

pub use axis::{round_step, time_ticks};
pub use bars::Bars;
pub use chart::{Chart, Line, Scale, Size};
pub use figure::{figure, histogram, stacked};
pub use page::page;
pub use palette::Palette;
pub use stacked::{Bar, Group, Part, StackedBars};
