//! Reads bytes as each operation between the brokerage's tiers, and as their answers. What is
//! read is written, and read again, as the same.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features sites tier_operations`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_brokerage::protocol::{self, Operation, back, front};

/// Reads a request and an answer.
fn read<O: Operation>(bytes: &[u8]) {
    if let Ok(request) = serde_json::from_slice::<O>(bytes) {
        let written = serde_json::to_vec(&request).expect("it is written");
        let again: O = serde_json::from_slice(&written).expect("it is read");
        assert_eq!(serde_json::to_vec(&again).expect("it is written"), written);
    }
    if let Ok(answer) = serde_json::from_slice::<O::Answer>(bytes) {
        let written = serde_json::to_vec(&answer).expect("it is written");
        let again: O::Answer = serde_json::from_slice(&written).expect("it is read");
        assert_eq!(serde_json::to_vec(&again).expect("it is written"), written);
    }
}

macro_rules! all {
    ($bytes:expr, $($operation:ty),+ $(,)?) => { $(read::<$operation>($bytes);)+ };
}

fuzz_target!(|bytes: &[u8]| {
    all!(
        bytes,
        protocol::GetHealth,
        front::SignIn,
        front::ChangePassword,
        front::SignOut,
        front::GetOverview,
        front::GetPortfolio,
        front::GetOpenOrders,
        front::GetHistory,
        front::GetOrderEntry,
        front::CreateOrder,
        front::CancelOrder,
        front::GetQuotes,
        front::Credit,
        back::GetCredentials,
        back::RenewPassword,
        back::ReadAccount,
        back::ReplacePassword,
        back::OpenSession,
        back::PlaceOrder,
        back::CloseOrder,
        back::ReadOrders,
        back::ReadQuote,
        back::ReadQuotes,
        back::TakeLease,
        back::RecordPrices,
        back::ReadMatching,
        back::Execute,
        back::Expire,
        back::AddPayment,
    );
});
