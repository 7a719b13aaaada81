//! The random number generator.

/// The generator of every random choice. It is named here so that a seed gives the same
/// sessions on every machine and in every version.
pub type Rng = rand::rngs::Xoshiro256PlusPlus;
