//! Movements of cash, each with its row of the ledger.

use tidegate_sitekit::Result;
use tidegate_sitekit::database::Transaction;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::values;

/// The market, at the other end of every trade.
pub const MARKET: i64 = 0;
/// The world outside, from which payments come.
pub const OUTSIDE: i64 = -1;

/// A part of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part {
    /// Whose account it is.
    pub owner: i64,
    /// What is reserved for open orders, or what is available.
    pub reserved: bool,
}

impl Part {
    /// What a customer, or the house, has available.
    pub fn available(owner: i64) -> Self {
        Self { owner, reserved: false }
    }

    /// What a customer has reserved.
    pub fn reserved(owner: i64) -> Self {
        Self { owner, reserved: true }
    }

    /// The number under which the ledger knows it.
    pub fn number(self) -> i64 {
        self.owner * 2 + i64::from(self.reserved)
    }
}

/// Why cash moves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Why {
    /// A payment comes in; the reference is the payment.
    Payment = 1,
    /// An order to buy reserves cash; the reference of this and the following is the order.
    Reserve = 2,
    /// An order that ends releases what it had reserved, or what is left of it.
    Release = 3,
    /// Shares are paid for.
    Bought = 4,
    /// Shares are sold.
    Sold = 5,
}

const TAKE: &str = "UPDATE accounts SET available = available - $2
     WHERE customer = $1 AND (customer <= 0 OR available >= $2) RETURNING customer";
const TAKE_RESERVED: &str = "UPDATE accounts SET reserved = reserved - $2
     WHERE customer = $1 AND reserved >= $2 RETURNING customer";
const ADD: &str =
    "UPDATE accounts SET available = available + $2 WHERE customer = $1 RETURNING customer";
const ADD_RESERVED: &str =
    "UPDATE accounts SET reserved = reserved + $2 WHERE customer = $1 RETURNING customer";
const ENTRY: &str = "INSERT INTO ledger (at, kind, reference, from_account, to_account, cents)
     VALUES ($1, $2, $3, $4, $5, $6)";

/// A movement of cash.
#[derive(Clone, Copy, Debug)]
pub struct Movement {
    /// Why.
    pub why: Why,
    /// The order or payment.
    pub reference: i64,
    /// The account that is debited.
    pub from: Part,
    /// The account that is credited.
    pub to: Part,
    /// How much; nothing moves if it is not above zero.
    pub cents: Cents,
    /// When.
    pub at: i64,
}

impl Movement {
    /// Moves the cash within a transaction. `false`: the account does not cover it, and
    /// nothing was changed.
    pub async fn apply_if_covered(self, transaction: &mut Transaction) -> Result<bool> {
        if self.cents.0 <= 0 {
            return Ok(true);
        }
        let take = if self.from.reserved { TAKE_RESERVED } else { TAKE };
        let values = values![self.from.owner, self.cents];
        if transaction.first::<i64>(take, &values).await?.is_none() {
            return Ok(false);
        }
        let add = if self.to.reserved { ADD_RESERVED } else { ADD };
        let values = values![self.to.owner, self.cents];
        if transaction.first::<i64>(add, &values).await?.is_none() {
            return Err(missing("an account"));
        }
        let values = values![
            self.at,
            self.why as i64,
            self.reference,
            self.from.number(),
            self.to.number(),
            self.cents
        ];
        transaction.run(ENTRY, &values).await?;
        Ok(true)
    }

    /// Moves cash that the account covers.
    ///
    /// # Errors
    /// It does not cover it, which is a defect; an error of the database.
    pub async fn apply(self, transaction: &mut Transaction) -> Result<()> {
        if self.apply_if_covered(transaction).await? {
            Ok(())
        } else {
            Err(missing("reserved cash"))
        }
    }
}

/// What must be there and is not.
pub fn missing(what: &str) -> tidegate_sitekit::Error {
    tidegate_sitekit::Error::Internal(format!("{what} is missing in the database"))
}

/// What a customer can spend.
pub async fn available(transaction: &mut Transaction, customer: i64) -> Result<Cents> {
    let sql = "SELECT available FROM accounts WHERE customer = $1";
    let found = transaction.first::<i64>(sql, &values![customer]).await?;
    found.map(Cents).ok_or_else(|| missing("an account"))
}
