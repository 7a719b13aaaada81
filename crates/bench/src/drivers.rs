//! The two drivers of a row.

use crate::driver::Driver;
use crate::load_driver::LoadDriver;
use std::time::Duration;

/// What drives a row at one server.
#[derive(Debug)]
pub enum Drivers {
    /// This program.
    Own(Driver),
    /// `tidegate load`.
    Load(LoadDriver),
}

impl Drivers {
    /// Load that is not measured. The connections are closed at its end.
    ///
    /// # Errors
    /// `tidegate load` cannot be run.
    pub async fn warm_up(&mut self, length: Duration) -> anyhow::Result<()> {
        match self {
            Self::Own(driver) => {
                driver.run(length).await;
                driver.close().await;
            }
            Self::Load(driver) => {
                driver.start(Duration::ZERO, length)?.finish(0).await?;
            }
        }
        Ok(())
    }
}

/// Keeps the upstream from sleeping while another process drives: each turn leaves the
/// processor to that process.
pub async fn yield_to_driver() {
    loop {
        tokio::task::yield_now().await;
        std::thread::yield_now();
    }
}
