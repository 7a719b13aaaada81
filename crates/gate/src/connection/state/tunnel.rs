//! The state of a connection that has changed to a WebSocket, as the controller sees it: its
//! messages are what requests are elsewhere. Between them the customer thinks.

use super::ConnectionState;

impl ConnectionState {
    /// The tunnel is open: the customer begins to think.
    pub fn tunnel_opens(&self) {
        self.thinks_since.set(Some(self.counters.think_times.begins()));
    }

    /// A message begins: one of the customer, or one that the upstream sends unasked.
    pub fn tunnel_message(&self) {
        self.counters.tunnel_messages[self.class].add(1);
        self.stop_thinking();
    }

    /// The upstream has answered, or had nothing to answer.
    pub fn tunnel_answers(&self) {
        if self.thinks_since.get().is_none() {
            self.tunnel_opens();
        }
    }
}
