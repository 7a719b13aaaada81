//! Exports for viewers of traces.
