//! Recording: the lines of connections, a buffer per thread, and the thread that writes the
//! file and samples resources.

mod calibration;
mod file;
pub mod line;
mod sampler;
pub mod thread;
pub mod tracing;
