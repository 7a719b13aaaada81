//! Runs the auction site: `auction ADDRESS DATA-FOLDER SCALE [DATABASE-URL]`.

use tidegate_auction::{Options, start};
use tidegate_sitekit::password::PasswordCost;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [address, data, scale, rest @ ..] = &arguments[..] else {
        return Err("usage: auction ADDRESS DATA-FOLDER SCALE [DATABASE-URL]".into());
    };
    let site = start(Options {
        listen: address.parse()?,
        database: rest.first().cloned(),
        data: data.into(),
        scale: Some(scale.parse()?),
        password_cost: PasswordCost::LIGHT,
        cores: Some(vec![tidegate_sitekit::server::available_cores()[0]]),
        ..Options::default()
    })?;
    println!("http://{}", site.address());
    std::io::stdin().read_line(&mut String::new())?;
    site.shutdown();
    Ok(())
}
