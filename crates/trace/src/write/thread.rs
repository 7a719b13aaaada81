//! The buffer of one thread. It has a bound: when it is full it goes to the thread that
//! writes, and if that has no room, its records are dropped and counted.

use super::tracing::Shared;
use crate::format::record::{Line, Record, Step};
use crate::format::{BLOCK_HEAD, number};
use std::cell::{Cell, RefCell};
use std::marker::PhantomData;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::mpsc::TrySendError;
use tidegate_host::clock::monotonic_ns;

/// Bytes of a buffer.
pub const BUFFER: usize = 64 << 10;
/// Most bytes of a line's record.
const LARGEST_LINE: usize = 512;
/// How long a record stays in a buffer at most, if another one follows.
const LONGEST_NS: u64 = 1_000_000_000;

thread_local! {
    static ATTACHED: Cell<bool> = const { Cell::new(false) };
    static BUFFER_OF_THREAD: RefCell<Option<Buffer>> = const { RefCell::new(None) };
}

struct Buffer {
    shared: Arc<Shared>,
    thread: u16,
    connections: u64,
    /// A block with room for its head.
    block: Vec<u8>,
    base_ns: u64,
    records: u64,
    dropped: u64,
    steps: u64,
    readings: u64,
}

/// This thread traces as long as it lives. It stays on its thread.
#[must_use = "the thread ceases to trace when it is dropped"]
pub struct Attached(PhantomData<*const ()>);

/// Whether this thread traces.
#[inline]
pub fn is_attached() -> bool {
    ATTACHED.get()
}

/// Begins to trace on this thread.
pub fn attach(shared: &Arc<Shared>) -> Attached {
    let thread = shared.threads.fetch_add(1, Relaxed);
    let buffer = Buffer {
        shared: shared.clone(),
        thread,
        connections: 0,
        block: shared.new_block(),
        base_ns: 0,
        records: 0,
        dropped: 0,
        steps: 0,
        readings: 0,
    };
    BUFFER_OF_THREAD.replace(Some(buffer));
    ATTACHED.set(true);
    Attached(PhantomData)
}

impl Drop for Attached {
    fn drop(&mut self) {
        ATTACHED.set(false);
        // The storage of a thread that ends may be gone.
        let buffer = BUFFER_OF_THREAD.try_with(|buffer| buffer.borrow_mut().take());
        if let Ok(Some(mut buffer)) = buffer {
            buffer.send(true);
        }
    }
}

/// The number of the next connection on this thread, and whether its CPU time is measured.
pub fn next_connection() -> Option<(u64, bool)> {
    BUFFER_OF_THREAD.with_borrow_mut(|buffer| {
        let buffer = buffer.as_mut()?;
        if !buffer.shared.is_on() {
            ATTACHED.set(false);
            return None;
        }
        buffer.connections += 1;
        let every = u64::from(buffer.shared.cpu_every);
        Some((buffer.connections, every > 0 && buffer.connections % every == 1 % every))
    })
}

/// Counts a reading of the thread's CPU clock, for the cost of tracing.
pub fn count_reading() {
    let _ = BUFFER_OF_THREAD.try_with(|buffer| {
        if let Some(buffer) = buffer.borrow_mut().as_mut() {
            buffer.readings += 1;
        }
    });
}

/// Adds the record of a line.
pub fn record_line(line: &Line<&[Step]>) {
    // A line may be dropped with its thread, after the buffer.
    let _ = BUFFER_OF_THREAD.try_with(|buffer| {
        if let Some(buffer) = buffer.borrow_mut().as_mut() {
            buffer.add(line);
        }
    });
}

impl Buffer {
    fn add(&mut self, line: &Line<&[Step]>) {
        let full = self.block.len() + LARGEST_LINE > BUFFER;
        let end_ns = line.start_ns.saturating_add(line.took_ns());
        if full || (self.records > 0 && end_ns.saturating_sub(self.base_ns) > LONGEST_NS) {
            self.send(false);
        }
        if self.block.len() == BLOCK_HEAD {
            // Later records of the block end later, but may have begun before.
            self.base_ns = end_ns;
        }
        line.write(&mut self.block, self.base_ns);
        self.records += 1;
        self.steps += line.steps.len() as u64;
    }

    /// Sends the block to be written; the last one may wait.
    fn send(&mut self, last: bool) {
        if self.records == 0 && self.dropped == 0 {
            return;
        }
        let counts = &self.shared.counts;
        counts.steps.fetch_add(std::mem::take(&mut self.steps), Relaxed);
        counts.readings.fetch_add(std::mem::take(&mut self.readings), Relaxed);
        if self.dropped > 0 {
            if self.records == 0 {
                self.base_ns = monotonic_ns();
            }
            Record::Dropped(self.dropped).write(&mut self.block, self.base_ns);
        }
        fill_head(&mut self.block, self.thread, self.base_ns);
        let block = std::mem::replace(&mut self.block, self.shared.new_block());
        let records = std::mem::take(&mut self.records);
        let sent = match last {
            true => self.shared.send(block, records).map_err(|_| ()),
            false => self.shared.try_send(block, records).map_err(|error| match error {
                TrySendError::Full(block) | TrySendError::Disconnected(block) => {
                    self.shared.give_back(block.bytes);
                }
            }),
        };
        match sent {
            Ok(()) => self.dropped = 0,
            Err(()) => {
                self.dropped += records;
                counts.dropped.fetch_add(records, Relaxed);
            }
        }
    }
}

/// Fills in the head of a block.
pub fn fill_head(block: &mut [u8], thread: u16, base_ns: u64) {
    let length = (block.len() - BLOCK_HEAD) as u32;
    block[..4].copy_from_slice(&length.to_le_bytes());
    block[4..6].copy_from_slice(&thread.to_le_bytes());
    block[6..BLOCK_HEAD].copy_from_slice(&base_ns.to_le_bytes());
}

/// A block without records.
pub fn empty_block(capacity: usize) -> Vec<u8> {
    let mut block = Vec::with_capacity(capacity);
    block.resize(BLOCK_HEAD, 0);
    block
}

const _: () = {
    // The longest record fits: head, context and steps with both numbers.
    assert!(1 + 10 + 5 + 10 + 3 + 3 + 32 + 1 + 14 * 21 < LARGEST_LINE);
    // A number has at most ten bytes.
    let _ = number::write;
};
