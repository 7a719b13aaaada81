//! What happens to payments by itself as time passes: issuers answer, customers do not come
//! back, authorisations expire.

use tidegate_sitekit::log_once;

use super::authorise::approved;
use super::change::Change;
use super::moves::give_up;
use crate::app::App;
use crate::resource::Cancellation;
use crate::state::Phase;
use crate::store::payments::{self, Stored};
use tidegate_sitekit::{Error, Result};

/// Changes the payments that are due, at most 100 at once; returns when the next one is, in
/// milliseconds since 1970.
///
/// # Errors
/// An error of the database; with a payment, the others are changed nevertheless.
pub async fn change_by_themselves(app: &App) -> Result<i64> {
    let mut failed = Ok(());
    for payment in payments::due(app.database(), app.clock.now_ms()).await? {
        if let Err(error) = change_by_itself(app, &payment).await {
            log_once!(warn by &error.to_string(), payment = payment.id, %error, "a payment that is due was left");
            failed = Err(error);
        }
    }
    failed?;
    payments::next_due(app.database()).await
}

async fn change_by_itself(app: &App, found: &Stored) -> Result<()> {
    let mut change = Change::begin(app, &found.merchant).await?;
    let payment = change.payment(&found.id).await?;
    let Some(mut payment) = payment.filter(|payment| payment.due <= change.now) else {
        return change.rollback().await;
    };
    match payment.state.phase {
        Phase::Processing => approved(&mut change, &mut payment).await?,
        Phase::RequiresCard => {
            give_up(&mut change, &mut payment, Cancellation::Abandoned).await?;
        }
        Phase::Open => {
            give_up(&mut change, &mut payment, Cancellation::Expired).await?;
        }
        Phase::Closed | Phase::Cancelled | Phase::Declined => {
            return Err(Error::Internal("a finished payment is due".into()));
        }
    }
    change.commit().await
}
