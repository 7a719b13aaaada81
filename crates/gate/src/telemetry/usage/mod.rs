//! How much CPU time the gate and its upstream may use, and how much they use: what the
//! controller's reading needs of the host. `tidegate_host` reads the kernel; here is only
//! what concerns the gate, its upstream, and the capacity of both together.

pub mod load;
mod measured;
mod meter;
mod note;
mod orca_load;
#[cfg(test)]
mod tests;
mod upstream;
mod used;

pub use meter::UsageMeter;
pub use note::Note;
pub use orca_load::addend as orca_addend;
pub use used::Used;
