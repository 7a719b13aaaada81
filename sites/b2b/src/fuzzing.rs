//! What the network sends to the services, for the fuzz target: envelopes and JSON.

use serde_json::Value;

use crate::message::json;
use crate::message::{Message, check};
use crate::services::{
    ChangeItem, ChangePaymentMethod, CreateOrder, NewCustomer, NewProducts, OrderStatus,
    ProductDetail, Service,
};
use crate::web::soap;

/// Reads an envelope as the services do. Gives the name of the service and its request as JSON; a
/// refusal as the envelope of its fault.
///
/// # Errors
/// The fault.
pub fn envelope(bytes: &[u8]) -> Result<(&'static str, Value), String> {
    let called = soap::call(bytes).map(|(service, message)| (service.name(), message));
    called.map_err(|fault| fault.envelope())
}

/// Reads the request of the nth service from JSON, and gives it as JSON again.
///
/// # Errors
/// The problem as JSON.
pub fn request(service: usize, bytes: &[u8]) -> Result<Value, String> {
    fn read<M: Message + serde::de::DeserializeOwned>(bytes: &[u8]) -> Result<Value, String> {
        let message: M = json::read(bytes).map_err(|problem| problem.json())?;
        let value = serde_json::to_value(&message).expect("what was read can be written");
        assert!(check(&M::RECORD, &value).is_ok(), "what was read keeps to its limits");
        Ok(value)
    }
    match Service::ALL[service % Service::ALL.len()] {
        Service::NewCustomer => read::<NewCustomer>(bytes),
        Service::ChangePaymentMethod => read::<ChangePaymentMethod>(bytes),
        Service::CreateOrder => read::<CreateOrder>(bytes),
        Service::OrderStatus => read::<OrderStatus>(bytes),
        Service::NewProducts => read::<NewProducts>(bytes),
        Service::ProductDetail => read::<ProductDetail>(bytes),
        Service::ChangeItem => read::<ChangeItem>(bytes),
    }
}

/// The place of a service of this name.
pub fn place(name: &str) -> usize {
    let found = Service::ALL.iter().position(|service| service.name() == name);
    found.expect("a service that was called")
}
