//! A person and the comments on them.

use axum::extract::{Path, Query, State};
use maud::{Markup, html};

use super::app::{App, Purpose};
use super::failure::{Failure, missing};
use super::layout::{self, Crumb, count, pager, prose, rating, sent_before};
use super::search::{PageQuery, id};
use super::{field, item};
use crate::catalogue::region_name;
use crate::store::comments::{self, COMMENTS_PAGE, Comment, NewComment};
use crate::store::items::{self, Item};
use crate::store::pages;
use crate::store::users::User;
use tidegate_sitekit::once::form::Accepted;
use tidegate_sitekit::web::field::hidden;
use tidegate_sitekit::web::form::Posted;
use tidegate_sitekit::web::page::Page;
use tidegate_sitekit::when::{self, Moment};
use tidegate_sitekit::{Problem, Result};

/// The possible ratings with their labels.
const RATINGS: [(i64, &str); 5] =
    [(5, "+5 Excellent"), (3, "+3 Good"), (0, "0 Neutral"), (-3, "−3 Poor"), (-5, "−5 Bad")];

/// GET /users/{user}: ViewUserInfo
pub async fn view(
    State(app): State<App>,
    Path(text): Path<String>,
    Query(query): Query<PageQuery>,
) -> Result<Page, Failure> {
    let user = app.user(id(&text, "person")?).await?;
    let pages = pages(user.nb_of_comments, COMMENTS_PAGE);
    let page = query.of(pages)?;
    let from = (page - 1) * COMMENTS_PAGE;
    let comments = comments::about(&app.database, user.id, from).await?;
    let path = format!("/users/{}", user.id);
    let body = html! {
        (profile(&user))
        h2 { "What others say" }
        @if comments.is_empty() {
            p.notice { "Nobody has left a comment yet." }
        } @else {
            @for comment in &comments { (shown(comment)) }
        }
        @if pages > 1 { (pager(&path, page, pages)) }
    };
    Ok(layout::page(
        &user.nickname,
        &[Crumb::Above("/browse", "Browse"), Crumb::Here(&user.nickname)],
        body,
    ))
}

/// The facts about a person.
pub fn profile(user: &User) -> Markup {
    html! {
        dl {
            dt { "Rating" } dd { (rating(user.rating)) " from " (count(user.nb_of_comments, "comment", "comments")) }
            dt { "Region" } dd { a href={ "/regions/" (user.region) } { (region_name(user.region).unwrap_or("unknown")) } }
            dt { "Here since" } dd { (Moment(user.creation_date)) }
        }
    }
}

/// A comment.
pub fn shown(comment: &Comment) -> Markup {
    html! {
        article.comment {
            header {
                (rating(comment.rating))
                a href={ "/users/" (comment.from) } { (comment.nickname) }
                span { (Moment(comment.date)) }
                a href={ "/items/" (comment.item) } { "item " (comment.item) }
            }
            (prose(&comment.comment))
        }
    }
}

/// The `?item=N` of a comment.
#[derive(Debug, serde::Deserialize)]
pub struct ItemQuery {
    item: Option<String>,
}

async fn subject(app: &App, user: &str, item: &str) -> Result<(User, Item)> {
    let user = app.user(id(user, "person")?).await?;
    let item = items::item(&app.database, id(item, "item")?).await?;
    let item = item.ok_or_else(|| {
        missing("item", "A comment belongs to an item, and nothing was offered under this number.")
    })?;
    Ok((user, item))
}

fn crumbs<'a>(above: &'a str, nickname: &'a str) -> [Crumb<'a>; 2] {
    [Crumb::Above(above, nickname), Crumb::Here("Comment")]
}

/// GET /users/{user}/comment?item={item}: PutCommentAuth
pub async fn comment_sign_in(
    State(app): State<App>,
    Path(text): Path<String>,
    Query(query): Query<ItemQuery>,
) -> Result<Page, Failure> {
    let (user, item) = subject(&app, &text, query.item.as_deref().unwrap_or("none")).await?;
    let above = format!("/users/{}", user.id);
    let body = html! {
        (item::summary(&item))
        form.panel method="post" action={ (above) "/comment" } {
            (hidden("item", item.id))
            (field::sign_in())
            button type="submit" { "Go on" }
        }
        p.aside { "Sign in to say how it went with " (user.nickname) "." }
    };
    Ok(layout::page(
        &format!("Comment on {}", user.nickname),
        &crumbs(&above, &user.nickname),
        body,
    ))
}

/// POST /users/{user}/comment: PutComment
pub async fn comment_form(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let writer = app.sign_in(&posted).await?;
    let (user, item) = subject(&app, &text, posted.get("item").unwrap_or("none")).await?;
    if writer.id == user.id {
        let why = "A rating is what others say.";
        return Err(Problem::new(
            403,
            "You cannot comment on yourself",
            why,
            "Comment on somebody else.",
        )
        .into());
    }
    let above = format!("/users/{}", user.id);
    let body = html! {
        (item::summary(&item))
        form.panel method="post" action={ (above) "/comments" } {
            (hidden("auth", app.token(writer.id, Purpose::Comment { to: user.id, item: item.id })))
            (hidden("item", item.id))
            (field::select("Rating", "rating", RATINGS.into_iter(), 5))
            (field::words("Comment", "comment", 2048, 7))
            button type="submit" { "Leave the comment" }
        }
        p.aside { "You write as " strong { (writer.nickname) } ". What you write can be read by all, and cannot be changed later." }
    };
    Ok(layout::page(
        &format!("Comment on {}", user.nickname),
        &crumbs(&above, &user.nickname),
        body,
    ))
}

/// POST /users/{user}/comments: StoreComment
pub async fn store_comment(
    State(app): State<App>,
    Path(text): Path<String>,
    posted: Posted,
) -> Result<Page, Failure> {
    let to = id(&text, "person")?;
    let mut form = posted.check();
    let item = form.number("item", "Item", 1..=i64::MAX);
    let (from, sent) = app.issued_for(Purpose::Comment { to, item }, &posted)?;
    let rating = form.number("rating", "Rating", -5..=5);
    form.require("rating", RATINGS.iter().any(|(known, _)| *known == rating), || {
        "Rating: must be one of −5, −3, 0, 3 and 5.".into()
    });
    let comment = form.words("comment", "Comment", 1..=2048);
    form.done()?;
    let date = when::now();
    let new = NewComment { from, to, item, rating, comment, date };
    let Accepted { answer: added, differs } = comments::add(&app.database, sent, new).await?;
    let nickname = &added.nickname;
    let above = format!("/users/{to}");
    let body = html! {
        (sent_before(differs))
        p.notice.good role="status" { "Your comment on " (nickname) " has been stored." }
        article.comment {
            header { (self::rating(added.rating)) span { (Moment(added.date)) } }
            (prose(&added.comment))
        }
        p.actions {
            a.button href=(above) { "See all about " (nickname) } " "
            a.button.quiet href={ "/items/" (item) } { "Back to the item" }
        }
    };
    Ok(layout::page("Thank you", &crumbs(&above, nickname), body))
}
