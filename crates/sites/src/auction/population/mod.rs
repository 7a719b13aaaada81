//! Fills an empty database with people and items: the same for a scale and seed
//! everywhere.

mod batch;
mod goods;
mod people;
mod random;
mod tables;
mod words;

use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};

use batch::Batch;
use goods::{Goods, Remark};
use people::{Hashing, Person, hash_passwords, region_of};
use tables::ItemTables;

use super::catalogue::{CATEGORIES, CATEGORY_COUNT, REGION_COUNT, REGIONS};
use super::schema;
use crate::database::{Connection, Dialect};
use crate::password::PasswordCost;
use crate::{Error, Result};

/// Longest that the population's passwords may take to hash; above that they
/// are kept by the quick scheme.
const HASHING: Duration = Duration::from_secs(8);
/// Rows of one transaction, roughly.
const TRANSACTION: u64 = 20_000;
/// People hashed and written at once.
const PEOPLE: i64 = 4_000;

/// How large a population is and from which seed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// 1.0 is the size of the benchmark.
    pub scale: f64,
    /// Another seed makes other people and items.
    pub seed: u64,
}

impl Plan {
    /// People: a million at scale 1; at least ten.
    pub fn users(&self) -> i64 {
        self.scaled(1_000_000.0).max(10)
    }

    /// Items whose auctions have ended: 500,000 at scale 1.
    pub fn old_items(&self) -> i64 {
        self.scaled(500_000.0)
    }

    /// Active items by category: 32,667 in all at scale 1, at least one each.
    pub fn active_items(&self) -> Vec<i64> {
        CATEGORIES
            .iter()
            .map(|category| self.scaled(f64::from(category.active_items)).max(1))
            .collect()
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scale is at most 10")]
    fn scaled(&self, at_one: f64) -> i64 {
        (at_one * self.scale).round() as i64
    }
}

/// Fills the database. Whatever of ours is there is dropped first.
///
/// # Errors
/// Whatever the database answers, or the memory for a hash cannot be had.
pub async fn populate(
    connection: &mut Connection,
    plan: Plan,
    cost: PasswordCost,
    now: i64,
) -> Result<()> {
    schema::drop_tables(connection).await?;
    if connection.dialect() == Dialect::Sqlite {
        // Gives back the room of what an interrupted population had written.
        connection.script("VACUUM".into()).await?;
    }
    schema::create_notes(connection).await?;
    schema::create_tables(connection).await?;
    if connection.dialect() == Dialect::Sqlite {
        // An interrupted population is made anew, so no write need be durable.
        connection.script("PRAGMA synchronous = OFF".into()).await?;
    }
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
    connection.run("BEGIN", &[]).await?;
    for (name, value) in [
        ("scale", scale),
        ("seed", seed),
        ("users", users),
        ("last_seen", now),
        ("state", "ready".into()),
    ] {
        schema::set_note(connection, name, &value).await?;
    }
    connection.run("COMMIT", &[]).await?;
    if connection.dialect() == Dialect::Sqlite {
        connection
            .script("PRAGMA synchronous = NORMAL; PRAGMA wal_checkpoint(TRUNCATE)".into())
            .await?;
    }
    Ok(())
}

struct Writer<'a> {
    connection: &'a mut Connection,
    plan: Plan,
    cost: PasswordCost,
    now: i64,
    users: i64,
    bar: ProgressBar,
    uncommitted: u64,
}

impl<'a> Writer<'a> {
    fn new(connection: &'a mut Connection, plan: Plan, cost: PasswordCost, now: i64) -> Self {
        let active: i64 = plan.active_items().iter().sum();
        let total = plan.users() + plan.old_items() + active;
        // Hidden by itself where standard error is no terminal.
        let bar = ProgressBar::new(u64::try_from(total).unwrap_or(0));
        let style = "{msg:>18} [{bar:32}] {human_pos} of {human_len}, {eta} left";
        bar.set_style(ProgressStyle::with_template(style).expect("a valid template"));
        Self { users: plan.users(), connection, plan, cost, now, bar, uncommitted: 0 }
    }

    async fn begin(&mut self) -> Result<()> {
        self.connection.run("BEGIN", &[]).await?;
        Ok(())
    }

    async fn commit(&mut self) -> Result<()> {
        self.connection.run("COMMIT", &[]).await?;
        Ok(())
    }

    /// Counts rows, and ends the transaction when it has become long.
    async fn done(&mut self, rows: u64) -> Result<()> {
        self.bar.inc(rows);
        self.uncommitted += rows;
        if self.uncommitted >= TRANSACTION {
            self.uncommitted = 0;
            self.commit().await?;
            self.begin().await?;
        }
        Ok(())
    }

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

    /// What others say of each person: the sum of the ratings and their number.
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

    fn hashing(&self) -> Hashing {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        let people = u32::try_from(index(self.users).div_ceil(threads)).unwrap_or(u32::MAX);
        if self.cost.measure().saturating_mul(people) <= HASHING {
            Hashing::Full(self.cost)
        } else {
            Hashing::Quick
        }
    }

    async fn people(&mut self) -> Result<()> {
        self.bar.set_message("people");
        let hashing = self.hashing();
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
            let hashes = hash_passwords(&people, hashing)?;
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
            // Old items are spread over the categories as the active ones are.
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

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "scale {}, seed {}", self.scale, self.seed)
    }
}

/// Reads the plan by which a database was made.
pub async fn plan_of(connection: &mut Connection) -> Result<Plan> {
    let scale = schema::note(connection, "scale").await?.and_then(|scale| scale.parse().ok());
    let seed = schema::note(connection, "seed").await?.and_then(|seed| seed.parse().ok());
    match (scale, seed) {
        (Some(scale), Some(seed)) => Ok(Plan { scale, seed }),
        _ => Err(Error::Operator(
            "the database does not say how it was populated; delete it, and it is made anew".into(),
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scale_one_is_the_benchmark_and_a_tiny_one_has_something_of_everything() {
        let one = Plan { scale: 1.0, seed: 1 };
        assert_eq!((one.users(), one.old_items()), (1_000_000, 500_000));
        assert_eq!(one.active_items().iter().sum::<i64>(), 32_667);
        let tiny = Plan { scale: 0.0005, seed: 1 };
        assert_eq!((tiny.users(), tiny.old_items()), (500, 250));
        assert!(tiny.active_items().iter().all(|&items| items >= 1));
    }
}
