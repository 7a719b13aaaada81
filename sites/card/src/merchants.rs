//! What the operator has registered for each merchant: return URLs and webhooks.

use std::collections::BTreeMap;

use url::Url;

use crate::address;
use crate::keys::Keys;
use crate::options::{ForMerchant, Options};
use crate::signature::{WebhookSecret, read_secrets};
use tidegate_sitekit::{Error, Result};

/// Most webhooks of a merchant.
const MOST_WEBHOOKS: usize = 8;

/// All merchants of a processor, by name.
#[derive(Debug)]
pub struct Merchants(BTreeMap<String, Merchant>);

/// A merchant.
#[derive(Debug, Default)]
pub struct Merchant {
    /// Where customers may be sent back to.
    pub return_urls: Vec<Url>,
    /// Where events are delivered to.
    pub webhooks: Vec<Webhook>,
}

/// Where events are delivered to.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The address.
    pub url: Url,
    /// All sign: several while they are replaced.
    pub secrets: Vec<WebhookSecret>,
}

impl Merchants {
    /// The merchants of a file of keys with what the options register for them.
    ///
    /// # Errors
    /// There is no merchant, or none of a name; a URL or a file of secrets is wrong.
    pub fn new(keys: &Keys, options: &Options) -> Result<Self> {
        let names = keys.merchants().map(|name| (name.to_owned(), Merchant::default()));
        let mut merchants = Self(names.collect());
        if merchants.0.is_empty() {
            return Err(Error::Operator(
                "--keys: there is no merchant yet; add one with `tidegate site card --make-key NAME`".into(),
            ));
        }
        for url in &options.return_urls {
            let merchant = merchants.named("--return-url", url)?;
            merchant.return_urls.push(read("--return-url", &url.text)?);
        }
        if options.webhooks.len() != options.webhook_secret_files.len()
            && options.webhook_secret_files.len() != 1
            && !(options.webhooks.is_empty() && options.webhook_secret_files.is_empty())
        {
            return Err(Error::Operator(
                "--webhook-secret-file: give one file for all webhooks, or one for each, in their order".into(),
            ));
        }
        let files = options.webhook_secret_files.iter();
        let files = files.chain(std::iter::repeat_n(
            options.webhook_secret_files.first().unwrap_or(&options.data),
            options.webhooks.len(),
        ));
        for (webhook, file) in options.webhooks.iter().zip(files) {
            let merchant = merchants.named("--webhook", webhook)?;
            let url = read("--webhook", &webhook.text)?;
            if merchant.webhooks.len() >= MOST_WEBHOOKS
                || merchant.webhooks.iter().any(|it| it.url == url)
            {
                return Err(Error::Operator(format!(
                    "--webhook {url}: is there twice, or is one of more than {MOST_WEBHOOKS} of its merchant; leave it out"
                )));
            }
            merchant.webhooks.push(Webhook { url, secrets: read_secrets(file)? });
        }
        Ok(merchants)
    }

    /// The merchant of this name.
    pub fn get(&self, name: &str) -> Option<&Merchant> {
        self.0.get(name)
    }

    /// All of them with their names.
    pub fn iter(&self) -> impl Iterator<Item = (&String, &Merchant)> {
        self.0.iter()
    }

    fn named(&mut self, flag: &str, value: &ForMerchant) -> Result<&mut Merchant> {
        let names: Vec<String> = self.0.keys().cloned().collect();
        let name = match (&value.merchant, &names[..]) {
            (Some(name), _) => name,
            (None, [only]) => only,
            (None, _) => {
                return Err(Error::Operator(format!(
                    "{flag} {}: there are several merchants; say whose it is: {flag} {}={}",
                    value.text, names[0], value.text
                )));
            }
        };
        self.0.get_mut(name).ok_or_else(|| {
            Error::Operator(format!(
                "{flag} {name}={}: there is no merchant {name}; there are: {}",
                value.text,
                names.join(", ")
            ))
        })
    }
}

fn read(flag: &str, text: &str) -> Result<Url> {
    address::read(text).map_err(|rule| Error::Operator(format!("{flag} {text}: {rule}")))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    struct Setting {
        keys: Keys,
        options: Options,
        folder: tempfile::TempDir,
    }

    fn setting(merchants: &[&str]) -> Setting {
        let folder = tempfile::tempdir().unwrap();
        let mut keys = Keys::generate().unwrap();
        for name in merchants {
            keys.add(name).unwrap();
        }
        let options = Options { data: folder.path().to_owned(), ..Options::default() };
        Setting { keys, options, folder }
    }

    impl Setting {
        fn secrets(&self, name: &str, text: &str, mode: u32) -> std::path::PathBuf {
            let path = self.folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(mode)).unwrap();
            path
        }

        fn error(&self) -> String {
            Merchants::new(&self.keys, &self.options).unwrap_err().to_string()
        }
    }

    #[test]
    fn what_is_registered_belongs_to_its_merchant() {
        let mut it = setting(&["brokerage", "shop"]);
        let file = it.secrets("a", "a-secret-of-the-shop\nand-the-one-before\n", 0o600);
        it.options.return_urls = vec!["shop=https://shop.example/paid".parse().unwrap()];
        it.options.webhooks = vec![
            "shop=https://shop.example/events".parse().unwrap(),
            "brokerage=http://127.0.0.1:1/events?a=b".parse().unwrap(),
        ];
        it.options.webhook_secret_files = vec![file];
        let merchants = Merchants::new(&it.keys, &it.options).unwrap();
        let shop = merchants.get("shop").unwrap();
        assert_eq!((shop.return_urls.len(), shop.webhooks[0].secrets.len()), (1, 2));
        let brokerage = merchants.get("brokerage").unwrap();
        assert!(brokerage.return_urls.is_empty() && brokerage.webhooks.len() == 1);
    }

    #[test]
    fn mistakes_name_the_flag_and_the_remedy() {
        assert!(setting(&[]).error().contains("--make-key NAME"));
        let mut it = setting(&["brokerage", "shop"]);
        it.options.return_urls = vec!["https://shop.example/paid".parse().unwrap()];
        assert!(it.error().contains("--return-url brokerage=https://"), "{}", it.error());
        it.options.return_urls = vec!["other=https://shop.example/paid".parse().unwrap()];
        assert!(it.error().contains("there are: brokerage, shop"), "{}", it.error());
        it.options.return_urls = vec!["shop=http://shop.example/paid".parse().unwrap()];
        assert!(it.error().contains("must be an https URL"), "{}", it.error());

        let mut it = setting(&["shop"]);
        it.options.webhooks = vec!["https://shop.example/events".parse().unwrap()];
        assert!(it.error().contains("one file for all"), "{}", it.error());
        for (text, mode, expected) in [
            ("a-secret-of-the-shop", 0o644, "chmod 600"),
            ("short", 0o600, "16 to 256"),
            ("", 0o600, "1 to 4 secrets"),
        ] {
            it.options.webhook_secret_files = vec![it.secrets("s", text, mode)];
            assert!(it.error().contains(expected), "{}", it.error());
        }
        it.options.webhook_secret_files = vec![it.folder.path().join("none")];
        assert!(it.error().contains("--make-webhook-secret"), "{}", it.error());
        it.options.webhook_secret_files = vec![it.secrets("t", "a-secret-of-the-shop", 0o600)];
        it.options.webhooks.push("https://shop.example/events".parse().unwrap());
        assert!(it.error().contains("is there twice"), "{}", it.error());
    }
}
