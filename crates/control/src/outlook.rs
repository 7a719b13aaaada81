//! What a controller expects of the service: what its gate tells the others of a fleet.

/// The work behind the gate that a controller expects, as shares of the whole service: of its
/// CPU time or, where response times limit it, of the requests that it answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Outlook {
    /// What active sessions will use in the next interval, 0 and more.
    pub committed: f64,
    /// What one new session per second uses until its first response.
    pub session: f64,
    /// What one request per second uses.
    pub request: f64,
    /// New sessions decided on since the start.
    pub offered: u64,
    /// Whether response times show a standing queue; `None`: too little is known.
    pub queue: Option<bool>,
}
