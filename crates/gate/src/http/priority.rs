//! The priority of a request: whether it passes to the service, or gives way to others.

use crate::connection::exchange::{Activity, Exchange};
use crate::http::pages::ErrorPage;
use crate::http::proxy::Proxy;
use crate::http::sessions::Visit;
use crate::passage;
use tidegate_control::Priority;

/// Counts a request that is for the service, and decides whether it passes.
///
/// # Errors
/// It gives way: the page.
pub fn judge(
    proxy: &Proxy,
    exchange: &Exchange,
    priority: Priority,
    visit: Option<&Visit>,
) -> Result<(), ErrorPage> {
    exchange.route(|route| route.asked.add(1));
    let session = match visit.and_then(Visit::session) {
        Some(session) => Some(session.id()),
        None => proxy.session.id(),
    };
    let number = session.map_or_else(|| proxy.routes.turn(), |id| passage::number_of(&id));
    let shared = &proxy.context.shared;
    // A request without a body counts as one in flight from when its head was read.
    let itself = u32::from(exchange.activity() == Activity::Waiting);
    let in_flight = || shared.requests_in_flight().saturating_sub(itself);
    if shared.passage.admits(priority, number, in_flight) {
        return Ok(());
    }
    exchange.route(|route| route.refused.add(1));
    exchange.log().inspect(|log| log.gave_way());
    Err(ErrorPage::GivesWay)
}
