//! What the services do in the database. Every statement is a constant; what businesses send is
//! only ever bound to a placeholder.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use tidegate_sitekit::database::{self, Database};
use tidegate_sitekit::session::{SessionKey, SessionToken};
use tidegate_sitekit::web::picture;
use tidegate_sitekit::{Problem, Result, locking, record, values, when};

use crate::fulfil::{Fulfilment, OrderState};
use crate::services::{
    ChangeItem, ChangeItemAnswer, ChangePaymentMethod, ChangePaymentMethodAnswer, CreateOrder,
    CreateOrderAnswer, NewCustomer, NewCustomerAnswer, NewProduct, NewProducts, NewProductsAnswer,
    OrderStatus, OrderStatusAnswer, Product, ProductDetail, ProductDetailAnswer, StatusLine,
};

/// An order that is placed already.
struct Placed {
    order: i64,
    state: OrderState,
    total: i64,
    content: String,
}

/// An order without its lines.
struct Head {
    order: i64,
    reference: String,
    state: OrderState,
    created: i64,
    total: i64,
    tracking: String,
}

record!(Placed { order, state, total, content });
record!(Head { order, reference, state, created, total, tracking });
record!(NewProduct { item, name, supplier, price, published });
record!(Product { item, name, subject, description, supplier, price, stock, picture });
record!(StatusLine { item, name, quantity, price });

/// The customer that a token is of.
pub async fn customer(database: &Database, token: &str) -> Result<Option<i64>> {
    let key = SessionKey::of_text(token);
    database.first("SELECT id FROM customers WHERE token = $1", &values![key.as_str()]).await
}

/// Whether there is a customer of this number.
pub async fn is_customer(database: &Database, number: i64) -> Result<bool> {
    let sql = "SELECT id FROM customers WHERE id = $1";
    Ok(database.first::<i64>(sql, &values![number]).await?.is_some())
}

/// Registers a business.
pub async fn new_customer(database: &Database, new: &NewCustomer) -> Result<NewCustomerAnswer> {
    let token = SessionToken::random()?;
    let sql = "INSERT INTO customers (name, street, city, postcode, country, payment_method,
                   payment_reference, token, changed)
               VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) RETURNING id";
    let NewCustomer { name, street, city, postcode, country, payment_method, payment_reference } =
        new;
    let key = SessionKey::of_text(token.as_str());
    let values = values![
        name,
        street,
        city,
        postcode,
        country,
        payment_method,
        payment_reference,
        key.as_str(),
        when::now()
    ];
    let customer = database.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    Ok(NewCustomerAnswer { customer, token: token.as_str().to_owned() })
}

/// Changes how a business pays.
pub async fn change_payment_method(
    database: &Database,
    customer: i64,
    new: ChangePaymentMethod,
) -> Result<ChangePaymentMethodAnswer> {
    let now = when::now();
    let sql = "UPDATE customers SET payment_method = $2, payment_reference = $3, changed = $4
               WHERE id = $1";
    let values = values![customer, new.payment_method, new.payment_reference, now];
    database.run(sql, &values).await?;
    let payment_method = new.payment_method;
    Ok(ChangePaymentMethodAnswer { customer, payment_method, changed: now })
}

/// Places an order: it is stored with its first step in one transaction that is on the disk, and
/// then validated while the business waits. The same request again has the same order.
///
/// # Errors
/// An item is unknown, or the reference names another order: problems, and nothing is changed.
pub async fn create_order(
    fulfilment: &Fulfilment,
    customer: i64,
    new: &CreateOrder,
) -> Result<CreateOrderAnswer> {
    let each = new.lines.iter().map(|line| format!("{}x{}", line.quantity, line.item));
    let content = each.collect::<Vec<_>>().join(" ");
    let database = fulfilment.database();
    let mut transaction = database.begin_on_disk().await?;
    // Of two requests at once the second finds the order of the first.
    let lock = locking!("SELECT id FROM customers WHERE id = $1");
    transaction.lock::<i64>(lock, &values![customer]).await?;
    let sql = "SELECT id, state, total, content FROM orders WHERE customer = $1 AND reference = $2";
    let known = transaction.first(sql, &values![customer, new.reference]).await?;
    if let Some(Placed { order, state, total, content: known }) = known {
        transaction.rollback().await?;
        if known != content {
            let text = "It names an order of other lines; name this one differently.";
            return Err(Problem::coded(409, "reference_used", text).at("reference").into());
        }
        return Ok(CreateOrderAnswer { order, state: state.name().to_owned(), total });
    }
    let mut prices = Vec::with_capacity(new.lines.len());
    for (at, line) in new.lines.iter().enumerate() {
        let sql = "SELECT price FROM items WHERE id = $1";
        let Some(price) = transaction.first::<i64>(sql, &values![line.item]).await? else {
            transaction.rollback().await?;
            return Err(no_item(line.item).at(&format!("lines[{at}].item")).into());
        };
        prices.push(price);
    }
    let each = new.lines.iter().zip(&prices);
    let total: i64 = each.clone().map(|(line, price)| line.quantity * price).sum();
    let sql = "INSERT INTO orders (customer, reference, content, state, total, created, tracking)
               VALUES ($1, $2, $3, $4, $5, $6, '') RETURNING id";
    let received = OrderState::Received;
    let values = values![customer, new.reference, content, received, total, when::now()];
    let order: i64 = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    for ((line, price), number) in each.zip(1_i64..) {
        let sql = "INSERT INTO order_lines (order_id, number, item, quantity, price)
                   VALUES ($1, $2, $3, $4, $5)";
        let values = values![order, number, line.item, line.quantity, *price];
        transaction.run(sql, &values).await?;
    }
    fulfilment.begin(&mut transaction, order).await?;
    transaction.commit().await?;
    // It is stored: whatever fails now is tried again beside the requests.
    let state = fulfilment.validate(order).await.unwrap_or(received);
    Ok(CreateOrderAnswer { order, state: state.name().to_owned(), total })
}

/// How far an order has come.
///
/// # Errors
/// The business has no such order.
pub async fn order_status(
    database: &Database,
    customer: i64,
    asked: &OrderStatus,
) -> Result<OrderStatusAnswer> {
    let sql = "SELECT id, reference, state, created, total, tracking FROM orders
               WHERE customer = $1 AND (id = $2 OR $2 = 0) ORDER BY id DESC LIMIT 1";
    let found = database.first(sql, &values![customer, asked.order]).await?;
    let Head { order, reference, state, created, total, tracking } = found.ok_or_else(|| {
        let text = "The business has no such order.";
        Problem::coded(404, "order_unknown", text).at("order")
    })?;
    let sql = "SELECT i.id, i.name, l.quantity, l.price FROM order_lines l
               JOIN items i ON i.id = l.item WHERE l.order_id = $1 ORDER BY l.number";
    Ok(OrderStatusAnswer {
        order,
        reference,
        state: state.name().to_owned(),
        created,
        total,
        tracking: if tracking.is_empty() { "-".to_owned() } else { tracking },
        lines: database.all(sql, &values![order]).await?,
    })
}

/// The newest items of a subject.
pub async fn new_products(database: &Database, asked: &NewProducts) -> Result<NewProductsAnswer> {
    let sql = "SELECT id, name, supplier, price, published FROM items WHERE subject = $1
               ORDER BY published DESC, id LIMIT $2";
    let products = database.all(sql, &values![asked.subject, asked.most]).await?;
    Ok(NewProductsAnswer { products })
}

/// All about some items. Their pictures are drawn for each answer.
///
/// # Errors
/// One of them is unknown.
pub async fn product_detail(
    database: &Database,
    asked: &ProductDetail,
) -> Result<ProductDetailAnswer> {
    let mut products = Vec::with_capacity(asked.items.len());
    for (at, item) in asked.items.iter().enumerate() {
        let sql = "SELECT id, name, subject, description, supplier, price, stock,
                          CAST(picture AS TEXT) FROM items WHERE id = $1";
        let found: Option<Product> = database.first(sql, &values![*item]).await?;
        let mut product = found.ok_or_else(|| no_item(*item).at(&format!("items[{at}]")))?;
        let drawn = picture::by_name(&[GLYPH], &format!("1-{}.svg", product.picture));
        product.picture = STANDARD.encode(drawn.unwrap_or_default());
        products.push(product);
    }
    Ok(ProductDetailAnswer { products })
}

/// A box, as lines in a square of 64.
const GLYPH: &str = "M8 20 32 8 56 20V46L32 58 8 46zM8 20 32 32 56 20M32 32V58M20 14 44 26V34";

/// Changes an item of the business that supplies it.
///
/// # Errors
/// There is no such item, or another business supplies it.
pub async fn change_item(
    database: &Database,
    customer: i64,
    new: &ChangeItem,
) -> Result<ChangeItemAnswer> {
    let now = when::now();
    let sql = "UPDATE items SET price = $3, picture = $4, published = $5
               WHERE id = $1 AND supplier = $2 RETURNING id";
    let values = values![new.item, customer, new.price, new.picture, now];
    if database.first::<i64>(sql, &values).await?.is_some() {
        return Ok(ChangeItemAnswer { item: new.item, price: new.price, changed: now });
    }
    let sql = "SELECT supplier FROM items WHERE id = $1";
    Err(match database.first::<i64>(sql, &values![new.item]).await? {
        Some(_) => {
            let text = "Another business supplies this item; only that one may change it.";
            Problem::coded(403, "item_of_another", text).at("item")
        }
        None => no_item(new.item).at("item"),
    }
    .into())
}

fn no_item(item: i64) -> Problem {
    Problem::coded(404, "item_unknown", format!("There is no item {item}."))
}
