//! What the services are asked and what they answer. Amounts are whole cents, points in time
//! seconds since 1970.

use crate::message::Shape::{Bytes, List, Number, Numbers, OneOf, Text};
use crate::message::messages;

/// Largest number of a customer, an item or an order.
pub const MOST: i64 = 1 << 53;
/// Most pieces of an item in a line.
const PIECES: i64 = 1000;
/// Highest price, and how much of it an order may come to at most.
const PRICE: i64 = 10_000_000;
/// Highest sum of an order.
pub const TOTAL: i64 = PRICE * PIECES * 50;

/// How a business pays.
pub const METHODS: &[&str] = &["invoice", "purchase-order", "credit-card"];
/// Subjects of items.
pub const SUBJECTS: &[&str] =
    &["paper", "pens", "folders", "furniture", "lamps", "cables", "tools", "packaging"];
/// States of an order.
const STATES: &[&str] = &["received", "accepted", "packed", "shipped", "declined"];

messages! {
    /// Request of the service.
    NewCustomer {
        name: String = Text(60), "Name of the business.";
        street: String = Text(60), "Street and number.";
        city: String = Text(40), "City.";
        postcode: String = Text(10), "Postcode.";
        country: String = Text(40), "Country.";
        payment_method: String = OneOf(METHODS), "How it pays.";
        payment_reference: String = Text(40), "What is written on its bills.";
    }
    /// Answer of the service.
    NewCustomerAnswer {
        customer: i64 = Number(1, MOST), "Its number.";
        token: String = Text(64), "What it shows to be known; it is told once.";
    }
    /// Request of the service.
    ChangePaymentMethod {
        payment_method: String = OneOf(METHODS), "How the business pays from now on.";
        payment_reference: String = Text(40), "What is written on its bills.";
    }
    /// Answer of the service.
    ChangePaymentMethodAnswer {
        customer: i64 = Number(1, MOST), "Number of the business.";
        payment_method: String = OneOf(METHODS), "How it pays.";
        changed: i64 = Number(0, MOST), "When that was changed.";
    }
    /// A line of an order.
    OrderLine {
        item: i64 = Number(1, MOST), "Number of the item.";
        quantity: i64 = Number(1, PIECES), "Pieces of it.";
    }
    /// Request of the service.
    CreateOrder {
        reference: String = Text(40), "The business's own name of the order: it orders once.";
        lines: Vec<OrderLine> = List(&OrderLine::RECORD), "What is ordered.";
    }
    /// Answer of the service.
    CreateOrderAnswer {
        order: i64 = Number(1, MOST), "Number of the order.";
        state: String = OneOf(STATES), "How far it has come.";
        total: i64 = Number(1, TOTAL), "What it costs.";
    }
    /// Request of the service.
    OrderStatus {
        order: i64 = Number(0, MOST), "Number of the order, or 0 for the last one.";
    }
    /// A line of an order with its price.
    StatusLine {
        item: i64 = Number(1, MOST), "Number of the item.";
        name: String = Text(80), "Its name.";
        quantity: i64 = Number(1, PIECES), "Pieces of it.";
        price: i64 = Number(1, PRICE), "What one cost.";
    }
    /// Answer of the service.
    OrderStatusAnswer {
        order: i64 = Number(1, MOST), "Number of the order.";
        reference: String = Text(40), "The business's own name of it.";
        state: String = OneOf(STATES), "How far it has come.";
        created: i64 = Number(0, MOST), "When it was placed.";
        total: i64 = Number(1, TOTAL), "What it costs.";
        tracking: String = Text(80), "The carrier's name of the shipment, or -.";
        lines: Vec<StatusLine> = List(&StatusLine::RECORD), "What was ordered.";
    }
    /// Request of the service.
    NewProducts {
        subject: String = OneOf(SUBJECTS), "Which items.";
        most: i64 = Number(1, 50), "How many at most.";
    }
    /// An item in a list.
    NewProduct {
        item: i64 = Number(1, MOST), "Number of the item.";
        name: String = Text(80), "Its name.";
        supplier: i64 = Number(1, MOST), "Who supplies it.";
        price: i64 = Number(1, PRICE), "What one costs.";
        published: i64 = Number(0, MOST), "When it was new, or last changed.";
    }
    /// Answer of the service.
    NewProductsAnswer {
        products: Vec<NewProduct> = List(&NewProduct::RECORD), "The items, the newest first.";
    }
    /// Request of the service.
    ProductDetail {
        items: Vec<i64> = Numbers(1, MOST), "Numbers of the items.";
    }
    /// All about an item.
    Product {
        item: i64 = Number(1, MOST), "Number of the item.";
        name: String = Text(80), "Its name.";
        subject: String = OneOf(SUBJECTS), "What it is among.";
        description: String = Text(1000), "What it is.";
        supplier: i64 = Number(1, MOST), "Who supplies it.";
        price: i64 = Number(1, PRICE), "What one costs.";
        stock: i64 = Number(0, MOST), "Pieces in stock.";
        picture: String = Bytes, "Its picture, image/svg+xml.";
    }
    /// Answer of the service.
    ProductDetailAnswer {
        products: Vec<Product> = List(&Product::RECORD), "The items, in the order of the request.";
    }
    /// Request of the service.
    ChangeItem {
        item: i64 = Number(1, MOST), "Number of the item.";
        price: i64 = Number(1, PRICE), "What one costs from now on.";
        picture: i64 = Number(0, 23), "Number of its picture.";
    }
    /// Answer of the service.
    ChangeItemAnswer {
        item: i64 = Number(1, MOST), "Number of the item.";
        price: i64 = Number(1, PRICE), "What one costs.";
        changed: i64 = Number(0, MOST), "When that was changed.";
    }
}
