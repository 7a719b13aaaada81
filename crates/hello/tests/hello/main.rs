//! The reader of ClientHellos against captured ones, properties, and rustls.

mod captured;
mod forms;
mod negotiate;
mod properties;
mod rustls_choice;
mod rustls_resume;
mod support;
