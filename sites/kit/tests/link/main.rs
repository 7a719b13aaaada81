//! Links between tiers over real sockets: every way to secure one, and everything that can
//! be wrong with it.

#[allow(dead_code, reason = "the brokerage's tests use another part")]
#[path = "../common/relay.rs"]
mod relay;

mod calls;
mod files;
mod peers;
mod protection;
mod world;
