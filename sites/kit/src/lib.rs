//! What the reference sites are made with. A site is a schema, operations, pages and a
//! population; the kit has what they stand on. It names no site.
//!
//! | a site's | the kit |
//! | --- | --- |
//! | options | [`database::Location`], [`tls::Tls`], [`password::PasswordCost`]; errors by whose fault they are: [`Error`] |
//! | schema | [`population::Schema`], [`database::tables`]; notes about a database: [`database::notes`] |
//! | population | [`population::prepare`] makes a database ready; [`population::Writer`], [`population::Batch`], [`population::Random`], [`population::Hashing`] |
//! | operations | [`database::Database`] (SQLite embedded, PostgreSQL by URL) and [`database::Transaction`]; [`values!`], [`record!`], [`numbered!`], [`named!`] |
//! | what is refused | [`Problem`], as a page, as JSON and over a link; [`Mistake`]s by field |
//! | accepting once | [`once`] for forms and for requests of programs, [`replay`] for messages; what customers name is a unique column |
//! | pages | [`web::page::Look`]; [`web::form`] reads a form and checks it, [`web::field`] shows it with its mistakes; [`web::asset`] |
//! | an interface for programs | [`api`]: JSON that is parsed with mistakes by field, idempotency keys |
//! | customers | [`password::Hasher`], [`login_limit`]; [`session`] with its [`web::cookie`]; [`token`]s in forms; [`web::client`], [`web::origin`] |
//! | server | [`server::Server`]: a runtime for each core, TLS, work beside the requests |
//! | other services | [`client`] calls one, [`attempts`] repeats a call within its time, [`breaker`] refuses calls of a service that fails; [`mod@queue`] works until it is done; [`backoff`]; [`link`]s between tiers of one service |
//! | keys and files | [`private_file`], [`self_signed`], [`pem`], [`random`] |
//! | the log | [`log_once!`], [`log_seldom!`], [`throttle`] |
//!
//! The smallest site, of one table and one page:
//!
//! ```no_run
//! use std::sync::LazyLock;
//!
//! use axum::{Router, extract::State, http::StatusCode, routing::get};
//! use maud::html;
//! use tidegate_sitekit::database::{Database, Location, tables};
//! use tidegate_sitekit::server::{Peers, Server, Service, runtimes};
//! use tidegate_sitekit::web::page::{Frame, Look, Page};
//! use tidegate_sitekit::{Result, record};
//!
//! struct Book {
//!     title: String,
//!     copies: i64,
//! }
//! record!(Book { title, copies });
//!
//! static LOOK: LazyLock<Look> = LazyLock::new(|| Look {
//!     brand: "Bookshelf",
//!     style: "/static/style.css".into(),
//!     logo: None,
//!     policy: "default-src 'none'; style-src 'self'; frame-ancestors 'none'",
//!     cache: "no-cache",
//! });
//!
//! async fn books(State(database): State<Database>) -> Result<Page, StatusCode> {
//!     let sql = "SELECT title, copies FROM books ORDER BY title LIMIT 20";
//!     let books: Vec<Book> =
//!         database.all(sql, &[]).await.map_err(|_| StatusCode::SERVICE_UNAVAILABLE)?;
//!     let list = html! { ul { @for book in books { li { (book.title) ": " (book.copies) } } } };
//!     Ok(LOOK.page("Books", Frame { home: "/", ..Frame::default() }, &list))
//! }
//!
//! fn main() -> Result<()> {
//!     let location = Location::Sqlite("books.db".into());
//!     location.prepare_apart(async |connection| {
//!         let table = "CREATE TABLE IF NOT EXISTS books (
//!             id {id}, title TEXT NOT NULL, copies {int} NOT NULL)";
//!         Ok(tables::create(connection, table).await?)
//!     })?;
//!     let mut databases = Database::for_cores(&location, runtimes(None)?).into_iter();
//!     let server = Server::start(([127, 0, 0, 1], 8080).into(), None, None, |_| {
//!         let database = databases.next().expect("one for each core");
//!         Ok(move || Service {
//!             router: Router::new().route("/", get(books)).with_state(database),
//!             tls: None,
//!             peers: Peers::Public,
//!             background: None,
//!         })
//!     })?;
//!     println!("http://{}", server.address());
//!     std::thread::park();
//!     Ok(())
//! }
//! ```

pub mod api;
pub mod attempts;
pub mod backoff;
pub mod breaker;
pub mod client;
pub mod client_certificate;
pub mod database;
mod error;
pub mod link;
pub mod login_limit;
pub mod money;
pub mod once;
pub mod password;
pub mod pem;
pub mod population;
pub mod private_file;
pub mod problem;
pub mod queue;
pub mod random;
pub mod replay;
pub mod self_signed;
pub mod server;
pub mod session;
pub mod site;
pub mod throttle;
pub mod tls;
pub mod token;
pub mod web;
pub mod when;

pub use error::{Error, Result};
pub use problem::{Mistake, Problem};
