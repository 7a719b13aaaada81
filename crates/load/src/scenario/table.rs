//! The table of transitions: a Markov chain over the pages, with Back, Stay
//! and End beside them.
//!
//! Published tables are not always stochastic (the rows of RUBiS sum to 0.97
//! to 1.21), so a table has a form: as it is, normalised, or effective.

use rand::RngExt;

use crate::rng::Rng;
use crate::word::words;

/// Where a customer goes next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Move {
    /// To a page, by its index.
    Page(u16),
    /// One page back, as with a browser's button.
    Back,
    /// The same request again.
    Stay,
    /// Away.
    End,
}

/// How the rows of a table are read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// Rows must sum to one.
    #[default]
    AsIs,
    /// Every entry divided by the sum of its row.
    Normalised,
    /// What a client does that draws a number in 0..1 and walks the row in
    /// order until the running sum passes it: what lies beyond 1 is cut off,
    /// and what lacks to 1 is Stay. This is the client of RUBiS.
    Effective,
}

words!(Form: "as-is" => AsIs, "normalised" => Normalised, "effective" => Effective);

/// Rows of cumulative probability, without the zeros.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    rows: Vec<Vec<(f64, Move)>>,
}

/// Largest deviation of a row's sum from one.
pub const TOLERANCE: f64 = 1e-6;

impl Table {
    /// Builds the table. `rows[state]` lists the entries in the order of the
    /// columns; entries are finite and at least 0.
    ///
    /// # Errors
    /// The states whose row does not sum to one (or, if it is to be
    /// normalised, is empty), each with its sum.
    pub fn new(rows: Vec<Vec<(Move, f64)>>, form: Form) -> Result<Self, Vec<(usize, f64)>> {
        let mut bad = Vec::new();
        let mut cumulative = Vec::with_capacity(rows.len());
        for (state, mut row) in rows.into_iter().enumerate() {
            let sum: f64 = row.iter().map(|(_, p)| p).sum();
            match form {
                Form::AsIs if (sum - 1.0).abs() > TOLERANCE => bad.push((state, sum)),
                Form::AsIs => {}
                Form::Normalised if sum <= 0.0 => bad.push((state, sum)),
                Form::Normalised => row.iter_mut().for_each(|(_, p)| *p /= sum),
                Form::Effective => {
                    let mut left = 1.0;
                    for (_, p) in &mut row {
                        *p = p.min(left);
                        left -= *p;
                    }
                    if left > 1e-12 {
                        row.push((Move::Stay, left));
                    }
                }
            }
            let mut running = 0.0;
            row.retain(|(_, p)| *p > 0.0);
            cumulative.push(
                row.into_iter()
                    .map(|(to, p)| {
                        running += p;
                        (running, to)
                    })
                    .collect(),
            );
        }
        if bad.is_empty() { Ok(Self { rows: cumulative }) } else { Err(bad) }
    }

    /// Draws the move from a state.
    pub fn draw(&self, state: u16, rng: &mut Rng) -> Move {
        let draw: f64 = rng.random();
        let row = &self.rows[state as usize];
        row.iter()
            .find(|(cumulative, _)| draw < *cumulative)
            // Rounding may leave the last sum a hair below one.
            .or(row.last())
            .map_or(Move::End, |(_, to)| *to)
    }

    /// Probabilities of a state's moves, without those of zero.
    pub fn moves(&self, state: u16) -> impl Iterator<Item = (Move, f64)> + '_ {
        let mut last = 0.0;
        self.rows[state as usize].iter().map(move |(cumulative, to)| {
            let p = cumulative - last;
            last = *cumulative;
            (*to, p)
        })
    }

    /// Whether a session from `start` can move to a page, other than back.
    pub fn comes_to(&self, page: u16, start: u16) -> bool {
        let mut reachable = self.rows.iter().zip(self.reachable(start)).filter(|(_, seen)| *seen);
        reachable.any(|(row, _)| row.iter().any(|(_, to)| *to == Move::Page(page)))
    }

    /// Whether a session from `start` goes on and on, and never back.
    pub fn is_endless(&self, start: u16) -> bool {
        let onward = |(_, to): &(f64, Move)| matches!(to, Move::Page(_) | Move::Stay);
        let mut reachable = self.rows.iter().zip(self.reachable(start)).filter(|(_, seen)| *seen);
        reachable.all(|(row, _)| !row.is_empty() && row.iter().all(onward))
    }

    /// Number of states.
    pub fn states(&self) -> usize {
        self.rows.len()
    }

    /// States that a session can reach from `start`.
    pub fn reachable(&self, start: u16) -> Vec<bool> {
        let mut seen = vec![false; self.rows.len()];
        let mut todo = vec![start];
        while let Some(state) = todo.pop() {
            if std::mem::replace(&mut seen[state as usize], true) {
                continue;
            }
            for (_, to) in &self.rows[state as usize] {
                if let Move::Page(page) = to {
                    todo.push(*page);
                }
            }
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_effective_form_cuts_at_one_and_fills_up_with_stay() {
        // RUBiS bidding, SearchItemsInCategory: 1.2079 on paper, End last.
        let row = vec![
            (Move::Page(0), 0.4179),
            (Move::Page(1), 0.5),
            (Move::Page(0), 0.09),
            (Move::End, 0.2),
        ];
        let table = Table::new(vec![row, vec![(Move::Page(0), 0.97)]], Form::Effective).unwrap();
        let busy: Vec<_> = table.moves(0).collect();
        assert_eq!(busy.len(), 3);
        assert!((busy[2].1 - 0.0821).abs() < 1e-9, "{busy:?}");
        let home: Vec<_> = table.moves(1).collect();
        assert_eq!(home[1].0, Move::Stay);
        assert!((home[1].1 - 0.03).abs() < 1e-9);
    }

    #[test]
    fn every_bad_row_is_reported_with_its_sum() {
        let rows = vec![
            vec![(Move::End, 1.0)],
            vec![(Move::End, 0.9)],
            vec![(Move::Back, 0.6), (Move::End, 0.6)],
        ];
        let bad = Table::new(rows.clone(), Form::AsIs).unwrap_err();
        assert_eq!(bad, [(1, 0.9), (2, 1.2)]);
        let normalised = Table::new(rows, Form::Normalised).unwrap();
        assert_eq!(normalised.moves(2).next(), Some((Move::Back, 0.5)));
    }

    #[test]
    fn draws_follow_the_probabilities() {
        use rand::SeedableRng;
        let row = vec![(Move::Page(0), 0.25), (Move::Back, 0.5), (Move::End, 0.25)];
        let table = Table::new(vec![row], Form::AsIs).unwrap();
        let mut rng = Rng::seed_from_u64(3);
        let backs = (0..40_000).filter(|_| table.draw(0, &mut rng) == Move::Back).count();
        assert!((19_600..20_400).contains(&backs), "{backs}");
    }
}
