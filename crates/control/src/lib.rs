//! Cost model, budget and admission policies: pure; no clock, no I/O.
