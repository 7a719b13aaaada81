//! CPU time of each interaction of the auction site, on one core:
//! `auction_cost SCALE REQUESTS [DATABASE-URL]`.
//!
//! The figures are the CPU time of this process without that of the client's
//! thread: HTTP, pages, passwords (`light`), and SQLite. A PostgreSQL server runs
//! in processes of its own and is not counted. One request is in flight at a
//! time, so each includes the wake-up of the site.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};

use tidegate_auction::{Options, start};
use tidegate_host::cpu_clock;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::server::available_cores;

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scale, requests, rest @ ..] = &arguments[..] else {
        return Err("usage: auction_cost SCALE REQUESTS [DATABASE-URL]".into());
    };
    let requests: i64 = requests.parse()?;
    let folder = tempfile::tempdir()?;
    let begin = std::time::Instant::now();
    let site = start(Options {
        listen: "127.0.0.1:0".parse()?,
        database: rest.first().cloned(),
        data: folder.path().into(),
        scale: Some(scale.parse()?),
        password_cost: PasswordCost::LIGHT,
        cores: Some(vec![available_cores()[0]]),
        ..Options::default()
    })?;
    println!("ready in {:.1} s", begin.elapsed().as_secs_f64());
    let people = site.prepared().users;
    let mut asker = Asker::new(site.address())?;
    println!("{:<26} {:>8} {:>9} {:>7}", "interaction", "CPU µs", "bytes", "status");
    for (name, make) in INTERACTIONS {
        let mut setup = Setup { asker: &mut asker, people, number: 0 };
        let prepared: Vec<Request> = (0..requests)
            .map(|number| {
                setup.number = number;
                make(&mut setup)
            })
            .collect::<Result<_, Failure>>()?;
        for request in prepared.iter().take(20).filter(|request| !request.once) {
            asker.ask(request)?;
        }
        let (mut bytes, mut refused) = (0, 0);
        let (all, own) = (cpu_clock::of_this_process(), cpu_clock::of_this_thread());
        for request in &prepared {
            let (status, text) = asker.ask(request)?;
            bytes += text.len();
            refused += i64::from(status != 200);
        }
        let all = cpu_clock::of_this_process() - all;
        let own = cpu_clock::of_this_thread() - own;
        let each = all.saturating_sub(own).as_secs_f64() / requests as f64 * 1e6;
        let status = if refused == 0 { "ok".into() } else { format!("{refused} refused") };
        println!("{name:<26} {each:>8.1} {:>9} {status:>7}", bytes as i64 / requests);
    }
    site.shutdown();
    Ok(())
}

struct Request {
    text: String,
    once: bool,
}

/// Keeps one connection.
struct Asker {
    stream: TcpStream,
    buffer: Vec<u8>,
}

impl Asker {
    fn new(address: SocketAddr) -> Result<Self, Failure> {
        let stream = TcpStream::connect(address)?;
        stream.set_nodelay(true)?;
        Ok(Self { stream, buffer: vec![0; 1 << 17] })
    }

    fn ask(&mut self, request: &Request) -> Result<(u16, String), Failure> {
        self.stream.write_all(request.text.as_bytes())?;
        let mut filled = 0;
        loop {
            let read = self.stream.read(&mut self.buffer[filled..])?;
            if read == 0 {
                return Err("the site closed the connection".into());
            }
            filled += read;
            let text = String::from_utf8_lossy(&self.buffer[..filled]);
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            let length = head.lines().find_map(|line| line.strip_prefix("content-length: "));
            if body.len() >= length.unwrap_or("0").parse()? {
                let status = head.split(' ').nth(1).unwrap_or("0").parse()?;
                return Ok((status, body.to_owned()));
            }
        }
    }
}

/// Makes the requests of an interaction.
struct Setup<'a> {
    asker: &'a mut Asker,
    people: i64,
    number: i64,
}

type Make = fn(&mut Setup<'_>) -> Result<Request, Failure>;

const INTERACTIONS: [(&str, Make); 30] = [
    ("Home", |s| s.get("/")),
    ("Register", |s| s.get("/register")),
    ("RegisterUser", |s| {
        let n = s.number;
        let form = s.get("/register")?;
        let auth = s.auth(&form)?;
        s.once(
            "/register",
            &format!(
                "auth={auth}&firstname=A&lastname=B&nickname=new{n}&email=a@b&password=password{n}&region=7"
            ),
        )
    }),
    ("Browse", |s| s.get("/browse")),
    ("BrowseCategories", |s| s.get("/categories")),
    ("SearchItemsInCategory", |s| s.get(&format!("/categories/{}", s.number % 20 + 1))),
    ("BrowseRegions", |s| s.get("/regions")),
    ("BrowseCategoriesInRegion", |s| s.get(&format!("/regions/{}", s.number % 62 + 1))),
    ("SearchItemsInRegion", |s| {
        s.get(&format!("/regions/{}/categories/{}", s.number % 62 + 1, s.number % 20 + 1))
    }),
    ("ViewItem", |s| s.of_item("")),
    ("ViewUserInfo", |s| s.get(&format!("/users/{}", s.person()))),
    ("ViewBidHistory", |s| s.of_item("/bids")),
    ("BuyNowAuth", |s| s.offer()),
    ("BuyNow", |s| {
        let path = s.offer()?;
        s.post_to(&path)
    }),
    ("StoreBuyNow", |s| {
        let path = s.offer()?;
        let auth = s.auth_at(&path)?;
        let item = path.text.split('/').nth(2).unwrap_or("0").to_owned();
        s.once(&format!("/items/{item}/purchases"), &format!("auth={auth}&quantity=1"))
    }),
    ("PutBidAuth", |s| s.of_item("/bid")),
    ("PutBid", |s| {
        let path = s.of_item("/bid")?;
        s.post_to(&path)
    }),
    ("StoreBid", |s| {
        let path = s.of_item("/bid")?;
        let auth = s.auth_at(&path)?;
        let item = path.text.split('/').nth(2).unwrap_or("0").to_owned();
        let bid = 500_000 + s.number;
        s.once(
            &format!("/items/{item}/bids"),
            &format!("auth={auth}&bid={bid}&max_bid={bid}&quantity=1"),
        )
    }),
    ("PutCommentAuth", |s| s.get(&format!("/users/{}/comment?item=7", s.person()))),
    ("PutComment", |s| {
        let to = s.person() % s.people + 1;
        let login = s.login();
        s.post(&format!("/users/{to}/comment"), &format!("{login}&item=7"))
    }),
    ("StoreComment", |s| {
        let to = s.person() % s.people + 1;
        let login = s.login();
        let form = s.post(&format!("/users/{to}/comment"), &format!("{login}&item=7"))?;
        let auth = s.auth(&form)?;
        let comment = "It+went+well.+".repeat(70);
        s.once(
            &format!("/users/{to}/comments"),
            &format!("auth={auth}&item=7&rating=5&comment={comment}"),
        )
    }),
    ("Sell", |s| s.get("/sell")),
    ("SelectCategoryToSellItem", |s| {
        let login = s.login();
        s.post("/sell", &login)
    }),
    ("SellItemForm", |s| {
        let login = s.login();
        let form = s.post("/sell", &login)?;
        let auth = s.auth(&form)?;
        s.post("/sell/form", &format!("auth={auth}&category=7"))
    }),
    ("RegisterItem", |s| {
        let login = s.login();
        let form = s.post("/sell", &login)?;
        let auth = s.auth(&form)?;
        let words = "A+thing+to+be+proud+of.+".repeat(80);
        s.once("/items", &format!("auth={auth}&category=7&name=Thing&description={words}&initial_price=5&reserve_price=0&buy_now=0&duration=3&quantity=1"))
    }),
    ("AboutMeAuth", |s| s.get("/me")),
    ("AboutMe", |s| {
        let login = s.login();
        s.post("/me", &login)
    }),
    ("(search, rare)", |s| s.get("/search?q=signed+french&category=2")),
    ("(search, frequent)", |s| s.get("/search?q=with&page=3")),
    ("(picture)", |s| s.get("/static/pictures/3-4.svg")),
];

impl Setup<'_> {
    fn person(&self) -> i64 {
        self.number * 7919 % self.people + 1
    }

    fn login(&self) -> String {
        let person = self.person();
        format!("nickname=user{person}&password=password{person}")
    }

    #[expect(clippy::unnecessary_wraps, reason = "like its neighbours")]
    fn get(&self, path: &str) -> Result<Request, Failure> {
        Ok(Request { text: format!("GET {path} HTTP/1.1\r\nhost: site\r\n\r\n"), once: false })
    }

    #[expect(clippy::unnecessary_wraps, reason = "like its neighbours")]
    fn post(&self, path: &str, body: &str) -> Result<Request, Failure> {
        let kind = "application/x-www-form-urlencoded";
        let text = format!(
            "POST {path} HTTP/1.1\r\nhost: site\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        Ok(Request { text, once: false })
    }

    fn once(&self, path: &str, body: &str) -> Result<Request, Failure> {
        Ok(Request { once: true, ..self.post(path, body)? })
    }

    /// Signs in at the address of a page.
    fn post_to(&self, page: &Request) -> Result<Request, Failure> {
        let path = page.text.split(' ').nth(1).unwrap_or("/");
        self.post(path, &self.login())
    }

    fn auth(&mut self, form: &Request) -> Result<String, Failure> {
        let (status, text) = self.asker.ask(form)?;
        let auth =
            text.split("name=\"auth\" value=\"").nth(1).and_then(|rest| rest.split('"').next());
        auth.map(Into::into).ok_or_else(|| format!("no token ({status}): {text}").into())
    }

    fn auth_at(&mut self, page: &Request) -> Result<String, Failure> {
        let form = self.post_to(page)?;
        self.auth(&form)
    }

    /// A page of one of the items in the largest category.
    fn of_item(&mut self, page: &str) -> Result<Request, Failure> {
        let list =
            self.get(&format!("/categories/{}", [6, 19, 16, 4, 2][self.number as usize % 5]))?;
        let (_, text) = self.asker.ask(&list)?;
        let items: Vec<&str> = links(&text).collect();
        let item = items[self.number as usize / 5 % items.len()];
        self.get(&format!("/items/{item}{page}"))
    }

    /// The form to buy an item that is offered now for this purpose, so that
    /// there is enough of it.
    fn offer(&mut self) -> Result<Request, Failure> {
        if self.number % 90 == 0 {
            let login = self.login();
            let form = self.post("/sell", &login)?;
            let auth = self.auth(&form)?;
            let body = format!(
                "auth={auth}&category=7&name=Stock&description=Plenty.&initial_price=5&reserve_price=0&buy_now=9&duration=7&quantity=100"
            );
            let offer = self.post("/items", &body)?;
            let (_, text) = self.asker.ask(&offer)?;
            let item = links(&text).next().ok_or("no item")?.to_owned();
            OFFER.with_borrow_mut(|offer| *offer = item);
        }
        let item = OFFER.with_borrow(Clone::clone);
        self.number += i64::from(self.number % 90 == 0);
        self.get(&format!("/items/{item}/buy"))
    }
}

thread_local! {
    static OFFER: std::cell::RefCell<String> = const { std::cell::RefCell::new(String::new()) };
}

fn links(text: &str) -> impl Iterator<Item = &str> {
    text.split("href=\"/items/").skip(1).filter_map(|rest| rest.split('"').next())
}
