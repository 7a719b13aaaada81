//! Why nobody new is admitted, in words: for the log, the events and the state of the gate.

use tidegate_control::waiting_room::Doors;

/// Why nobody new is admitted whatever the controller says, a clause; `None` where it decides.
pub fn shut(doors: Doors) -> Option<&'static str> {
    match doors {
        Doors::Open => None,
        Doors::Before => Some("the site has not opened: nobody is admitted yet"),
        Doors::Closed => Some("the service has closed the line: nobody new is admitted"),
        Doors::Maintenance => Some("the site is being maintained: nobody new is admitted"),
    }
}
