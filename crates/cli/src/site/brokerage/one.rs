//! One tier in this process.

use std::time::Duration;

use tidegate_brokerage::app::Source;
use tidegate_brokerage::web::{Program, Stub};
use tidegate_brokerage::{Handshakes, LinkOptions, Running, app, data, web};
use tidegate_card::client::CardOptions;
use tidegate_sitekit::link::Files;
use tidegate_sitekit::tls::{Clients, Tls};

use super::super::error::classify;
use super::super::serving::until_signalled;
use super::args::{Args, Tier, Way};
use super::logging;
use crate::exit::{Outcome, bad_input};

/// Serves one tier until SIGTERM or SIGINT.
pub fn run(args: &Args, tier: Tier) -> anyhow::Result<Outcome> {
    logging::begin(tier.name(), tracing::Level::INFO);
    if tier == Tier::Data && !args.next.is_empty() {
        return Err(bad_input("--next: the data tier has no next tier; leave it out"));
    }
    let (running, word, scheme) = match tier {
        Tier::Web => {
            let options = web_options(args);
            let scheme = if options.tls.is_some() { "https://" } else { "http://" };
            (web::start(options), "site", scheme)
        }
        Tier::App => (app::start(app_options(args)), "app", ""),
        Tier::Data => (data::start(data_options(args)).map(|(running, _)| running), "data", ""),
    };
    let running: Running = running.map_err(classify)?;
    until_signalled(format!("{word}: {scheme}{}\n", running.address()))?;
    running.shutdown();
    Ok(Outcome::Done)
}

fn cores(args: &Args) -> Option<Vec<usize>> {
    args.cores.as_ref().map(|cores| cores.list().to_vec())
}

fn web_app(args: &Args) -> LinkOptions {
    let files = Files { certificates: args.certificates.clone(), keys: args.web_app_key.clone() };
    LinkOptions { spec: args.web_app(), files }
}

fn app_data(args: &Args) -> LinkOptions {
    let files = Files { certificates: args.certificates.clone(), keys: args.app_data_key.clone() };
    LinkOptions { spec: args.app_data(), files }
}

fn web_options(args: &Args) -> web::Options {
    let tls = args.security().browsers.map(|handshakes| Tls {
        version: args.tls(),
        files: args.certificate.clone().zip(args.key.clone()),
        resumption: handshakes == Handshakes::Resumed,
        clients: args.client_ca.clone().map(|ca| Clients {
            ca,
            revoked: None,
            required: true,
            told: false,
        }),
    });
    let stub = match args.stub {
        Way::InProcess => Stub::InProcess,
        // The program that runs, even if its file was replaced since.
        Way::Cgi => Stub::Cgi(Program {
            path: "/proc/self/exe".into(),
            args: ["site", "brokerage", "--stub-call"].map(str::to_owned).into(),
        }),
    };
    web::Options {
        listen: args.listen,
        next: args.next.clone(),
        link: web_app(args),
        tls,
        trusted_proxies: args.trusted_proxies.clone(),
        webhook_secrets: args.webhook_secret_file.clone(),
        stub,
        measured_pages: args.measured_pages,
        cores: cores(args),
    }
}

fn app_options(args: &Args) -> app::Options {
    app::Options {
        listen: args.listen,
        next: args.next.clone(),
        front: web_app(args),
        back: app_data(args),
        password_cost: args.password_cost,
        feed: match &args.feed {
            Some(file) => Source::File(file.clone()),
            None => Source::Walk(args.walk_seed()),
        },
        interval: Duration::from_millis(args.feed_interval),
        card: card(args),
        known_as: args.known_as.clone(),
        cores: cores(args),
    }
}

/// The card processor. Its flags come together.
fn card(args: &Args) -> Option<CardOptions> {
    Some(CardOptions {
        url: args.card_processor.clone()?,
        key_file: args.card_key_file.clone()?,
        ca: args.card_ca.clone(),
        public_url: args.public_url.clone()?,
    })
}

/// Options of the data tier.
pub fn data_options(args: &Args) -> data::Options {
    data::Options {
        listen: args.listen,
        database: args.database(),
        data: args.data.clone(),
        customers: args.customers,
        seed: args.seed,
        password_cost: args.password_cost,
        full_hashes: false,
        link: app_data(args),
        known_as: args.known_as.clone(),
        cores: cores(args),
    }
}
