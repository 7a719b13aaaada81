//! Fills an empty database with people and items. The same scale and seed give
//! the same population on every machine.

mod goods;
mod item_tables;
mod kind;
mod people;
mod plan;
mod words;

use goods::{Goods, Remark};
use item_tables::ItemTables;
use people::{Person, region_of};

use plan::Plan;

use super::catalogue::{CATEGORIES, CATEGORY_COUNT, REGION_COUNT, REGIONS};
use super::schema::{NEXT_ITEM, SCHEMA};
use super::search_index;
use tidegate_sitekit::database::{Connection, Dialect, notes, tables};
use tidegate_sitekit::once::form;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::{Batch, Hashing, Population, Schema, Secret, Writer};
use tidegate_sitekit::{Result, values};

/// People hashed and written at once.
const PEOPLE: i64 = 4_000;

/// Fills the database of the site.
pub struct Auction {
    /// Cost of the password hashes.
    pub cost: PasswordCost,
}

impl Population for Auction {
    type Plan = Plan;
    const SCHEMA: Schema = SCHEMA;
    const TRANSACTION: u64 = 20_000;

    fn steps(plan: Plan) -> u64 {
        let active: i64 = plan.active_items().iter().sum();
        u64::try_from(plan.users() + plan.old_items() + active).unwrap_or(0)
    }

    async fn fill(&self, plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
        catalogue(writer.connection).await?;
        people(plan, self.cost, writer).await?;
        items(plan, writer).await?;
        notes::write(writer.connection, "users", &plan.users().to_string()).await?;
        Ok(notes::write(writer.connection, "last_seen", &writer.now.to_string()).await?)
    }

    async fn index(connection: &mut Connection) -> Result<()> {
        search_index::create(connection).await?;
        if connection.dialect() == Dialect::Postgres {
            connection.script(NEXT_ITEM.into()).await?;
        }
        Ok(())
    }

    async fn upgrade(connection: &mut Connection) -> Result<()> {
        tables::create(connection, form::TABLE).await?;
        Ok(search_index::create(connection).await?)
    }
}

async fn catalogue(connection: &mut Connection) -> Result<()> {
    let mut categories = Batch::new("categories", "id, name");
    for (id, category) in (1..).zip(&CATEGORIES) {
        categories.push(connection, values![id, category.name]).await?;
    }
    categories.write(connection).await?;
    let mut regions = Batch::new("regions", "id, name");
    for (id, name) in (1..).zip(REGIONS) {
        regions.push(connection, values![id, name]).await?;
    }
    Ok(regions.write(connection).await?)
}

/// The sum and the number of the ratings of each person.
fn reputation(plan: Plan) -> Vec<(i64, i64)> {
    let users = plan.users();
    let mut reputation = vec![(0, 0); index(users) + 1];
    let active: i64 = plan.active_items().iter().sum();
    for item in 1..=plan.old_items() + active {
        if let Some(remark) = Remark::after(plan.seed, item, users) {
            let (rating, comments) = &mut reputation[index(remark.to)];
            *rating += remark.rating;
            *comments += 1;
        }
    }
    reputation
}

async fn people(plan: Plan, cost: PasswordCost, writer: &mut Writer<'_>) -> Result<()> {
    let users = plan.users();
    writer.stage("people");
    let hashing = Hashing::of(cost, index(users));
    let reputation = reputation(plan);
    let mut batch = Batch::new(
        "users",
        "id, firstname, lastname, nickname, password, email, rating, balance, creation_date, \
         region, nb_of_comments",
    );
    let mut first = 1;
    while first <= users {
        let last = (first + PEOPLE - 1).min(users);
        let people: Vec<Person> = (first..=last).map(|id| Person::new(plan.seed, id)).collect();
        let secrets: Vec<Secret> = people.iter().map(Person::secret).collect();
        let hashes = hashing.hash(&secrets)?;
        for (person, hash) in people.iter().zip(hashes) {
            let (rating, comments) = reputation[index(person.id)];
            let nickname = person.nickname();
            let email = format!("{nickname}@example.com");
            let row = values![
                person.id,
                person.firstname,
                person.lastname,
                nickname.as_str(),
                hash,
                email,
                rating,
                0,
                writer.now - person.age,
                person.region,
                comments
            ];
            batch.push(writer.connection, row).await?;
        }
        writer.done(u64::try_from(last - first + 1).unwrap_or(0)).await?;
        first = last + 1;
    }
    Ok(batch.write(writer.connection).await?)
}

async fn items(plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
    let users = plan.users();
    let active = plan.active_items();
    let mut tables = ItemTables::new();
    let mut counts = vec![[0; CATEGORIES.len() + 1]; REGIONS.len() + 1];
    writer.stage("ended auctions");
    let total: i64 = active.iter().sum();
    let mut id = 0;
    for (category, number) in (1..=CATEGORY_COUNT).zip(&active) {
        // Ended items have the same shares of the categories as active ones.
        let until = active[..index(category)].iter().sum::<i64>() * plan.old_items() / total;
        debug_assert!(*number > 0);
        while id < until {
            id += 1;
            let goods = Goods::new(plan.seed, id, category, false, users);
            tables.push(plan, writer, &goods, false).await?;
        }
    }
    writer.stage("active auctions");
    for (category, number) in (1..=CATEGORY_COUNT).zip(&active) {
        for _ in 0..*number {
            id += 1;
            let goods = Goods::new(plan.seed, id, category, true, users);
            for region in [0, region_of(goods.seller)] {
                counts[index(region)][0] += 1;
                counts[index(region)][index(category)] += 1;
            }
            tables.push(plan, writer, &goods, true).await?;
        }
    }
    tables.write(writer.connection).await?;
    let mut batch = Batch::new("active_counts", "region, category, items");
    for region in 0..=REGION_COUNT {
        for category in 0..=CATEGORY_COUNT {
            let items = counts[index(region)][index(category)];
            let row = values![region, category, items];
            batch.push(writer.connection, row).await?;
        }
    }
    Ok(batch.write(writer.connection).await?)
}

fn index(id: i64) -> usize {
    usize::try_from(id).expect("ids are not negative")
}
