//! The parts of a core, for tests of what is in this folder.

use crate::admission::decide::Decider;
use crate::admission::sessions::{Rules, Sessions};
use crate::config::Config;
use crate::context::CoreContext;
use crate::http::requests::HttpServer;
use crate::listen::dispatcher::Dispatcher;
use crate::listen::task::{Pending, Tasks};
use crate::places::PlaceKind;
use crate::shared::{Addresses, Shared};
use crate::socket::{Arrival, Scheme};
use crate::tls::configs::ServerConfigs;
use crate::upstream::connector::Connector;
use crate::upstream::routes::Routes;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;

/// The parts of a core that admits everybody.
pub struct Parts {
    /// Decides.
    pub decider: Rc<Decider>,
    /// With an empty queue.
    pub dispatcher: Rc<Dispatcher>,
    /// The tasks of connections.
    pub tasks: Rc<Tasks>,
    listener: TcpListener,
}

impl Parts {
    fn new() -> Self {
        let text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n[admission]\npolicy = \"off\"\n";
        let config = Config::from_toml(text, "t").unwrap();
        let tls = Arc::new(ServerConfigs::new(&config, &config.identity().unwrap()).unwrap());
        let connector = Connector::new(&config, &tls.provider).unwrap();
        let addresses = Addresses { tls: SocketAddr::from((Ipv4Addr::LOCALHOST, 9)), clear: None };
        let sessions = Sessions::new(Rules::of(&config.admission));
        let context = CoreContext::new(Arc::new(Shared::new(config, addresses, vec![0])), 0);
        let decider = Rc::new(Decider {
            context: context.clone(),
            offer: tls.offer.clone(),
            keyring: tls.keyring.clone(),
            sessions,
            seen: Default::default(),
        });
        let dispatcher = Dispatcher::new(decider.clone());
        let http = HttpServer::new(context.clone(), Routes::new(&context, connector));
        let tasks = Rc::new(Tasks { context, tls, http, wake: dispatcher.wake.clone() });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        Self { decider, dispatcher, tasks, listener }
    }

    /// A customer's connection with a place, and their end of it.
    pub fn pending(&self, kind: PlaceKind) -> (Pending, TcpStream) {
        let customer = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        let (socket, peer) = self.listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let arrival = Arrival { socket, peer, scheme: Scheme::Http, line: None };
        let prefix = self.tasks.context.places.prefix_of(peer.ip());
        let place = self.dispatcher.take_place(prefix, kind).unwrap();
        (Pending { arrival, first_flight: b"GET".to_vec(), place }, customer)
    }
}

/// Runs a test on the runtime of a core.
pub fn on_core(test: impl AsyncFnOnce(Parts)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async { test(Parts::new()).await });
}
