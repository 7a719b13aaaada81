//! The live screen: a header, charts over time and panels of counts. It draws snapshots
//! and measures nothing.

use std::collections::VecDeque;
use std::time::Duration;

use ratatui::layout::{Alignment, Constraint, Layout, Rect};
use ratatui::prelude::{Frame, Line, Modifier, Span, Style};
use ratatui::widgets::Paragraph;
use tidegate_load::{DriverNow, Point, Quantile, RunStage, Snapshot};

use super::panels;
use super::plots::{self, Curve, Plot, Scale};
use super::text::{BAD, BOLD, GOOD, MAIN, SOFT, WARN, bar, driver_line, rate, span, time};

/// Seconds kept for the charts: bounds the memory of a long run.
const KEPT: usize = 900;
/// Lines of the panels, without and with the response times.
const PANELS: u16 = 10;
const TALL_PANELS: u16 = 13;
/// Widths from which two and three panels fit side by side.
const TWO: u16 = 54;
const THREE: u16 = 78;
/// Width below which charts are stacked.
const NARROW: u16 = 70;
/// Most drivers of a fleet that have a line each.
const DRIVERS: usize = 8;
/// Lines of a chart.
const CHART: u16 = 7;

/// The state that is drawn.
pub struct Dashboard {
    title: String,
    warm_up_s: f64,
    seconds: VecDeque<Point>,
    now: Option<Snapshot>,
}

impl Dashboard {
    /// The screen before the first snapshot.
    pub fn new(title: String, warm_up: Duration) -> Self {
        Self { title, warm_up_s: warm_up.as_secs_f64(), seconds: VecDeque::new(), now: None }
    }

    /// Adds a snapshot.
    pub fn add(&mut self, snapshot: &Snapshot) {
        // The last interval may be a fraction of a second and is not drawn.
        if let Some(second) = snapshot.second.filter(|second| second.length_s > 0.9) {
            if self.seconds.len() >= KEPT {
                self.seconds.pop_front();
            }
            self.seconds.push_back(second);
        }
        self.now = Some(snapshot.clone());
    }

    /// Draws what fits into the area.
    pub fn draw(&self, frame: &mut Frame) {
        let area = frame.area();
        let warnings = self.now.iter().flat_map(|now| &now.driver_warnings).collect::<Vec<_>>();
        let drivers: Vec<Line> = self.now.iter().flat_map(|now| &now.drivers).map(driver).collect();
        let shown = drivers.len().min(DRIVERS) as u16;
        let parts = [1, 1, warnings.len().min(3) as u16, shown].map(Constraint::Length);
        let parts = parts.into_iter().chain([Constraint::Fill(1)]);
        let [head, progress, warned, each, body] = Layout::vertical(parts).areas(area);
        let warn = |why: &&String| Line::raw(format!(" THE LOAD GENERATOR IS SATURATED: {why}"));
        let warnings = warnings.iter().map(warn).collect::<Vec<_>>();
        frame.render_widget(Paragraph::new(warnings).style(BAD.patch(BOLD)), warned);
        frame.render_widget(Paragraph::new(drivers), each);
        self.draw_head(frame, head);
        self.draw_progress(frame, progress);
        let Some(now) = &self.now else {
            let text = Line::styled(" connecting to the target", SOFT);
            frame.render_widget(text, body);
            return;
        };
        // Charts are side by side, in two rows on a large screen. On a small one the panels
        // take precedence.
        let panels = if body.height >= 3 * CHART + TALL_PANELS { TALL_PANELS } else { PANELS };
        let below = body.height.saturating_sub(panels);
        let panels = if below < CHART { body.height } else { panels };
        let parts = [Constraint::Fill(1), Constraint::Length(panels)];
        let [charts, panels] = Layout::vertical(parts).areas(body);
        self.draw_charts(frame, charts, now);
        self.draw_panels(frame, panels, now);
    }

    fn draw_head(&self, frame: &mut Frame, area: Rect) {
        let (word, style) = match self.now.as_ref().map(|now| now.stage) {
            None => (" STARTING ", SOFT),
            Some(RunStage::WarmUp) => (" WARM-UP ", WARN),
            Some(RunStage::Measure) => (" MEASURING ", GOOD),
            Some(RunStage::Done) => (" DONE ", MAIN),
        };
        let badge = Span::styled(word, style.add_modifier(Modifier::REVERSED | Modifier::BOLD));
        let name = Span::styled(" tidegate load ", BOLD.add_modifier(Modifier::REVERSED));
        let parts = [Constraint::Fill(1), Constraint::Length(badge.width() as u16)];
        let [left, right] = Layout::horizontal(parts).areas(area);
        frame.render_widget(Line::from(vec![name, Span::raw(format!(" {}", self.title))]), left);
        frame.render_widget(Paragraph::new(badge).alignment(Alignment::Right), right);
    }

    fn draw_progress(&self, frame: &mut Frame, area: Rect) {
        let Some(now) = &self.now else { return };
        let of = format!(" {} of {} ", span(now.elapsed_s), span(now.planned_s));
        let left = match now.stage {
            RunStage::Done => " ".to_owned(),
            RunStage::WarmUp => {
                format!(" measures in {}, q ends ", span(self.warm_up_s - now.elapsed_s))
            }
            RunStage::Measure => format!(" {} left, q ends ", span(now.planned_s - now.elapsed_s)),
        };
        let taken = (of.chars().count() + left.chars().count()) as u16;
        let share = if now.planned_s > 0.0 { now.elapsed_s / now.planned_s } else { 0.0 };
        let style = if now.stage == RunStage::WarmUp { WARN } else { MAIN };
        let [full, rest] = bar(share, area.width.saturating_sub(taken), style);
        let line = vec![Span::raw(of), full, rest, Span::styled(left, SOFT)];
        frame.render_widget(Line::from(line), area);
    }

    fn draw_charts(&self, frame: &mut Frame, area: Rect, now: &Snapshot) {
        let last = self.seconds.back().copied().unwrap_or(now.last);
        let down = match area.width < NARROW {
            true => area.height / CHART,
            false => area.height / (CHART + 3),
        };
        let across = if area.width < NARROW { 1 } else { 2 };
        let rows = Layout::vertical(vec![Constraint::Fill(1); usize::from(down.clamp(1, 2))]);
        let cells = rows
            .split(area)
            .iter()
            .flat_map(|row| {
                Layout::horizontal(vec![Constraint::Fill(1); across]).split(*row).to_vec()
            })
            .collect::<Vec<_>>();
        if area.height < 3 {
            return;
        }
        type Draw = fn(&Dashboard, &mut Frame, Rect, &Point);
        let all: [Draw; 4] =
            [Self::draw_rate, Self::draw_response, Self::draw_requests, Self::draw_handshakes];
        cells.iter().zip(all).for_each(|(cell, draw)| draw(self, frame, *cell, &last));
    }

    fn draw_rate(&self, frame: &mut Frame, area: Rect, last: &Point) {
        let lost = |p: &Point| p.refused_per_s + p.abandoned_per_s + p.failed_per_s;
        let mut curves = vec![
            self.curve(Style::new().add_modifier(Modifier::DIM), |p| Some(p.offered_per_s))
                .dotted(),
            self.curve(GOOD, |p| Some(p.completed_per_s)),
        ];
        let title = vec![
            Span::styled(" sessions/s ", BOLD),
            Span::raw(format!("offered {} ", rate(last.offered_per_s))),
            Span::styled(format!("done {} ", rate(last.completed_per_s)), GOOD),
        ];
        let mut below = Line::default();
        if self.seconds.iter().any(|p| lost(p) > 0.0) {
            curves.push(self.curve(BAD, move |p| Some(lost(p))));
            let text = format!(" refused, abandoned and failed {} ", rate(lost(last)));
            below = Line::styled(text, BAD);
        }
        let plot = Plot { below, ..self.plot(title, Scale::FromZero) };
        plots::draw(frame, area, plot, curves);
    }

    fn draw_response(&self, frame: &mut Frame, area: Rect, last: &Point) {
        let ms =
            |value: fn(&Point) -> f64| move |p: &Point| (!p.response.is_empty()).then(|| value(p));
        let curves = vec![
            self.curve(BAD, ms(|p| p.response.p99_ms)),
            self.curve(WARN, ms(|p| p.response.p95_ms)),
            self.curve(GOOD, ms(|p| p.response.p50_ms)),
        ];
        let r = &last.response;
        let mut title = vec![Span::styled(" response, ms ", BOLD)];
        if !r.is_empty() {
            let part = |name: &str, figure: Quantile, style| {
                let mark = if figure.is_lower_bound { ">" } else { "" };
                Span::styled(format!("{name} {mark}{} ", plain(figure.ms)), style)
            };
            title.extend([
                part("p50", r.p50(), GOOD),
                part("p95", r.p95(), WARN),
                part("p99", r.p99(), BAD),
            ]);
        }
        plots::draw(frame, area, self.plot(title, Scale::Decades), curves);
    }

    fn draw_requests(&self, frame: &mut Frame, area: Rect, last: &Point) {
        let curves = vec![self.curve(MAIN, |p| Some(p.requests_per_s))];
        let title = vec![
            Span::styled(" requests/s ", BOLD),
            Span::styled(format!("answered {} ", rate(last.requests_per_s)), MAIN),
        ];
        plots::draw(frame, area, self.plot(title, Scale::FromZero), curves);
    }

    fn draw_handshakes(&self, frame: &mut Frame, area: Rect, last: &Point) {
        let curves = vec![
            self.curve(GOOD, |p| Some(p.resumed_handshakes_per_s)),
            self.curve(WARN, |p| Some(p.full_handshakes_per_s)),
        ];
        let title = vec![
            Span::styled(" handshakes/s ", BOLD),
            Span::styled(format!("full {} ", rate(last.full_handshakes_per_s)), WARN),
            Span::styled(format!("resumed {} ", rate(last.resumed_handshakes_per_s)), GOOD),
        ];
        plots::draw(frame, area, self.plot(title, Scale::FromZero), curves);
    }

    fn curve(&self, style: Style, value: impl Fn(&Point) -> Option<f64>) -> Curve {
        let finite = |p: &Point| value(p).filter(|value| value.is_finite());
        let values = self.seconds.iter().map(|p| (p.at_s, finite(p))).collect();
        Curve { values, style, dotted: false }
    }

    fn plot<'a>(&self, title: Vec<Span<'a>>, axis: Scale) -> Plot<'a> {
        let end = self.seconds.back().map_or(0.0, |p| p.at_s);
        let begin = self.seconds.front().map_or(0.0, |p| p.at_s - p.length_s);
        let from_to_s = [begin.max(0.0), end.max(begin + 30.0)];
        let (title, below) = (Line::from(title), Line::default());
        Plot { title, below, from_to_s, mark_s: self.warm_up_s, axis }
    }

    fn draw_panels(&self, frame: &mut Frame, area: Rect, now: &Snapshot) {
        let fit: usize = match area.width {
            0..TWO => 1,
            TWO..THREE => 2,
            _ => 3,
        };
        let parts = Layout::horizontal(vec![Constraint::Fill(1); fit]).split(area);
        let last = self.seconds.back().copied().unwrap_or(now.last);
        panels::customers(frame, parts[0], now, self.seconds.iter(), &last);
        match fit {
            1 => {}
            2 => panels::condition(frame, parts[1], now),
            _ => {
                panels::requests(frame, parts[1], now, self.seconds.iter(), &last);
                panels::condition(frame, parts[2], now);
            }
        }
    }
}

fn driver(driver: &DriverNow) -> Line<'static> {
    let style = if driver.ended || driver.saturated { BAD } else { SOFT };
    Line::styled(driver_line(driver), style)
}

impl Curve {
    fn dotted(self) -> Self {
        Self { dotted: true, ..self }
    }
}

/// Milliseconds without the unit.
fn plain(ms: f64) -> String {
    let text = time(ms);
    text.strip_suffix(" ms").map_or_else(|| text.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;
    use tidegate_load::Percentiles;
    use tidegate_load::Totals;

    fn drawn(dashboard: &Dashboard, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| dashboard.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    fn snapshot(at_s: f64) -> Snapshot {
        let response = Percentiles {
            count: 9,
            p50_ms: 1.5,
            p95_ms: 23.0,
            p99_ms: 120.0,
            ..Percentiles::default()
        };
        let second = Point {
            at_s,
            length_s: 1.0,
            offered_per_s: 20.0,
            completed_per_s: 18.5,
            refused_per_s: 1.25,
            requests_per_s: 1234.0,
            response,
            in_flight: 1048,
            ..Point::default()
        };
        let totals = Totals {
            offered: 12_345,
            refused: 7,
            refused_by_kind: [("reset".into(), 7)].into(),
            failed: 2,
            failed_by_kind: [("status".into(), 2), ("tls".into(), 0)].into(),
            full_ok: 25,
            resumed_ok: 75,
            starts: 1000,
            missed_starts: 5,
            ..Totals::default()
        };
        Snapshot {
            started_at_unix_ms: 1_700_000_000_000,
            elapsed_s: at_s,
            planned_s: 40.0,
            stage: if at_s < 10.0 { RunStage::WarmUp } else { RunStage::Measure },
            before: Totals::default(),
            totals,
            response,
            buckets: Default::default(),
            in_flight: 1048,
            last: Point { driver_cpu_share: 0.42, ..second },
            second: Some(second),
            driver_warnings: Vec::new(),
            drivers: Vec::new(),
            histograms: None,
        }
    }

    fn after(seconds: u32) -> Dashboard {
        let mut dashboard =
            Dashboard::new("shop against https://a".into(), Duration::from_secs(10));
        (1..=seconds).for_each(|second| dashboard.add(&snapshot(f64::from(second))));
        dashboard
    }

    #[test]
    fn each_driver_of_a_fleet_has_a_line() {
        let mut dashboard = after(15);
        let last = dashboard.now.as_ref().map(|now| now.last);
        let driver = |name: &str, last, ended| DriverNow {
            name: name.into(),
            last,
            ended,
            saturated: last.is_some(),
        };
        let drivers = vec![driver("lon-1", last, false), driver("lon-2", None, true)];
        let now = Snapshot { drivers, ..dashboard.now.take().unwrap() };
        dashboard.add(&now);
        let text = drawn(&dashboard, 80, 24);
        let first = "lon-1: offered 20.0/s, answered 1,234/s, 1,048 in flight, CPU 42 %, SATURATED";
        assert!(text.contains(first) && text.contains("lon-2: has ended"), "{text}");
    }

    #[test]
    fn a_usual_terminal_shows_all_figures() {
        let text = drawn(&after(15), 80, 24);
        for expected in [
            "tidegate load  shop against https://a",
            "MEASURING",
            "15 s of 40 s",
            "25 s left",
            "offered 20.0 done 18.5",
            "refused, abandoned and failed 1.2",
            "p50 1.5 p95 23.0 p99 120",
            "active      1,048",
            "offered    12,345  20.0",
            "refused         7   1.2",
            "per s       1,234",
            "full       25 %",
            "CPU        42 %",
            "late            5  0.5 %",
            "refused: reset ",
            "failed: status ",
        ] {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
        assert!(!text.contains("tls"), "{text}");
    }

    #[test]
    fn a_large_terminal_has_four_charts_and_all_percentiles() {
        let text = drawn(&after(15), 160, 50);
        for expected in
            ["requests/s answered", "handshakes/s full", "response time so far", "p99 120 ms"]
        {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }

    #[test]
    fn saturation_is_shown() {
        let mut dashboard = after(12);
        let mut now = snapshot(13.0);
        now.driver_warnings = vec!["CPU 98 %".into()];
        dashboard.add(&now);
        assert!(drawn(&dashboard, 80, 24).contains("THE LOAD GENERATOR IS SATURATED: CPU 98 %"));
    }

    #[test]
    fn every_terminal_size_can_be_drawn_at_any_time() {
        for dashboard in [after(0), after(1), after(40)] {
            for width in (1..40).chain([79, 80, 81, 200]) {
                for height in (1..40).step_by(3).chain([80]) {
                    drawn(&dashboard, width, height);
                }
            }
        }
    }

    #[test]
    fn values_that_are_not_finite_do_not_panic() {
        let mut dashboard = after(3);
        for value in [f64::NAN, f64::INFINITY, -1.0, 0.0, 1e300] {
            let mut now = snapshot(4.0);
            (now.elapsed_s, now.planned_s, now.last.driver_cpu_share) = (value, value, value);
            let second = now.second.as_mut().unwrap();
            (second.offered_per_s, second.response.p99_ms) = (value, value);
            dashboard.add(&now);
            drawn(&dashboard, 80, 24);
        }
    }

    #[test]
    fn memory_is_bounded_on_a_long_run() {
        assert_eq!(after(3 * KEPT as u32).seconds.len(), KEPT);
    }

    #[test]
    fn before_the_first_snapshot_the_screen_shows_the_connection_attempt() {
        let text = drawn(&after(0), 80, 24);
        assert!(text.contains("STARTING") && text.contains("connecting to"), "{text}");
    }
}
