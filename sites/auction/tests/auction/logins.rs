//! The limit of failed logins.

use std::sync::Barrier;
use std::time::Instant;

use crate::browser::{Answer, Browser};
use crate::database::TestSite;

on_both_databases![
    guesses_at_an_account_are_limited_and_its_owner_is_not,
    guesses_sent_at_once_are_limited_as_well,
    guesses_at_many_accounts_are_limited_by_their_address,
    logins_that_succeed_are_never_limited,
];

/// A login at this address of a customer, as a proxy of this machine names it.
fn login(browser: &Browser, from: &str, nickname: &str, password: &str) -> Answer {
    let body = format!("nickname={nickname}&password={password}");
    browser.send(&format!(
        "POST /me HTTP/1.1\r\nhost: site\r\nconnection: close\r\nx-forwarded-for: {from}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

fn guesses_at_an_account_are_limited_and_its_owner_is_not(site: &TestSite) {
    let guess = |from, password| login(&site.browser, from, "user1", password);
    for _ in 0..5 {
        assert_eq!(guess("192.0.2.1", "wrong").status, 403);
    }
    // Whatever the password, at every page that signs in.
    for password in ["wrong", "password1"] {
        let answer = guess("192.0.2.1", password);
        assert_eq!(answer.status, 429);
        let wait: u64 = answer.headers["retry-after"].parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
        assert!(answer.text.contains("Too many attempts to sign in"), "{}", answer.text);
        assert!(answer.text.contains(&format!("Wait {wait} second")), "{}", answer.text);
    }
    // An address that the customer adds in front is not believed.
    assert_eq!(guess("198.51.100.9, 192.0.2.1", "wrong").status, 429);
    // The owner is at another address.
    assert_eq!(guess("192.0.2.2", "password1").status, 200);
    // Nobody has to have the name.
    for expected in [403, 403, 403, 403, 403, 429] {
        assert_eq!(login(&site.browser, "192.0.2.3", "nobody", "wrong").status, expected);
    }
}

fn guesses_sent_at_once_are_limited_as_well(site: &TestSite) {
    let (begun, barrier) = (Instant::now(), Barrier::new(40));
    let answers: Vec<u16> = std::thread::scope(|scope| {
        let guess = || {
            barrier.wait();
            login(&site.browser, "192.0.2.1", "user1", "wrong").status
        };
        let guesses: Vec<_> = (0..40).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().expect("no panic")).collect()
    });
    let looked_at = answers.iter().filter(|status| **status == 403).count() as u64;
    let refilled = begun.elapsed().as_secs() / 30;
    assert!((5..=5 + refilled).contains(&looked_at), "{answers:?}");
    assert!(answers.iter().all(|status| [403, 429].contains(status)), "{answers:?}");
}

fn guesses_at_many_accounts_are_limited_by_their_address(site: &TestSite) {
    let answers: Vec<u16> = (1..=40)
        .map(|user| login(&site.browser, "192.0.2.1", &format!("user{user}"), "wrong").status)
        .collect();
    let guesses = answers.iter().filter(|status| **status == 403).count();
    // A token is added every five seconds.
    assert!((30..40).contains(&guesses), "{answers:?}");
    assert_eq!(answers[39], 429);
    assert_eq!(login(&site.browser, "192.0.2.2", "user41", "password41").status, 200);
}

fn logins_that_succeed_are_never_limited(site: &TestSite) {
    for round in 0..20 {
        for _ in 0..round % 5 {
            let user = format!("user{}", round + 1);
            assert_eq!(
                login(&site.browser, &format!("192.0.2.{round}"), &user, "wrong").status,
                403
            );
        }
        for user in [round + 1, 100] {
            let (name, password) = (format!("user{user}"), format!("password{user}"));
            let answer = login(&site.browser, &format!("192.0.2.{round}"), &name, &password);
            assert_eq!(answer.status, 200, "{round}");
        }
    }
    for _ in 0..100 {
        site.browser.sign_in("/me", 5, &[]);
    }
}
