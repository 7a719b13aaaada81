//! The client of a connection.

use crate::access_log::Opening;
use crate::connection::own_session::OwnSession;
use crate::places::Place;
use crate::socket::Scheme;
use crate::telemetry::labels::Class;
use std::net::SocketAddr;
use std::rc::Rc;

/// The client of a connection.
#[derive(Clone)]
pub struct Client {
    /// Its address.
    pub peer: SocketAddr,
    /// The protocol of the listener.
    pub scheme: Scheme,
    /// The class of the connection.
    pub class: Class,
    /// How the connection began.
    pub opening: Opening,
    /// The place of the connection.
    pub place: Rc<Place>,
    /// The session of the connection; none for a proxy's.
    pub session: Rc<OwnSession>,
}
