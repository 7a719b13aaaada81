//! Who calls: a business is known by a token, or by the certificate of its connection.

use axum::http::header::AUTHORIZATION;
use axum::http::request::Parts;
use tidegate_sitekit::client_certificate::{ClientCertificate, Unusable};
use tidegate_sitekit::{Error, Problem};

use super::App;
use crate::services::Service;
use crate::store;

/// Longest token.
const LONGEST: usize = 128;
/// What the name in a business's certificate begins with; its number follows.
pub const NAME: &str = "business-";

/// The number of the calling business; 0 where the service asks for none.
///
/// # Errors
/// It is not known, or its certificate may not be used any more: a problem of status 401.
pub async fn of(app: &App, service: Service, request: &Parts) -> Result<i64, Error> {
    let certificate = request.extensions.get::<ClientCertificate>();
    let clients = app.clients.as_deref();
    if let Some(why) = certificate.zip(clients).and_then(|(it, clients)| it.unusable(clients)) {
        return Err(unusable(why));
    }
    if !service.is_for_customers() {
        return Ok(0);
    }
    if let Some(number) = certificate.and_then(|it| number(&it.dns_names())) {
        return match store::is_customer(&app.database, number).await? {
            true => Ok(number),
            false => Err(unknown("The certificate names a business that is no customer.")),
        };
    }
    let mut values = request.headers.get_all(AUTHORIZATION).iter();
    let (Some(value), None) = (values.next(), values.next()) else {
        return Err(unknown(
            "Send `Authorization: Bearer TOKEN` with the token of NewCustomer, or a certificate.",
        ));
    };
    let token = value.to_str().ok().and_then(|it| it.split_once(' '));
    let token = token.filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"));
    let token = token.map(|(_, token)| token.trim()).filter(|it| it.len() <= LONGEST);
    let known = match token {
        Some(token) => store::customer(&app.database, token).await?,
        None => None,
    };
    known.ok_or_else(|| unknown("No business has this token."))
}

fn unknown(text: &str) -> Error {
    Problem::coded(401, "caller_unknown", text).into()
}

fn unusable(why: Unusable) -> Error {
    let (code, text) = match why {
        Unusable::Expired => (
            "certificate_expired",
            "The certificate of this connection has expired. Connect with one that has been renewed.",
        ),
        Unusable::NotYetValid => (
            "certificate_not_yet_valid",
            "The certificate of this connection is not valid yet. Check the clock, or connect with another one.",
        ),
        Unusable::Revoked => (
            "certificate_revoked",
            "The certificate of this connection has been revoked. Connect with another one.",
        ),
        Unusable::Unknown => (
            "certificate_unknown",
            "The certificate of this connection is none of the authority of these services.",
        ),
    };
    Problem::coded(401, code, text).into()
}

/// The number in the name of a business.
fn number(names: &[String]) -> Option<i64> {
    let rest = names.iter().find_map(|name| name.strip_prefix(NAME))?;
    rest.split('.').next()?.parse().ok().filter(|number| *number > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_business_is_named_by_its_number() {
        let of =
            |names: &[&str]| number(&names.iter().map(|it| (*it).to_owned()).collect::<Vec<_>>());
        assert_eq!(of(&["localhost", "business-17"]), Some(17));
        assert_eq!(of(&["business-3.tidegate"]), Some(3));
        for names in [&["business-"][..], &["business-0"], &["business--1"], &["other-1"], &[]] {
            assert_eq!(of(names), None, "{names:?}");
        }
    }
}
