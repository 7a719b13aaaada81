//! A core and its customers, for tests of what is in this folder.

use crate::admission::sessions::{Rules, Sessions};
use crate::admission::tickets::Keyring;
use crate::config::Config;
use crate::context::CoreContext;
use crate::generation::Generation;
use crate::listen::pipeline::Pipeline;
use crate::listen::task::Pending;
use crate::places::PlaceKind;
use crate::shared::{Addresses, Shared};
use crate::socket::{Arrival, Scheme};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// A core that admits everybody.
pub struct TestCore {
    /// Its pipeline, with an empty queue.
    pub pipeline: Rc<Pipeline>,
    /// Its context.
    pub context: Rc<CoreContext>,
    listener: TcpListener,
}

impl TestCore {
    fn new() -> Self {
        let text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n[admission]\npolicy = \"off\"\n";
        let config = Config::from_toml(text, "t").unwrap();
        let hour = Duration::from_secs(3600);
        let keyring = Arc::new(Keyring::new(hour, hour, 0).unwrap());
        let generation = Generation::new(config.clone(), keyring).unwrap();
        let addresses =
            Addresses { tls: vec![SocketAddr::from((Ipv4Addr::LOCALHOST, 9))], clear: None };
        let sessions = Sessions::new(Rules::of(&config.admission));
        let context = CoreContext::new(Arc::new(Shared::new(config, addresses, vec![0])), 0);
        let pipeline = Pipeline::new(&context, &generation, sessions);
        Self { pipeline, context, listener: TcpListener::bind("127.0.0.1:0").unwrap() }
    }

    /// A customer's connection with a place, and their end of it.
    pub fn pending(&self, kind: PlaceKind) -> (Pending, TcpStream) {
        let customer = TcpStream::connect(self.listener.local_addr().unwrap()).unwrap();
        let (socket, peer) = self.listener.accept().unwrap();
        socket.set_nonblocking(true).unwrap();
        let arrival = Arrival { socket, peer, scheme: Scheme::Http, line: None };
        let prefix = self.context.places.prefix_of(peer.ip());
        let place = self.pipeline.dispatcher.take_place(prefix, kind).unwrap();
        let (first_flight, queued) = (b"GET".to_vec(), Duration::ZERO);
        (Pending { arrival, first_flight, place, queued }, customer)
    }
}

/// Runs a test on the runtime of a core.
pub fn on_core(test: impl AsyncFnOnce(TestCore)) {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build_local(tokio::runtime::LocalOptions::default())
        .unwrap();
    runtime.block_on(async { test(TestCore::new()).await });
}
