//! A table, which is written as aligned text for a terminal and as HTML for a page.

use maud::{Markup, Render, html};

use crate::number;

/// A table. Its first column, and those of words, begin at the left; numbers end at the right.
#[derive(Clone, Debug, Default)]
pub struct Table {
    class: String,
    columns: Vec<Column>,
    rows: Vec<Row>,
}

#[derive(Clone, Debug, Default)]
struct Row {
    cells: Vec<Cell>,
    is_part: bool,
}

/// A column and its head.
#[derive(Clone, Debug, Default)]
pub struct Column {
    head: Cell,
    words: bool,
    /// Columns of a higher rank are left out first where the width is short.
    rank: u8,
    /// Least width in text, in letters.
    least: usize,
}

/// A cell: its text, and on a page its class, its tooltip, and other content than the text.
#[derive(Clone, Debug, Default)]
pub struct Cell {
    text: String,
    class: String,
    title: Option<String>,
    markup: Option<Markup>,
}

/// Room between two columns of text.
const BETWEEN: usize = 2;

/// A column of a table of records: its head, and what it shows of a record.
pub type HeadAndCell<'c, T, S> = (&'c str, CellOf<T, S>);
/// What a column shows of a record.
pub type CellOf<T, S> = fn(&T) -> S;

impl Table {
    /// A table with these columns and no row.
    pub fn new<C: Into<Column>>(columns: impl IntoIterator<Item = C>) -> Self {
        let columns = columns.into_iter().map(Into::into).collect();
        Self { columns, ..Self::default() }
    }

    /// A row of `columns` for each of `items`: a head, and how a cell of an item is shown.
    pub fn of<'a, T: 'a, S: Into<Cell>, C: Into<Column> + Clone>(
        items: impl IntoIterator<Item = &'a T>,
        columns: &[(C, CellOf<T, S>)],
    ) -> Self {
        let mut table = Self::new(columns.iter().map(|(head, _)| head.clone()));
        for item in items {
            table.row(columns.iter().map(|(_, cell)| cell(item)));
        }
        table
    }

    /// CSS classes of the table.
    pub fn class(mut self, class: &str) -> Self {
        class.clone_into(&mut self.class);
        self
    }

    /// Columns of words, by their place: these begin at the left.
    pub fn words(mut self, columns: &[usize]) -> Self {
        columns.iter().for_each(|at| self.columns[*at].words = true);
        self
    }

    /// Adds a row. One with fewer cells than columns has its last cell across the others.
    pub fn row<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        let cells = cells.into_iter().map(Into::into).collect();
        self.rows.push(Row { cells, is_part: false });
    }

    /// Adds a row of what is a part of the row before.
    pub fn part<C: Into<Cell>>(&mut self, cells: impl IntoIterator<Item = C>) {
        self.row(cells);
        self.rows.iter_mut().last().into_iter().for_each(|row| row.is_part = true);
    }

    /// As HTML, in a frame that scrolls where it is too wide for the screen.
    pub fn html(&self) -> Markup {
        let words = |at: usize| if self.columns[at].words { "text " } else { "" };
        let class = |at: usize, cell: &Cell| {
            let class = format!("{}{}", words(at), cell.class);
            Some(class.trim().to_owned()).filter(|class| !class.is_empty())
        };
        html! { div.scroll tabindex="0" { table class=[Some(&self.class).filter(|it| !it.is_empty())] {
            thead { tr { @for (at, column) in self.columns.iter().enumerate() {
                th class=[class(at, &column.head)] title=[&column.head.title] { (column.head.content()) }
            } } }
            tbody { @for row in &self.rows { tr class=[row.is_part.then_some("part")] { @for (at, cell) in row.cells.iter().enumerate() {
                td class=[class(at, cell)] title=[&cell.title] colspan=[self.across(row, at)] { (cell.content()) }
            } } } }
        } } }
    }

    /// As lines of text, each with its end.
    pub fn text(&self) -> String {
        self.text_within(usize::MAX)
    }

    /// As lines of text, without the columns of the highest ranks that do not fit into a width.
    pub fn text_within(&self, width: usize) -> String {
        let widths: Vec<usize> = (0..self.columns.len()).map(|at| self.width(at)).collect();
        let fits = |rank: &u8| {
            let kept = self.columns.iter().zip(&widths).filter(|(it, _)| it.rank <= *rank);
            kept.map(|(_, width)| width + BETWEEN).sum::<usize>() <= width.saturating_add(BETWEEN)
        };
        let most = self.columns.iter().map(|column| column.rank).max().unwrap_or(0);
        let rank = (0..=most).rev().find(fits).unwrap_or(0);
        let head: Vec<&Cell> = self.columns.iter().map(|column| &column.head).collect();
        let heights = head.iter().map(|cell| cell.text.lines().count());
        let mut text = String::new();
        for line in 0..heights.max().unwrap_or(0) {
            let cells = head.iter().map(|cell| cell.text.lines().nth(line).unwrap_or_default());
            text += &self.line(&cells.collect::<Vec<_>>(), &widths, rank);
        }
        for row in &self.rows {
            let cells = row.cells.iter().map(|cell| cell.text.as_str());
            text += &self.line(&cells.collect::<Vec<_>>(), &widths, rank);
        }
        text
    }

    fn line(&self, cells: &[&str], widths: &[usize], rank: u8) -> String {
        let mut line = String::new();
        for (at, cell) in cells.iter().enumerate().filter(|(at, _)| self.columns[*at].rank <= rank)
        {
            let (cell, width) = (plain(cell), widths[at]);
            let across = at + 1 == cells.len() && at + 1 < self.columns.len();
            if at > 0 {
                line += &" ".repeat(BETWEEN);
            }
            line += &match at == 0 || across || self.columns[at].words {
                true => format!("{cell:<width$}"),
                false => format!("{cell:>width$}"),
            };
        }
        line.truncate(line.trim_end().len());
        line + "\n"
    }

    /// The width of a column: that of its longest cell which is not across others.
    fn width(&self, at: usize) -> usize {
        let cells = self.rows.iter().filter(|row| self.across(row, at).is_none());
        let cells = cells.filter_map(|row| row.cells.get(at)).map(|cell| cell.text.as_str());
        let all = cells.chain(self.columns[at].head.text.lines());
        all.map(|text| text.chars().count()).fold(self.columns[at].least, usize::max)
    }

    /// Over how many columns a cell goes, if over several.
    fn across(&self, row: &Row, at: usize) -> Option<usize> {
        let cells = row.cells.len();
        (at + 1 == cells && cells < self.columns.len()).then(|| self.columns.len() - at)
    }
}

impl Render for Table {
    fn render(&self) -> Markup {
        self.html()
    }
}

/// Text whose spaces are all plain ones.
fn plain(text: &str) -> String {
    text.replace(['\u{a0}', '\u{202f}'], " ")
}

impl Column {
    /// A column with this head. Each line of the head is one in the table.
    pub fn new(head: impl Into<Cell>) -> Self {
        Self { head: head.into(), ..Self::default() }
    }

    /// Its rank: columns of a higher rank are left out first where the width is short.
    pub fn rank(self, rank: u8) -> Self {
        Self { rank, ..self }
    }

    /// With a least width in text: tables that are written row by row have the same columns.
    pub fn least(self, least: usize) -> Self {
        Self { least, ..self }
    }

    /// A column of words, which begin at the left.
    pub fn words(self) -> Self {
        Self { words: true, ..self }
    }
}

impl Cell {
    /// With these CSS classes; none where the text is empty.
    pub fn class(self, class: impl Into<String>) -> Self {
        Self { class: class.into(), ..self }
    }

    /// With a tooltip.
    pub fn title(self, title: impl Into<String>) -> Self {
        Self { title: Some(title.into()), ..self }
    }

    /// With this content on a page.
    pub fn markup(self, markup: Markup) -> Self {
        Self { markup: Some(markup), ..self }
    }

    /// Of a number of failures, which are marked where there are any.
    pub fn failures(count: u64) -> Self {
        Self::from(number::count(count)).class(if count > 0 { "missed" } else { "" })
    }

    fn content(&self) -> Markup {
        match &self.markup {
            Some(markup) => markup.clone(),
            None => html! { @for (at, line) in self.text.lines().enumerate() {
                @if at > 0 { br; } (line)
            } },
        }
    }
}

impl From<String> for Cell {
    fn from(text: String) -> Self {
        Self { text, ..Self::default() }
    }
}

impl From<&str> for Cell {
    fn from(text: &str) -> Self {
        text.to_owned().into()
    }
}

impl<C: Into<Cell>> From<C> for Column {
    fn from(head: C) -> Self {
        Self::new(head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table() -> Table {
        let columns = ["policy".into(), "where".into(), Column::new("p95\nms").rank(3)];
        let mut table = Table::new(columns).class("dense").words(&[1]);
        table.row([Cell::from("tide").class("tide"), "a <b>".into(), "12\u{202f}345".into()]);
        table.row(["off".to_owned(), "everywhere".to_owned(), "9".to_owned()]);
        table.row(["off: a note that is longer than its column"]);
        table
    }

    #[test]
    fn text_is_aligned_and_a_note_goes_across() {
        assert_eq!(
            table().text(),
            "policy  where          p95\n\
             \u{20}                       ms\n\
             tide    a <b>       12 345\n\
             off     everywhere       9\n\
             off: a note that is longer than its column\n"
        );
    }

    #[test]
    fn columns_of_a_high_rank_are_left_out_where_the_width_is_short() {
        assert!(table().text_within(26).contains("12 345"));
        let narrow = table().text_within(25);
        assert!(!narrow.contains("p95") && narrow.contains("everywhere"), "{narrow}");
        assert!(table().text_within(0).contains("tide"), "columns of rank 0 always stay");
    }

    #[test]
    fn html_has_classes_lines_of_the_head_and_escaped_text() {
        let html = table().html().into_string();
        for part in [
            r#"<div class="scroll" tabindex="0"><table class="dense">"#,
            r#"<th class="text">where</th><th>p95<br>ms</th>"#,
            r#"<td class="tide">tide</td><td class="text">a &lt;b&gt;</td>"#,
            r#"<td colspan="3">off: a note"#,
        ] {
            assert!(html.contains(part), "{part}: {html}");
        }
        let shown = Cell::from("1").markup(html! { i { "1" } }).title("one");
        let mut table = Table::new(["a"]);
        table.row([shown]);
        let html = table.html().into_string();
        assert!(html.contains(r#"<td title="one"><i>1</i></td>"#), "{html}");
    }

    #[test]
    fn a_table_of_items_has_a_row_for_each() {
        let columns: &[HeadAndCell<'_, u32, String>] =
            &[("n", |n| n.to_string()), ("square", |n| (n * n).to_string())];
        assert_eq!(Table::of(&[2, 12], columns).text(), "n   square\n2        4\n12     144\n");
    }
}
