//! Figures as text for the live screen: short, and of constant width as they change.

use ratatui::prelude::{Color, Modifier, Span, Style};
use tidegate_load::{DriverNow, Quantile};
use tidegate_report::number::thousands;

/// Frames, axes, names.
pub const SOFT: Style = Style::new().fg(Color::DarkGray);
/// Good.
pub const GOOD: Style = Style::new().fg(Color::Green);
/// The main figures.
pub const MAIN: Style = Style::new().fg(Color::Cyan);
/// Warnings.
pub const WARN: Style = Style::new().fg(Color::Yellow);
/// Errors.
pub const BAD: Style = Style::new().fg(Color::Red);
/// Headings.
pub const BOLD: Style = Style::new().add_modifier(Modifier::BOLD);

/// `12,345`.
pub fn count(number: u64) -> String {
    thousands(&number.to_string(), ',')
}

/// A rate per second, with one decimal below 100.
pub fn rate(per_s: f64) -> String {
    if per_s < 99.95 { format!("{per_s:.1}") } else { count(per_s.round() as u64) }
}

/// A response time; `>` marks a lower bound.
pub fn bounded(figure: Quantile) -> String {
    let mark = if figure.is_lower_bound { ">" } else { "" };
    format!("{mark}{}", time(figure.ms))
}

/// Milliseconds, or seconds from 10 s on.
pub fn time(ms: f64) -> String {
    match ms {
        ms if ms < 0.0995 => format!("{ms:.2} ms"),
        ms if ms < 99.95 => format!("{ms:.1} ms"),
        ms if ms < 9_999.5 => format!("{} ms", count(ms.round() as u64)),
        ms => format!("{:.1} s", ms / 1000.0),
    }
}

/// `12 s`, `3 min 5 s`, `2 h 5 min`.
pub fn span(seconds: f64) -> String {
    let s = seconds.max(0.0).round() as u64;
    match s {
        0..60 => format!("{s} s"),
        60..3600 if s.is_multiple_of(60) => format!("{} min", s / 60),
        60..3600 => format!("{} min {} s", s / 60, s % 60),
        _ => format!("{} h {} min", s / 3600, s % 3600 / 60),
    }
}

/// A driver of a fleet beside the sum, in one line.
pub fn driver_line(driver: &DriverNow) -> String {
    let DriverNow { name, last, ended, saturated } = driver;
    let state = match (ended, last) {
        (true, _) => "has ended".to_owned(),
        (false, None) => "has not begun".to_owned(),
        (false, Some(last)) => format!(
            "offered {}/s, answered {}/s, {} in flight, CPU {:.0} %{}",
            rate(last.offered_per_s),
            rate(last.requests_per_s),
            count(last.in_flight),
            last.driver_cpu_share * 100.0,
            if *saturated { ", SATURATED" } else { "" }
        ),
    };
    format!("  {name}: {state}")
}

/// A bar of `cells` cells, of which `share` (0 to 1) is filled, to an eighth of a cell.
pub fn bar(share: f64, cells: u16, style: Style) -> [Span<'static>; 2] {
    const PARTS: [&str; 8] = ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"];
    let cells = usize::from(cells);
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let eighths = (share * cells as f64 * 8.0).round() as usize;
    let (full, part) = (eighths / 8, PARTS[eighths % 8]);
    let rest = cells - full - usize::from(!part.is_empty());
    [Span::styled("█".repeat(full) + part, style), Span::styled("─".repeat(rest), SOFT)]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_have_their_unit() {
        assert_eq!(
            [0, 999, 1000, 12_345, 1_234_567].map(count).join(" "),
            "0 999 1,000 12,345 1,234,567"
        );
        assert_eq!(
            [0.0, 9.96, 99.94, 99.96, 12345.4].map(rate).join(" "),
            "0.0 10.0 99.9 100 12,345"
        );
        assert_eq!(
            [0.04, 0.5, 99.9, 1234.0, 60_000.0].map(time).join(", "),
            "0.04 ms, 0.5 ms, 99.9 ms, 1,234 ms, 60.0 s"
        );
        assert_eq!(
            [-1.0, 59.0, 120.0, 185.0, 7500.0].map(span).join(", "),
            "0 s, 59 s, 2 min, 3 min 5 s, 2 h 5 min"
        );
    }

    #[test]
    fn a_bar_has_its_width_whatever_the_share() {
        for share in [-1.0, 0.0, 0.01, 0.5, 0.999, 1.0, 7.0, f64::NAN] {
            for cells in [0, 1, 7, 20] {
                let width: usize = bar(share, cells, SOFT).iter().map(Span::width).sum();
                assert_eq!(width, usize::from(cells), "{share} of {cells}");
            }
        }
    }
}
