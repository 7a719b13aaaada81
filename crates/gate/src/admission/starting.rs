//! Work that was admitted and has not begun.

use crate::admission::wake::Wake;
use crate::context::{CoreContext, Counted};
use std::rc::Rc;
use std::time::Duration;

/// Counts what was admitted as in flight: from the verdict, so that the next decision
/// includes it, until its task has taken it up. What follows waits for the customer or counts
/// as a request with the upstream, and another session may be admitted.
pub struct Starting {
    context: Rc<CoreContext>,
    wake: Rc<Wake>,
    /// Processor nanoseconds that it was charged.
    price_ns: u64,
    _counted: Counted,
}

impl Starting {
    /// Admitted now at this price.
    pub fn new(context: &Rc<CoreContext>, wake: &Rc<Wake>, price: Duration) -> Self {
        let price_ns = price.as_nanos() as u64;
        let counted = context.count(|counters| &counters.starting);
        context.counters.starting_ns.add(price_ns);
        Self { context: context.clone(), wake: wake.clone(), price_ns, _counted: counted }
    }
}

impl Drop for Starting {
    fn drop(&mut self) {
        self.context.counters.starting_ns.sub(self.price_ns);
        // The dispatcher decides after this turn, when it is no longer counted.
        self.wake.decide_soon();
    }
}
