//! Drawn pictures of goods: a glyph in one of a few colours and arrangements, so that a browser
//! soon has all in its cache.

use std::fmt::Write as _;

use maud::{Markup, html};

/// How many pictures a glyph has.
const VARIANTS: i64 = 24;

/// A picture of this kind, counted from 1, and of this thing among them, with its size set. The
/// name stands beside it, so it has no alternative text.
pub fn image(kind: i64, thing: i64, width: i64) -> Markup {
    html! {
        img src={ "/static/pictures/" (kind) "-" (thing.rem_euclid(VARIANTS)) ".svg" }
            width=(width) height=(width * 3 / 4) alt="" loading="lazy";
    }
}

/// Draws the picture of this name, `KIND-VARIANT.svg`, with the glyph of its kind: lines in a
/// box of 64 by 64.
pub fn by_name(glyphs: &[&str], name: &str) -> Option<String> {
    let (kind, variant) = name.strip_suffix(".svg")?.split_once('-')?;
    let kind: usize = kind.parse().ok().filter(|kind| (1..=glyphs.len()).contains(kind))?;
    let variant: i64 = variant.parse().ok().filter(|variant| (0..VARIANTS).contains(variant))?;
    Some(draw(glyphs[kind - 1], variant))
}

fn draw(glyph: &str, variant: i64) -> String {
    // Muted hues, without bright green and pink.
    let hue = [186, 200, 214, 232, 258, 14, 28, 40, 160, 172, 344, 4]
        [usize::try_from(variant).unwrap_or(0) * 5 % 12];
    let (turn, lean) = (variant * 37 % 13 - 6, variant * 29 % 60);
    let (x, y) = (20 + variant * 53 % 200, 10 + variant * 31 % 90);
    let mut svg = String::with_capacity(1500);
    let _ = write!(
        svg,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 240 180\">\
         <defs><linearGradient id=\"g\" x1=\"0\" y1=\"0\" x2=\"1\" y2=\"1\">\
         <stop stop-color=\"hsl({hue},46%,68%)\"/>\
         <stop offset=\"1\" stop-color=\"hsl({shade},44%,38%)\"/></linearGradient></defs>\
         <rect width=\"240\" height=\"180\" fill=\"url(#g)\"/>\
         <circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\" fill=\"#fff\" opacity=\".13\"/>\
         <path d=\"M0 {a}C60 {b} 90 {c} 140 {a}S220 {b} 240 {c}V180H0z\" fill=\"#fff\" opacity=\".12\"/>\
         <path d=\"M0 {c}C50 {a} 110 {a} 160 {c}S220 {a} 240 {a}V180H0z\" fill=\"#06262e\" opacity=\".16\"/>\
         <g transform=\"translate(120 88) rotate({turn}) scale(1.62) translate(-32 -32)\" fill=\"#fff\" \
         fill-opacity=\".14\" stroke=\"#fff\" stroke-width=\"2.4\" stroke-linecap=\"round\" \
         stroke-linejoin=\"round\"><path d=\"{glyph}\"/></g></svg>",
        shade = hue + 16,
        r = 34 + lean,
        a = 128 + lean / 4,
        b = 112 + lean / 3,
        c = 140 + lean / 5,
    );
    svg
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pictures_exist_for_every_kind_and_for_no_other_name() {
        let glyphs = ["M8 8h48", "M8 9h48"];
        for kind in 1..=2 {
            for variant in 0..VARIANTS {
                assert!(by_name(&glyphs, &format!("{kind}-{variant}.svg")).is_some());
            }
        }
        for name in ["0-0.svg", "3-0.svg", "1-24.svg", "1--1.svg", "1-1.png", "x", "../1-1.svg"] {
            assert!(by_name(&glyphs, name).is_none(), "{name}");
        }
    }
}
