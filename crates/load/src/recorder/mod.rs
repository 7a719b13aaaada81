//! Aggregates events into figures and writes files of requests and seconds.
//!
//! The way of a request into the result, stage by stage:
//!
//! 1. A worker thread reports an [`Event`](event::Event) with its times.
//! 2. Consecutive events of the same instants are counted once, as `PendingCounts`, and added to
//!    every sum that they belong to: the window, a subwindow, a second, a quarter of a second
//!    (`IntervalSum`). What only the window keeps is added to it event by event.
//! 3. At the end of the run all that was kept of the window is a
//!    [`Tally`](crate::result::tally::Tally): counts and histograms, no rates. The tallies of
//!    several drivers add up to the one that a single driver would have had.
//! 4. [`summarize`](crate::result::summarize::summarize) computes rates, shares and percentiles
//!    from a tally: the [`Summary`](crate::Summary), which is written, read and compared.
//!
//! Response times stay a `CensoredHistogram` up to the last stage: requests without a response
//! are kept in it as lower bounds.

pub(crate) mod event;
mod failed_checks;
pub(crate) mod failures;
mod figures;
mod file;
mod files;
pub(crate) mod fold;
mod groups;
pub(crate) mod join;
mod requests;
mod saved;
pub(crate) mod seconds;
mod subwindows;
mod sum;
