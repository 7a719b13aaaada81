//! Where a site is reached, which has to be known before it listens.

use std::net::SocketAddr;

use tidegate_lab::free_address;

use crate::exit::bad_input;

/// The address with its port, where any free one was asked for: a card processor is told before
/// the site listens.
pub(super) fn fixed(listen: SocketAddr) -> anyhow::Result<SocketAddr> {
    let port = if listen.port() == 0 { free_address()?.port() } else { listen.port() };
    Ok(SocketAddr::new(listen.ip(), port))
}

/// The URL under which customers reach a site that listens there: the one that was given, or that
/// of the address. `why` stands in front of the flag that needs it.
pub(super) fn public_url(
    given: Option<&str>,
    scheme: &str,
    listen: SocketAddr,
    why: &str,
) -> anyhow::Result<String> {
    match given {
        Some(url) => Ok(url.to_owned()),
        None if listen.ip().is_unspecified() => Err(bad_input(format!(
            "{why}--listen {listen}: say by --public-url under which URL customers reach the \
             site; they come back there from the card form"
        ))),
        None => Ok(format!("{scheme}://{listen}")),
    }
}
