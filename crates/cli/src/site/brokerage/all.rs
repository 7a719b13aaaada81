//! All three tiers, each a process of its own.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_brokerage::{Handshakes, TIERS, data};
use tidegate_lab::{Launch, READY, Service};
use tidegate_sitekit::link::{Cipher, KeyRing, Protection, authority};
use tidegate_sitekit::tls::TlsVersion;

use super::super::error::classify;
use super::args::{Args, DATABASE, Tier, Way};
use super::card_processor::{Card, OwnProcessor};
use super::one::data_options;
use crate::exit::Outcome;
use crate::signals::Signals;
use crate::stdout::print;

/// Between two looks at whether all tiers still run.
const LOOK: Duration = Duration::from_millis(500);
/// Where the data and the application tier listen: any free port of this machine.
const INSIDE: &str = "127.0.0.1:0";

/// Starts the tiers from the last to the first, and ends them when SIGTERM or SIGINT comes,
/// or when one of them ends.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    // Here and not in the data tier: a large population takes longer than a start may.
    let prepared = data::prepare(&data_options(args)).map_err(classify)?;
    let links = Links::of(args)?;
    let own_processor = args.card.then(|| OwnProcessor::prepare(args)).transpose()?;
    let mut signals = Signals::catch()?;
    let common = common(args, &links);
    let start = |tier: Tier, arguments: Vec<String>| {
        let name = format!("{} tier", tier.name());
        let all = ["site", "brokerage", "--tier", tier.name()].map(str::to_owned);
        let launch = Launch::this_program(&name).args(all).args(&common).args(arguments);
        // Not by the command line, which every user can read: it may hold a password.
        let launch = match args.database().filter(|_| tier == Tier::Data) {
            Some(url) => launch.env(DATABASE, &url),
            None => launch.without_env(DATABASE),
        };
        Service::start(launch.inherit_errors())
    };
    // Dropped in their order: the web tier first, so that nothing calls what has ended.
    let mut tiers: Vec<Service> = Vec::new();
    let data = start(Tier::Data, data_arguments(args))?;
    let data_address = data.address("data")?.to_owned();
    print(format!("data: {data_address}\n"))?;
    tiers.insert(0, data);
    let card = match own_processor {
        None => Card::named(args),
        Some(own_processor) => {
            let (processor, card) = own_processor.start()?;
            print(format!("card: {}\n", card.url()))?;
            tiers.insert(0, processor);
            card
        }
    };
    let mut apps = Vec::new();
    for _ in 0..args.app_servers {
        let mut arguments = app_arguments(args, prepared.seed, &data_address);
        arguments.extend(card.app_arguments());
        let app = start(Tier::App, arguments)?;
        let address = app.address("app")?.to_owned();
        print(format!("app: {address}\n"))?;
        apps.push(address);
        tiers.insert(0, app);
    }
    let mut arguments = web_arguments(args, card.listen(args), &apps);
    arguments.extend(card.web_arguments());
    let web = start(Tier::Web, arguments)?;
    print(format!("site: {}\n{READY}\n", web.address("site")?))?;
    tiers.insert(0, web);
    while !signals.wait_at_most(LOOK) {
        for tier in &mut tiers {
            if let Some(exit) = tier.exit()? {
                let name = tier.process().name();
                anyhow::bail!("the {name} ended ({}); the others are ended too", exit.status);
            }
        }
    }
    Ok(Outcome::Done)
}

/// Certificates and keys, made where none are named.
struct Links {
    certificates: Option<PathBuf>,
    web_app_key: Option<PathBuf>,
    app_data_key: Option<PathBuf>,
}

impl Links {
    fn of(args: &Args) -> anyhow::Result<Self> {
        let folder = args.data.join("links");
        let (web_app, app_data) = (args.web_app().protection, args.app_data().protection);
        let mutual = [web_app, app_data].contains(&Protection::Tls);
        let certificates = match &args.certificates {
            None if mutual => Some(made_certificates(&folder)?),
            named => named.clone(),
        };
        let key = |named: &Option<PathBuf>, protection, name: &str| match named {
            None if protection == Protection::Sealed => made_key(&folder, name).map(Some),
            named => Ok(named.clone()),
        };
        Ok(Self {
            certificates,
            web_app_key: key(&args.web_app_key, web_app, "web-app.json")?,
            app_data_key: key(&args.app_data_key, app_data, "app-data.json")?,
        })
    }
}

fn made_certificates(folder: &Path) -> anyhow::Result<PathBuf> {
    let folder = folder.join("certificates");
    authority::keep(&folder, &TIERS, jiff::Timestamp::now().as_second()).map_err(classify)?;
    Ok(folder)
}

fn made_key(folder: &Path, name: &str) -> anyhow::Result<PathBuf> {
    let file = folder.join(name);
    if !file.exists() {
        std::fs::create_dir_all(folder)?;
        let ring = KeyRing::generate("first", Cipher::Aes256Gcm);
        ring.and_then(|ring| ring.write(&file)).map_err(classify)?;
    }
    Ok(file)
}

/// What every tier is told.
fn common(args: &Args, links: &Links) -> Vec<String> {
    let mut all = Vec::new();
    let mut add = |flag: &str, value: Option<String>| {
        if let Some(value) = value {
            all.extend([flag.to_owned(), value]);
        }
    };
    let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
    add("--web-app", Some(args.web_app().to_string()));
    add("--app-data", Some(args.app_data().to_string()));
    add("--certificates", path(&links.certificates));
    add("--web-app-key", path(&links.web_app_key));
    add("--app-data-key", path(&links.app_data_key));
    add("--cores", args.cores.as_ref().map(ToString::to_string));
    add("--password-cost", Some(args.password_cost.to_string()));
    all
}

fn data_arguments(args: &Args) -> Vec<String> {
    let data = args.data.display().to_string();
    ["--listen", INSIDE, "--data", &data].map(str::to_owned).into()
}

fn app_arguments(args: &Args, seed: u64, data: &str) -> Vec<String> {
    let interval = args.feed_interval.to_string();
    let mut all: Vec<String> = ["--listen", INSIDE, "--next", data, "--feed-interval", &interval]
        .map(str::to_owned)
        .into();
    all.extend(["--seed".into(), seed.to_string()]);
    if let Some(file) = &args.feed {
        all.extend(["--feed".into(), file.display().to_string()]);
    }
    all
}

fn web_arguments(args: &Args, listen: SocketAddr, apps: &[String]) -> Vec<String> {
    let mut all = vec!["--listen".into(), listen.to_string()];
    for app in apps {
        all.extend(["--next".into(), app.clone()]);
    }
    // The links are named one by one: this preset tells the browsers' TLS alone.
    let preset = match args.security().browsers {
        None => "none",
        Some(Handshakes::Full) => "tls",
        Some(Handshakes::Resumed) => "modern",
    };
    let versions = match args.tls() {
        TlsVersion::Both => "both",
        TlsVersion::V12 => "1.2",
        TlsVersion::V13 => "1.3",
    };
    all.extend(["--security", preset, "--tls", versions].map(str::to_owned));
    if let Some((certificate, key)) = args.certificate.as_ref().zip(args.key.as_ref()) {
        let paths = [certificate, key].map(|path| path.display().to_string());
        let [certificate, key] = paths;
        all.extend(["--certificate".into(), certificate, "--key".into(), key]);
    }
    if let Some(ca) = &args.client_ca {
        all.extend(["--client-ca".into(), ca.display().to_string()]);
    }
    if args.measured_pages {
        all.push("--measured-pages".into());
    }
    if args.stub == Way::Cgi {
        all.extend(["--stub".into(), "cgi".into()]);
    }
    if !args.trusted_proxies.is_empty() {
        let list: Vec<String> = args.trusted_proxies.iter().map(ToString::to_string).collect();
        all.extend(["--trusted-proxies".into(), list.join(",")]);
    }
    all
}
