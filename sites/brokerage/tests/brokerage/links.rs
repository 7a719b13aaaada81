//! The site over links that are secured in every way.

use tidegate_brokerage::TIERS;
use tidegate_sitekit::link::{Cipher, Files, KeyRing, authority};

use crate::world::{Setup, World, buy, wait_until};

fn files(folder: &std::path::Path, cipher: Cipher) -> Files {
    let (certificates, keys) = (folder.join("ca"), folder.join("key.json"));
    authority::make(&certificates, &TIERS).unwrap();
    KeyRing::generate("one", cipher).unwrap().write(&keys).unwrap();
    Files { certificates: Some(certificates), keys: Some(keys) }
}

#[test]
fn all_presets_and_mixtures_carry_the_same_site() {
    for (links, cipher) in [
        (["sealed,per-request", "sealed"], Cipher::Aes256Gcm),
        (["sealed", "none"], Cipher::ChaCha20Poly1305),
        (["tls", "tls"], Cipher::Aes256Gcm),
        (["tls,per-request,full", "sealed"], Cipher::Aes256Gcm),
        (["none", "tls,per-request"], Cipher::Aes256Gcm),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let files = files(folder.path(), cipher);
        let world = World::with(Setup { links: Some(links), files, ..Setup::default() });
        let customer = world.customer(1);
        customer.page("/orders");
        customer.page("/orders/new");
        assert_eq!(customer.order(buy("ALEN", "3", "60")).status, 200, "{links:?}");
        wait_until("it is carried out", || customer.page("/history").contains("$150.00"));
        let health = world.browser().get("/healthz");
        assert_eq!(health.status, 200, "{links:?}: {}", health.text);
        world.check();
    }
}

#[test]
fn a_tier_with_another_key_is_refused_and_pages_say_that_it_cannot_be_reached() {
    let (folder, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let links = Some(["sealed,per-request", "none"]);
    let files_here = files(folder.path(), Cipher::Aes256Gcm);
    let mut world = World::with(Setup { links, files: files_here, ..Setup::default() });
    let app = world.app.as_ref().unwrap().address();
    world.web_options.link.files = files(other.path(), Cipher::Aes256Gcm);
    world.restart_web(&[app]);
    let login = [("user", "customer1"), ("password", "password1")];
    let answer = world.browser().post("/login", &login);
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(answer.text.contains("Nothing was changed"), "{}", answer.text);
}
