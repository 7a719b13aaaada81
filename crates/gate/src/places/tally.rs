//! Counts per slot, and the slot with the highest count. Every operation takes constant
//! time: slots with equal counts are linked in a list, and a count changes by one, so the
//! highest does too.

/// No slot.
const NONE: u32 = u32::MAX;

/// Counts per slot. Slots are small numbers, chosen by the caller.
#[derive(Debug, Default)]
pub struct Tally {
    slots: Vec<Slot>,
    /// The first slot with each count; the count is the index.
    first: Vec<u32>,
    /// The highest count.
    highest: usize,
    sum: usize,
}

#[derive(Clone, Copy, Debug)]
struct Slot {
    count: u32,
    /// The slots before and after it with the same count, unless that is 0.
    before: u32,
    after: u32,
}

impl Tally {
    /// The count of a slot.
    pub fn count(&self, slot: u32) -> usize {
        self.slots.get(slot as usize).map_or(0, |slot| slot.count as usize)
    }

    /// The sum of all counts.
    pub fn sum(&self) -> usize {
        self.sum
    }

    /// A slot with the highest count; `None` if all are 0.
    pub fn largest(&self) -> Option<u32> {
        self.first.get(self.highest).copied().filter(|slot| *slot != NONE)
    }

    /// Adds one.
    pub fn add(&mut self, slot: u32) {
        if self.slots.len() <= slot as usize {
            self.slots.resize(slot as usize + 1, Slot { count: 0, before: NONE, after: NONE });
        }
        self.unlink(slot);
        self.slots[slot as usize].count += 1;
        self.link(slot);
        self.highest = self.highest.max(self.count(slot));
        self.sum += 1;
    }

    /// Subtracts one; nothing happens at 0.
    pub fn sub(&mut self, slot: u32) {
        let count = self.count(slot);
        if count == 0 {
            return;
        }
        self.unlink(slot);
        self.slots[slot as usize].count -= 1;
        self.link(slot);
        if self.first[self.highest] == NONE {
            // This slot was the last with that count, and has one less now.
            self.highest -= 1;
        }
        self.sum -= 1;
    }

    fn unlink(&mut self, slot: u32) {
        let Slot { count, before, after } = self.slots[slot as usize];
        if count == 0 {
            return;
        }
        match before {
            NONE => self.first[count as usize] = after,
            before => self.slots[before as usize].after = after,
        }
        if after != NONE {
            self.slots[after as usize].before = before;
        }
    }

    fn link(&mut self, slot: u32) {
        let count = self.slots[slot as usize].count as usize;
        if count == 0 {
            return;
        }
        if self.first.len() <= count {
            self.first.resize(count + 1, NONE);
        }
        let after = std::mem::replace(&mut self.first[count], slot);
        self.slots[slot as usize] = Slot { count: count as u32, before: NONE, after };
        if after != NONE {
            self.slots[after as usize].before = slot;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn without_counts_no_slot_is_the_heaviest() {
        let mut tally = Tally::default();
        assert_eq!(tally.largest(), None);
        tally.add(3);
        assert_eq!((tally.largest(), tally.count(3), tally.sum()), (Some(3), 1, 1));
        tally.sub(3);
        tally.sub(3);
        assert_eq!((tally.largest(), tally.count(3), tally.sum()), (None, 0, 0));
    }

    proptest! {
        #[test]
        fn the_heaviest_has_the_highest_count(steps in proptest::collection::vec((0u32..9, any::<bool>()), 0..300)) {
            let (mut tally, mut counts) = (Tally::default(), [0usize; 9]);
            for (slot, adds) in steps {
                let count = &mut counts[slot as usize];
                if adds {
                    tally.add(slot);
                    *count += 1;
                } else {
                    tally.sub(slot);
                    *count = count.saturating_sub(1);
                }
                let highest = counts.iter().copied().max().filter(|count| *count > 0);
                prop_assert_eq!(tally.largest().map(|slot| tally.count(slot)), highest);
                prop_assert_eq!(tally.sum(), counts.iter().sum::<usize>());
                for (slot, count) in counts.iter().enumerate() {
                    prop_assert_eq!(tally.count(slot as u32), *count);
                }
            }
        }
    }
}
