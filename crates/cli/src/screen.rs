//! The live view on a terminal: sessions and response times over time, and a table of
//! results. It draws figures that others measure.

use std::sync::atomic::{AtomicBool, Ordering};

use ratatui::DefaultTerminal;
use ratatui::layout::{Constraint, Layout, Rect};
use ratatui::prelude::{Color, Frame, Line, Modifier, Span, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType, Paragraph, Row, Table};

/// A terminal in full-screen mode until dropped. A panic restores it before its message.
pub struct FullScreen(DefaultTerminal);

/// Whether a terminal is in full-screen mode.
static ACTIVE: AtomicBool = AtomicBool::new(false);

/// Restores the terminal if it is in full-screen mode. Call before the process exits.
pub fn restore() {
    if ACTIVE.swap(false, Ordering::Relaxed) {
        ratatui::restore();
    }
}

impl FullScreen {
    /// Switches the terminal to full-screen mode.
    ///
    /// # Errors
    /// The terminal does not support it.
    pub fn new() -> std::io::Result<Self> {
        let terminal = ratatui::try_init().inspect_err(|_| ratatui::restore())?;
        ACTIVE.store(true, Ordering::Relaxed);
        keep_signals();
        Ok(Self(terminal))
    }

    /// Draws. Errors are dropped: a terminal that is gone must not end a measurement.
    pub fn draw(&mut self, draw: impl FnOnce(&mut Frame)) {
        let _ = self.0.draw(draw);
    }
}

/// Ctrl-C stays a signal, as without a view, so that no keys need to be read. crossterm
/// keeps the terminal's earlier state.
fn keep_signals() {
    // SAFETY: plain data, for which all zeros is a value.
    let mut state: libc::termios = unsafe { std::mem::zeroed() };
    // SAFETY: the descriptor may be no terminal, which is an error; `state` is ours.
    if unsafe { libc::tcgetattr(libc::STDIN_FILENO, &raw mut state) } == 0 {
        state.c_lflag |= libc::ISIG;
        // SAFETY: as above. Should it fail, keys are read as before.
        unsafe { libc::tcsetattr(libc::STDIN_FILENO, libc::TCSANOW, &raw const state) };
    }
}

impl Drop for FullScreen {
    fn drop(&mut self) {
        restore();
    }
}

/// The view of several runs, one after another.
pub struct Screen {
    terminal: FullScreen,
    /// What it shows after the next [`Screen::draw`].
    pub state: State,
}

/// Everything on the screen.
#[derive(Default)]
pub struct State {
    /// The current phase.
    pub title: String,
    /// Where what is measured can be watched; empty if nowhere.
    pub watch: String,
    /// Name and colour of the run whose figures are shown.
    pub label: String,
    pub colour: Color,
    /// The run's figures of this second, in a line.
    pub figures: String,
    /// Sessions per second that the charts are scaled to, once known.
    pub capacity: Option<f64>,
    /// Headings, widths and lines of the table.
    pub columns: &'static [(&'static str, u16)],
    pub rows: Vec<(Color, Vec<String>)>,
    clock: f64,
    runs: Vec<Run>,
    offered: Vec<(f64, f64)>,
}

/// One second of load.
pub struct Second {
    pub offered_per_s: f64,
    pub completed_per_s: f64,
    pub response_p95_ms: f64,
}

struct Run {
    label: String,
    colour: Color,
    completed: Vec<(f64, f64)>,
    response: Vec<(f64, f64)>,
}

/// Seconds that the charts keep: a run of any length draws in bounded memory.
const KEPT: usize = 900;
/// Lines of the table that are shown, the newest.
const ROWS: usize = 14;
const SOFT: Style = Style::new().fg(Color::DarkGray);

impl Screen {
    /// Switches the terminal to full-screen mode.
    ///
    /// # Errors
    /// The terminal does not support it.
    pub fn open() -> std::io::Result<Self> {
        Ok(Self { terminal: FullScreen::new()?, state: State::default() })
    }

    /// Draws the state.
    pub fn draw(&mut self) {
        self.terminal.draw(|frame| self.state.draw(frame));
    }
}

impl State {
    /// Appends a second to the charts; a new label begins a new line.
    pub fn push(&mut self, second: &Second) {
        self.clock += 1.0;
        if self.runs.last().is_none_or(|run| run.label != self.label) {
            let (label, colour) = (self.label.clone(), self.colour);
            self.runs.push(Run { label, colour, completed: Vec::new(), response: Vec::new() });
        }
        let run = self.runs.last_mut().expect("one was pushed if there was none");
        keep(&mut self.offered, (self.clock, second.offered_per_s));
        keep(&mut run.completed, (self.clock, second.completed_per_s));
        if second.response_p95_ms > 0.0 {
            keep(&mut run.response, (self.clock, second.response_p95_ms.log10()));
        }
    }

    fn draw(&self, frame: &mut Frame) {
        let table_height = self.rows.len().clamp(1, ROWS) as u16 + 3;
        let parts = [Constraint::Length(4), Constraint::Min(8), Constraint::Length(table_height)];
        let [head, charts, table] = Layout::vertical(parts).areas(frame.area());
        let halves = [Constraint::Fill(1), Constraint::Fill(1)];
        let [left, right] = Layout::horizontal(halves).areas(charts);
        frame.render_widget(self.head(), head);
        self.draw_sessions(frame, left);
        self.draw_response(frame, right);
        frame.render_widget(self.table(), table);
    }

    fn head(&self) -> Paragraph<'_> {
        let bold = Style::new().add_modifier(Modifier::BOLD);
        let capacity = self.capacity.map(|rate| format!("   (capacity {rate:.0} sessions/s)"));
        Paragraph::new(vec![
            Line::from(vec![
                Span::styled(" Tidegate ", bold.bg(Color::Blue).fg(Color::White)),
                Span::raw(format!("  {}", self.title)),
            ]),
            Line::styled(format!(" {}", self.watch), SOFT),
            Line::from(vec![
                Span::styled(format!(" {} ", self.label), bold.fg(self.colour)),
                Span::raw(&self.figures),
                Span::styled(capacity.unwrap_or_default(), SOFT),
            ]),
        ])
    }

    fn draw_sessions(&self, frame: &mut Frame, area: Rect) {
        // The axis ends at 1.5 times the capacity, and offered load above is cut off: at
        // four times the capacity the rest would fill only the lowest quarter.
        let highest = self.offered.iter().map(|p| p.1).fold(10.0, f64::max);
        let top = self.capacity.map_or(highest * 1.1, |capacity| capacity * 1.5);
        let offered: Vec<_> = self.offered.iter().map(|(x, y)| (*x, y.min(top))).collect();
        let completed = self.runs.iter().map(|run| line(&run.completed, run.colour));
        let lines = std::iter::once(line(&offered, Color::DarkGray)).chain(completed).collect();
        let labels = [0.0, top / 2.0, top].map(|y| format!("{y:>5.0}")).to_vec();
        let title = " sessions/s: completed, and offered in grey ";
        frame.render_widget(self.chart(title, lines, [0.0, top], labels), area);
    }

    fn draw_response(&self, frame: &mut Frame, area: Rect) {
        let lines = self.runs.iter().map(|run| line(&run.response, run.colour)).collect();
        let decades = ["1", "10", "100", "1000"].map(|y| format!("{y:>5}")).to_vec();
        frame
            .render_widget(self.chart(" p95 response time, ms ", lines, [0.0, 3.0], decades), area);
    }

    fn chart<'a>(
        &self,
        title: &'a str,
        lines: Vec<Dataset<'a>>,
        bounds: [f64; 2],
        labels: Vec<String>,
    ) -> Chart<'a> {
        let begin = (self.clock - KEPT as f64).max(0.0);
        let end = self.clock.max(30.0);
        let x_labels = [format!("{begin:.0} s"), format!("{end:.0} s")];
        Chart::new(lines)
            .block(Block::bordered().title(title).border_style(SOFT))
            .x_axis(Axis::default().bounds([begin, end]).labels(x_labels).style(SOFT))
            .y_axis(Axis::default().bounds(bounds).labels(labels).style(SOFT))
            .legend_position(None)
    }

    fn table(&self) -> Table<'_> {
        let skip = self.rows.len().saturating_sub(ROWS);
        let rows = self.rows[skip..].iter();
        let rows =
            rows.map(|(colour, cells)| Row::new(cells.clone()).style(Style::new().fg(*colour)));
        let widths = self.columns.iter().map(|(_, width)| Constraint::Length(*width));
        let head = Row::new(self.columns.iter().map(|(name, _)| *name)).style(SOFT);
        Table::new(rows, widths)
            .header(head)
            .block(Block::bordered().title(" measured ").border_style(SOFT))
    }
}

fn keep(points: &mut Vec<(f64, f64)>, point: (f64, f64)) {
    if points.len() >= KEPT {
        points.remove(0);
    }
    points.push(point);
}

fn line(points: &[(f64, f64)], colour: Color) -> Dataset<'_> {
    Dataset::default()
        .data(points)
        .marker(Marker::Braille)
        .graph_type(GraphType::Line)
        .style(Style::new().fg(colour))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    fn drawn(state: &State, width: u16, height: u16) -> String {
        let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
        terminal.draw(|frame| state.draw(frame)).unwrap();
        terminal.backend().to_string()
    }

    #[test]
    fn figures_and_table_are_on_the_screen() {
        let mut state = State {
            title: "Policy tide".into(),
            watch: "tide http://127.0.0.1:1/".into(),
            figures: "offered 400/s".into(),
            ..State::default()
        };
        state.columns = &[("policy", 8), ("load", 6)];
        state.rows.push((Color::Cyan, vec!["tide".into(), "4×".into()]));
        state.push(&Second { offered_per_s: 400.0, completed_per_s: 95.0, response_p95_ms: 12.0 });
        let text = drawn(&state, 120, 30);
        for expected in ["Policy tide", "tide http://127.0.0.1:1/", "offered 400/s", "policy", "4×"]
        {
            assert!(text.contains(expected), "{expected} is missing in\n{text}");
        }
    }

    #[test]
    fn a_tiny_terminal_does_not_panic() {
        for (width, height) in [(1, 1), (10, 3), (30, 8)] {
            drawn(&State::default(), width, height);
        }
    }

    #[test]
    fn memory_is_bounded_on_a_long_run() {
        let mut state = State::default();
        for _ in 0..3 * KEPT {
            state.push(&Second { offered_per_s: 1.0, completed_per_s: 1.0, response_p95_ms: 1.0 });
        }
        assert_eq!((state.offered.len(), state.runs[0].completed.len()), (KEPT, KEPT));
    }
}
