//! The admission rule of 2007.
