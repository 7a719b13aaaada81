//! Fills an empty database with zones, departments, sets, products, reviews and customers. The
//! same size and seed give the same population on every machine.

mod goods;
mod plan;

pub use plan::Plan;

use goods::{Goods, person};

use crate::catalogue::{DEPARTMENTS, set_name, slug};
use crate::schema::SCHEMA;
use crate::zones::ZONES;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::{Batch, Hashing, Population, Schema, Secret, Writer};
use tidegate_sitekit::{Result, values};

/// People hashed and written at once.
const PEOPLE: i64 = 4_000;

/// Fills the database of the shop.
pub struct Shop {
    /// Cost of the password hashes.
    pub cost: PasswordCost,
}

impl Population for Shop {
    type Plan = Plan;
    const SCHEMA: Schema = SCHEMA;
    const TRANSACTION: u64 = 20_000;

    fn steps(plan: Plan) -> u64 {
        u64::try_from(plan.products() + plan.customers()).unwrap_or(0)
    }

    async fn fill(&self, plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
        places(plan, writer).await?;
        products(plan, writer).await?;
        customers(plan, self.cost, writer).await?;
        let sql = "INSERT INTO catalogue (id, version, changed) VALUES (1, 0, $1)";
        Ok(writer.connection.run(sql, &values![writer.now]).await?)
    }
}

/// Zones, departments and sets.
async fn places(plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
    let connection = &mut *writer.connection;
    let mut zones = Batch::new("zones", "id, name, factor, tax, shipping, shipping_kg");
    for (id, (name, [factor, tax, shipping, shipping_kg])) in (0..).zip(ZONES) {
        zones.push(connection, values![id, name, factor, tax, shipping, shipping_kg]).await?;
    }
    zones.write(connection).await?;
    let mut departments = Batch::new("departments", "id, slug, name, about");
    let mut sets = Batch::new("sets", "id, department, slug, name");
    for (id, department) in (1..).zip(&DEPARTMENTS) {
        let row = values![id, department.slug, department.name, department.about];
        departments.push(connection, row).await?;
    }
    departments.write(connection).await?;
    for set in 1..=plan.sets() {
        let (department, number) = plan.place(set);
        let of = &DEPARTMENTS[usize::try_from(department - 1).expect("they count from 1")];
        let name = set_name(of, number);
        sets.push(connection, values![set, department, slug(&name), name]).await?;
    }
    Ok(sets.write(connection).await?)
}

async fn products(plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
    writer.stage("products");
    let columns = "id, set_id, department, name, price, weight, stock, restock, description";
    let mut products = Batch::new("products", columns);
    let mut reviews = Batch::new("reviews", "product, number, stars, name, remark");
    for id in 1..=plan.products() {
        let set = (id - 1) % plan.sets() + 1;
        let (department, number) = plan.place(set);
        let goods = Goods::new(plan.seed, id, department, number);
        let row = values![
            id,
            set,
            department,
            goods.name,
            goods.price,
            goods.weight,
            goods.stock,
            goods.stock,
            goods.description
        ];
        products.push(writer.connection, row).await?;
        for (number, review) in (1..).zip(&goods.reviews) {
            let row = values![id, number, review.stars, review.name, review.remark];
            reviews.push(writer.connection, row).await?;
        }
        writer.done(1).await?;
    }
    products.write(writer.connection).await?;
    Ok(reviews.write(writer.connection).await?)
}

async fn customers(plan: Plan, cost: PasswordCost, writer: &mut Writer<'_>) -> Result<()> {
    writer.stage("customers");
    let customers = plan.customers();
    let hashing = Hashing::of(cost, usize::try_from(customers).unwrap_or(usize::MAX));
    let mut batch =
        Batch::new("customers", "id, email, name, password, street, city, postcode, created");
    let mut first = 1;
    while first <= customers {
        let last = (first + PEOPLE - 1).min(customers);
        let people: Vec<_> = (first..=last).map(|id| person(plan.seed, id)).collect();
        let secrets: Vec<Secret> = people.iter().map(|person| person.secret.clone()).collect();
        for (person, hash) in people.iter().zip(hashing.hash(&secrets)?) {
            let row = values![
                person.id,
                person.email,
                person.name,
                hash,
                person.street,
                person.city,
                person.postcode,
                writer.now - person.age
            ];
            batch.push(writer.connection, row).await?;
        }
        writer.done(u64::try_from(last - first + 1).unwrap_or(0)).await?;
        first = last + 1;
    }
    Ok(batch.write(writer.connection).await?)
}
