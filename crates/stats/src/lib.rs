//! Histograms, intervals and knee finding: pure.
