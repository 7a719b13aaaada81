//! Fills an empty database with people and items. The same scale and seed give
//! the same population on every machine.

mod goods;
mod kind;
mod people;
mod plan;
mod tables;
mod words;
mod writer;

use goods::{Goods, Remark};
use people::{Person, region_of};
use tables::ItemTables;
use writer::Writer;

pub use plan::Plan;

use super::catalogue::{CATEGORIES, CATEGORY_COUNT, REGION_COUNT, REGIONS};
use super::schema;
use tidegate_sitekit::database::{Connection, notes};
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::{Batch, Hashing, Secret, finish};
use tidegate_sitekit::{Error, Result};

/// People hashed and written at once.
const PEOPLE: i64 = 4_000;

/// Fills the database. Tables of an earlier population are dropped first.
///
/// # Errors
/// A database error, or no memory for a hash.
pub async fn populate(
    connection: &mut Connection,
    plan: Plan,
    cost: PasswordCost,
    now: i64,
) -> Result<()> {
    schema::begin(connection).await?;
    let mut writer = Writer::new(connection, plan, cost, now);
    writer.begin().await?;
    writer.catalogue().await?;
    writer.people().await?;
    writer.items().await?;
    writer.commit().await?;
    writer.bar.set_message("building indexes");
    writer.bar.tick();
    schema::create_indexes(writer.connection).await?;
    writer.bar.finish_and_clear();
    let connection = writer.connection;
    let (scale, seed) = (plan.scale.to_string(), plan.seed.to_string());
    let (users, now) = (plan.users().to_string(), now.to_string());
    let noted = [("scale", scale), ("seed", seed), ("users", users), ("last_seen", now)];
    Ok(finish(connection, &noted).await?)
}

impl Writer<'_> {
    async fn catalogue(&mut self) -> Result<()> {
        let mut categories = Batch::new("categories", "id, name");
        for (id, category) in (1..).zip(&CATEGORIES) {
            categories.push(self.connection, [id.into(), category.name.into()]).await?;
        }
        categories.write(self.connection).await?;
        let mut regions = Batch::new("regions", "id, name");
        for (id, name) in (1..).zip(&REGIONS) {
            regions.push(self.connection, [id.into(), (*name).into()]).await?;
        }
        Ok(regions.write(self.connection).await?)
    }

    /// The sum and the number of the ratings of each person.
    fn reputation(&self) -> Vec<(i64, i64)> {
        let mut reputation = vec![(0, 0); index(self.users) + 1];
        let active: i64 = self.plan.active_items().iter().sum();
        for item in 1..=self.plan.old_items() + active {
            if let Some(remark) = Remark::after(self.plan.seed, item, self.users) {
                let (rating, comments) = &mut reputation[index(remark.to)];
                *rating += remark.rating;
                *comments += 1;
            }
        }
        reputation
    }

    async fn people(&mut self) -> Result<()> {
        self.bar.set_message("people");
        let hashing = Hashing::of(self.cost, index(self.users));
        let reputation = self.reputation();
        let mut batch = Batch::new(
            "users",
            "id, firstname, lastname, nickname, password, email, rating, balance, creation_date, \
             region, nb_of_comments",
        );
        let mut first = 1;
        while first <= self.users {
            let last = (first + PEOPLE - 1).min(self.users);
            let people: Vec<Person> =
                (first..=last).map(|id| Person::new(self.plan.seed, id)).collect();
            let secrets: Vec<Secret> = people.iter().map(Person::secret).collect();
            let hashes = hashing.hash(&secrets)?;
            for (person, hash) in people.iter().zip(hashes) {
                let (rating, comments) = reputation[index(person.id)];
                let nickname = person.nickname();
                let row = [
                    person.id.into(),
                    person.firstname.into(),
                    person.lastname.into(),
                    nickname.as_str().into(),
                    hash.into(),
                    format!("{nickname}@example.com").into(),
                    rating.into(),
                    0.into(),
                    (self.now - person.age).into(),
                    person.region.into(),
                    comments.into(),
                ];
                batch.push(self.connection, row).await?;
            }
            self.done(u64::try_from(last - first + 1).unwrap_or(0)).await?;
            first = last + 1;
        }
        Ok(batch.write(self.connection).await?)
    }

    async fn items(&mut self) -> Result<()> {
        let active = self.plan.active_items();
        let mut tables = ItemTables::new();
        let mut counts = vec![[0; CATEGORIES.len() + 1]; REGIONS.len() + 1];
        self.bar.set_message("ended auctions");
        let total: i64 = active.iter().sum();
        let mut id = 0;
        for (category, number) in (1..=CATEGORY_COUNT).zip(&active) {
            // Ended items have the same shares of the categories as active ones.
            let until =
                active[..index(category)].iter().sum::<i64>() * self.plan.old_items() / total;
            debug_assert!(*number > 0);
            while id < until {
                id += 1;
                let goods = Goods::new(self.plan.seed, id, category, false, self.users);
                tables.push(self, &goods, false).await?;
            }
        }
        self.bar.set_message("active auctions");
        for (category, number) in (1..=CATEGORY_COUNT).zip(&active) {
            for _ in 0..*number {
                id += 1;
                let goods = Goods::new(self.plan.seed, id, category, true, self.users);
                for region in [0, region_of(goods.seller)] {
                    counts[index(region)][0] += 1;
                    counts[index(region)][index(category)] += 1;
                }
                tables.push(self, &goods, true).await?;
            }
        }
        tables.write(self.connection).await?;
        let mut batch = Batch::new("active_counts", "region, category, items");
        for region in 0..=REGION_COUNT {
            for category in 0..=CATEGORY_COUNT {
                let items = counts[index(region)][index(category)];
                let row = [region.into(), category.into(), items.into()];
                batch.push(self.connection, row).await?;
            }
        }
        Ok(batch.write(self.connection).await?)
    }
}

fn index(id: i64) -> usize {
    usize::try_from(id).expect("ids are not negative")
}

/// Reads the plan that a database was populated with.
pub async fn plan_of(connection: &mut Connection) -> Result<Plan> {
    let scale = notes::read(connection, "scale").await?.and_then(|scale| scale.parse().ok());
    let seed = notes::read(connection, "seed").await?.and_then(|seed| seed.parse().ok());
    match (scale, seed) {
        (Some(scale), Some(seed)) => Ok(Plan { scale, seed }),
        _ => Err(Error::Operator(
            "the database lacks the scale and seed of its population; delete it and start again"
                .into(),
        )),
    }
}
