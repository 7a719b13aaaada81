//! Reads `steps`.

use super::{Refuse, every};
use tidegate_config::Preset::{Else, Is, Required};
use tidegate_config::{Text, Time, Value, Whole, did_you_mean, keys};

use crate::scenario::navigation::ScriptStep;
use crate::scenario::page::{ChannelUse, Page};

/// Most requests of a script.
const LONGEST: usize = 10_000;

keys! {
    /// A step of a script, if it has more than the name of its page.
    pub(super) static STEP: StepKeys {
        /// The page that is requested.
        page: Text("a page's name") = Required("Home");
        /// Mean think time before it.
        think: Time("0s", "24h") = Else("the page's, else the session's");
        /// How many times the step is taken, each time from the page before it.
        repeat: Whole(1, LONGEST as i64) = Is("1");
    }
}

pub(super) fn read(value: &Value<'_>, pages: &[Page]) -> Option<Vec<ScriptStep>> {
    let list = value.list()?;
    if list.is_empty() {
        return value.refuse("has no step", "write [\"Home\"]");
    }
    let mut steps = Vec::new();
    // Where each entry begins.
    let mut placed = Vec::new();
    for (step, times) in every(&list, |value| step(value, pages))? {
        if steps.len() + times > LONGEST {
            return value.refuse(format!("has more than {LONGEST} requests"), "repeat less");
        }
        placed.push(steps.len());
        steps.extend(std::iter::repeat_n(step, times));
    }
    if pages[steps[0].page as usize].reads_last_page() {
        let remedy = "begin with a page that has a path";
        return list[0].refuse("follows the last page, but there is none yet", remedy);
    }
    let first_message = steps
        .iter()
        .position(|step| matches!(pages[step.page as usize].channel, Some(ChannelUse::Message(_))));
    let opens = |step: &ScriptStep| {
        matches!(pages[step.page as usize].channel, Some(ChannelUse::Open { .. }))
    };
    if let Some(first) = first_message
        && !steps[..first].iter().any(opens)
    {
        let remedy = "begin with a page that has opens = \"websocket\"";
        let place = list.iter().zip(&placed).find(|(_, begins)| **begins == first);
        let place = place.map_or(value, |(place, _)| place);
        return place.refuse("goes to a WebSocket or stream of events, but none is open", remedy);
    }
    Some(steps)
}

/// A step, and how many times over.
fn step(value: &Value<'_>, pages: &[Page]) -> Option<(ScriptStep, usize)> {
    if value.is_str() {
        return Some((ScriptStep { page: page(value, pages)?, think: None }, 1));
    }
    let section = value.section()?;
    section.known(&STEP);
    let Some(name) = section.get(STEP.page.name) else {
        return section.refuse("has no page", "write { page = \"Home\", think = \"3s\" }");
    };
    let times = section.read(&STEP.repeat);
    let think = section.optional(&STEP.think);
    let page = page(&name, pages);
    Some((ScriptStep { page: page?, think: think? }, times? as usize))
}

/// The page of this name.
pub(super) fn page(value: &Value<'_>, pages: &[Page]) -> Option<u16> {
    let name = value.string()?;
    let found = pages.iter().position(|page| page.name == name);
    if found.is_none() {
        value.wrong("is not a page", one_of(name, pages));
    }
    found.map(|index| index as u16)
}

/// Most pages that a remedy names.
const NAMED: usize = 10;

/// What to write in place of a name that is no page.
pub(super) fn one_of(name: &str, pages: &[Page]) -> String {
    if pages.is_empty() {
        return "add a page, such as [pages.Home] with path = \"/\"".into();
    }
    let names: Vec<&str> = pages.iter().map(|page| page.name.as_str()).collect();
    did_you_mean(name, &names).unwrap_or_else(|| match names.split_at_checked(NAMED) {
        Some((first, more)) if !more.is_empty() => {
            format!("pages are {} and {} more", first.join(", "), more.len())
        }
        _ => format!("pages are {}", names.join(", ")),
    })
}
