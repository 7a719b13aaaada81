//! A transaction of one merchant: payments, events and the outbox together.

use crate::app::{App, new_id};
use crate::resource::{Event, EventKind, Movement, Payment};
use crate::store::events::StoredEvent;
use crate::store::merchants::Counters;
use crate::store::payments::{Kind, Moved, Stored};
use crate::store::{deliveries, events, merchants, payments};
use crate::view;
use tidegate_sitekit::database::Transaction;
use tidegate_sitekit::{Error, Result};

/// An open transaction of one merchant, whose row it holds. Dropped without
/// [`commit`](Self::commit) it has changed nothing.
pub struct Change<'a> {
    /// The transaction itself.
    pub transaction: Transaction,
    /// The merchant's counters, stored at the end.
    pub counters: Counters,
    /// The time of the change, milliseconds since 1970.
    pub now: i64,
    app: &'a App,
    merchant: &'a str,
    emitted: bool,
}

impl<'a> Change<'a> {
    /// Begins a transaction and locks the merchant.
    pub async fn begin(app: &'a App, merchant: &'a str) -> Result<Self> {
        let mut transaction = app.database().begin().await?;
        let counters = merchants::lock(&mut transaction, merchant).await?;
        // After the lock: times of a merchant's changes are in the order of the changes.
        let now = app.clock.now_ms();
        Ok(Self { transaction, counters, now, app, merchant, emitted: false })
    }

    /// The state of the core.
    pub fn app(&self) -> &'a App {
        self.app
    }

    /// The merchant.
    pub fn merchant(&self) -> &'a str {
        self.merchant
    }

    /// The merchant's payment of this id.
    pub async fn payment(&mut self, id: &str) -> Result<Option<Stored>> {
        let found = payments::by_id_in(&mut self.transaction, id).await?;
        Ok(found.filter(|payment| payment.merchant == self.merchant))
    }

    /// Stores a new payment.
    pub async fn create(&mut self, payment: &Stored) -> Result<()> {
        payments::store(&mut self.transaction, payment).await
    }

    /// Stores a changed payment, and emits an event of it if there is a kind.
    pub async fn store(&mut self, payment: &mut Stored, kind: Option<EventKind>) -> Result<()> {
        payment.version += 1;
        payments::store(&mut self.transaction, payment).await?;
        match kind {
            Some(kind) => self.emit(payment, kind).await,
            None => Ok(()),
        }
    }

    /// Stores a capture or a refund as the `number`th movement of its payment.
    pub async fn add_movement(
        &mut self,
        payment: &str,
        number: usize,
        kind: Kind,
        reference: &str,
        amount: i64,
    ) -> Result<()> {
        let movement = Movement {
            id: new_id(kind.prefix())?,
            reference: reference.to_owned(),
            amount,
            created_ms: self.now,
        };
        let number = i64::try_from(number).unwrap_or(i64::MAX);
        let moved = Moved { kind, movement };
        payments::add_movement(&mut self.transaction, payment, number, &moved).await
    }

    /// The movements of a payment, oldest first.
    pub async fn movements(&mut self, payment: &str) -> Result<Vec<Moved>> {
        payments::movements_in(&mut self.transaction, payment).await
    }

    /// A payment as the merchant sees it.
    pub async fn view(&mut self, payment: &Stored) -> Result<Payment> {
        let movements = self.movements(&payment.id).await?;
        Ok(view::payment(self.app, payment, movements))
    }

    /// Commits, and wakes those who deliver.
    ///
    /// # Errors
    /// An error of the database; then nothing was changed.
    pub async fn commit(mut self) -> Result<()> {
        merchants::save(&mut self.transaction, self.merchant, self.counters).await?;
        self.transaction.commit().await?;
        if self.emitted {
            self.app.changed.notify_waiters();
        }
        Ok(())
    }

    /// Ends without a change.
    pub async fn rollback(self) -> Result<()> {
        self.transaction.rollback().await
    }

    async fn emit(&mut self, payment: &Stored, kind: EventKind) -> Result<()> {
        self.counters.events += 1;
        let event = Event {
            id: new_id("evt")?,
            sequence: self.counters.events,
            kind,
            created_ms: self.now,
            payment: self.view(payment).await?,
        };
        let body = serde_json::to_string(&event)
            .map_err(|error| Error::Internal(format!("an event cannot be written: {error}")))?;
        let stored = StoredEvent { sequence: event.sequence, id: event.id, body };
        events::insert(&mut self.transaction, self.merchant, &stored, self.now).await?;
        // A payment may outlive its merchant's last key.
        let (app, name) = (self.app, self.merchant);
        for webhook in app.merchants.get(name).iter().flat_map(|it| &it.webhooks) {
            let (transaction, url) = (&mut self.transaction, webhook.url.as_str());
            deliveries::insert(transaction, name, &stored.id, url, self.now).await?;
        }
        self.emitted = true;
        Ok(())
    }
}
