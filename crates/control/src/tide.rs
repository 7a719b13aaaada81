//! As many new sessions as the measured capacity carries to the end.
