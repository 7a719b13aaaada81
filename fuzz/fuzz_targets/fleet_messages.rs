//! Passes bytes to the readers of what gates tell each other, as they are and sealed under the right
//! secret. They must not panic; nothing that is not sealed is read; what is sealed is read once and
//! changes a gate only if it can be true.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate fleet_messages`

#![no_main]

use libfuzzer_sys::fuzz_target;
use std::time::Duration;
use tidegate_control::fleet::{Demand, Divider, FleetExperience, Member, Table};
use tidegate_control::{Controller, Experience, Outlook, Reading, Settings};
use tidegate_fleet::{Opener, Refused, Sealer, Secret, Tenure};
use tidegate_gate::config::ticket_keys;
use tidegate_gate::fleet::Uses;

const NOW: Duration = Duration::from_secs(1_800_000_000);

fuzz_target!(|bytes: &[u8]| {
    let secret = Secret::new(&[7; 32], "shop").unwrap();
    let mut opener = Opener::new(secret.clone());
    for subject in ["demand", "table", "experience", "learned", "uses"] {
        assert!(opener.open::<serde::de::IgnoredAny>(subject, bytes, NOW).is_err());
    }
    assert!(secret.open::<Tenure>("lease", bytes).is_err());
    let sealer = Sealer::new(&secret, "gate-1", NOW).unwrap();
    let Ok(message) = sealer.seal_bytes("any", bytes.to_vec(), NOW) else { return };
    let _ = secret.open::<Tenure>("any", &message);
    let _ = Opener::new(secret.clone()).open::<Uses>("any", &message, NOW);
    if let Ok(text) = secret.open::<String>("any", &message) {
        let _ = ticket_keys::parse(&text.content);
    }
    if let Ok(demand) = Opener::new(secret.clone()).open::<Demand>("any", &message, NOW) {
        let mut divider = Divider::new(1, NOW + Duration::from_secs(9), NOW);
        if divider.report(NOW, &demand.content).is_ok()
            && let Some(table) = divider.table(NOW + Duration::from_secs(1))
        {
            assert!(table.check().is_ok(), "{table:?}");
        }
    }
    if let Ok(experience) = Opener::new(secret.clone()).open::<Experience>("any", &message, NOW) {
        let mut divider = Divider::new(1, NOW + Duration::from_secs(9), NOW);
        let mut member = Member::new("gate-1".to_owned(), 1);
        divider.report(NOW, &member.demand(NOW, &Outlook::default())).unwrap();
        if divider.learn("gate-1", &experience.content).is_ok()
            && let Some(told) = divider.experience(NOW)
        {
            learn(&member, &told);
        }
    }
    if let Ok(told) = Opener::new(secret.clone()).open::<FleetExperience>("any", &message, NOW) {
        learn(&Member::new("gate-1".to_owned(), 1), &told.content);
    }
    if let Ok(table) = opener.open::<Table>("any", &message, NOW) {
        let again = opener.open::<Table>("any", &message, NOW);
        assert_eq!(again.err(), Some(Refused::Replayed));
        let mut member = Member::new("gate-1".to_owned(), 1);
        let _ = member.demand(NOW, &Outlook::default());
        let _ = member.take(&table.content);
        let reading = Reading { elapsed: Duration::from_millis(100), ..Reading::default() };
        let part = member.part(NOW, &reading, &Outlook::default());
        assert!(part.share > 0.0 && part.share <= 1.0 && part.others >= 0.0, "{part:?}");
    }
});

/// Whatever is told, costs stay numbers, and a plan can be made.
fn learn(member: &Member, told: &FleetExperience) {
    let mut controller = Controller::new(Settings::default());
    if let Ok(experience) = member.learns(told) {
        controller.learn_from(experience);
    }
    let reading = Reading { elapsed: Duration::from_millis(100), ..Reading::default() };
    controller.observe(NOW, &reading);
    let status = controller.status(NOW);
    assert!(status.costs.session_cpu_s >= 0.0 && status.costs.session_cpu_s.is_finite());
    assert!(status.limit_per_s.is_some_and(|limit| limit >= 0.0), "{status:?}");
}
