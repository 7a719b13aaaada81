//! Small charts of prices, drawn on the server: a line, dashed where it began, with a point
//! where it is now.

use maud::{Markup, html};

use tidegate_sitekit::money::Cents;
use tidegate_sitekit::when::Moment;

/// Size of a chart in its own units; the style sheet gives it another on the page.
const WIDTH: usize = 1200;
const HEIGHT: i64 = 320;

/// A chart of a security's prices, oldest first, up to the latest. It says in words what it
/// shows. Nothing is drawn where there are no prices from before.
pub fn chart(symbol: &str, past: &[Cents], latest: Cents, since: Moment) -> Markup {
    let Some(first) = past.first().copied() else { return html! { "–" } };
    let prices: Vec<Cents> = past.iter().copied().chain([latest]).collect();
    let (low, high) = range(&prices);
    let points = points(&prices);
    let (start, end) = (height(first, low, high), height(latest, low, high));
    html! {
        svg.chart.falls[latest < first].rises[latest > first] viewBox={ "-40 -40 " (WIDTH + 80) " " (HEIGHT + 80) } role="img" {
            title {
                (symbol) " since " (since) ": from " (first) " to " (latest)
                ", lowest " (low) ", highest " (high)
            }
            line x1="0" y1=(start) x2=(WIDTH) y2=(start) {}
            polyline points=(points) {}
            circle cx=(WIDTH) cy=(end) r="36" {}
        }
    }
}

fn range(prices: &[Cents]) -> (Cents, Cents) {
    let low = prices.iter().min().copied().unwrap_or_default();
    let high = prices.iter().max().copied().unwrap_or_default();
    (low, high)
}

/// How far a price is from the upper edge. Prices that are all the same are in the middle.
fn height(price: Cents, low: Cents, high: Cents) -> i64 {
    match high.0 - low.0 {
        0 => HEIGHT / 2,
        span => HEIGHT - (price.0 - low.0).saturating_mul(HEIGHT) / span,
    }
}

/// The line through all prices, which are equally far from each other.
fn points(prices: &[Cents]) -> String {
    let (low, high) = range(prices);
    let steps = prices.len().saturating_sub(1).max(1);
    let points = prices
        .iter()
        .enumerate()
        .map(|(at, price)| format!("{},{}", at * WIDTH / steps, height(*price, low, high)));
    points.collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn drawn(past: &[i64], latest: i64) -> String {
        let past: Vec<Cents> = past.iter().copied().map(Cents).collect();
        chart("ALEN", &past, Cents(latest), Moment(0)).into_string()
    }

    #[test]
    fn a_line_goes_from_the_oldest_price_to_the_latest_within_the_chart() {
        let svg = drawn(&[5000, 5200], 5100);
        assert!(svg.contains("points=\"0,320 600,0 1200,160\""), "{svg}");
        assert!(svg.contains("<circle cx=\"1200\" cy=\"160\""), "{svg}");
        assert!(svg.contains("rises"), "{svg}");
        let told = "ALEN since 1 Jan 1970, 00:00 UTC: from $50.00 to $51.00, lowest $50.00, highest $52.00";
        assert!(svg.contains(told), "{svg}");
        assert!(drawn(&[5000], 4900).contains("falls"));
    }

    #[test]
    fn prices_that_do_not_move_are_a_line_in_the_middle() {
        let svg = drawn(&[5000, 5000], 5000);
        assert!(svg.contains("points=\"0,160 600,160 1200,160\""), "{svg}");
        assert!(!svg.contains("rises") && !svg.contains("falls"), "{svg}");
    }

    #[test]
    fn without_prices_from_before_there_is_no_chart() {
        assert_eq!(drawn(&[], 5000), "–");
    }

    #[test]
    fn the_highest_prices_that_fit_are_drawn() {
        assert!(drawn(&[1, i64::MAX], i64::MAX).contains("points=\"0,"));
    }
}
