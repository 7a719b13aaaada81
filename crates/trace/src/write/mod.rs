//! Recording: the lines of connections, a buffer per thread, and the thread that writes the
//! file and samples resources.

mod calibration;
mod clocks;
mod file;
pub mod line;
#[cfg(test)]
mod off;
mod sampler;
pub mod thread;
pub mod tracing;
