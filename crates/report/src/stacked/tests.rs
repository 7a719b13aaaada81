use super::*;

fn parts() -> Vec<Part> {
    let part =
        |(name, colour, striped): (&str, usize, bool)| Part { name: name.into(), colour, striped };
    [("handshake <full>", 1, false), ("idle", 6, true), ("never", 2, false)].map(part).into()
}

fn group(name: &str, bars: &[(&str, [f64; 2])]) -> Group {
    let bar = |(name, values): &(&str, [f64; 2])| Bar {
        name: (*name).into(),
        values: values.into(),
        ..Bar::default()
    };
    Group { name: name.into(), bars: bars.iter().map(bar).collect() }
}

/// Position and height of the rectangles of a class, in their order.
fn rectangles(svg: &str, class: &str) -> Vec<(f64, f64)> {
    let attribute = |text: &str, name: &str| {
        let value = text.split(&format!(" {name}=\"")).nth(1).unwrap();
        value.split('"').next().unwrap().parse::<f64>().unwrap()
    };
    svg.split("<rect ")
        .skip(1)
        .filter(|text| text.starts_with(&format!("class=\"part {class}\"")))
        .map(|text| (attribute(text, "y"), attribute(text, "height")))
        .collect()
}

#[test]
fn parts_stand_on_each_other_and_are_as_high_as_their_values() {
    let parts = parts();
    let groups = [group("1 processor", &[("0.9", [10.0, 30.0]), ("4", [60.0, 20.0])])];
    let bars = StackedBars { parts: &parts, groups: &groups, y_unit: "ms", ..Default::default() };
    let svg = bars.svg();
    let (handshake, idle) = (rectangles(&svg, "part-1"), rectangles(&svg, "part-6"));
    // The last one of each is in the legend.
    assert_eq!((handshake.len(), idle.len()), (3, 3), "{svg}");
    for bar in 0..2 {
        let ((lower, low), (upper, high)) = (handshake[bar], idle[bar]);
        assert!((upper + high - lower).abs() < 0.02, "no gap: {svg}");
        let expected = [3.0, 1.0 / 3.0][bar];
        assert!((high / low - expected).abs() < 0.01, "{high} {low}");
    }
    assert!((handshake[1].1 / handshake[0].1 - 6.0).abs() < 0.01, "{handshake:?}");
}

#[test]
fn the_legend_has_the_parts_that_occur_and_marks_those_with_stripes() {
    let parts = parts();
    let groups = [group("a", &[("1", [1.0, 2.0])])];
    let bars = StackedBars { parts: &parts, groups: &groups, ..Default::default() };
    let svg = bars.svg();
    assert!(svg.contains(">handshake &lt;full&gt;</text>") && svg.contains(">idle</text>"));
    assert!(!svg.contains("never"), "{svg}");
    assert_eq!(svg.matches("class=\"stripes\"").count(), 2, "bar and legend: {svg}");
    let narrow = bars.svg_of(Size::Narrow);
    assert_eq!(narrow.matches("class=\"stripes\"").count(), 1, "the page has it: {narrow}");
}

#[test]
fn a_reader_who_does_not_see_it_gets_a_name_and_a_sentence_for_each_bar() {
    let parts = parts();
    let groups = [group("off", &[("4", [600.0, 20.0])]), group("tide", &[("4", [0.0, 20.0])])];
    let bars = StackedBars {
        parts: &parts,
        groups: &groups,
        x_label: "times the capacity",
        y_unit: "ms",
        ..Default::default()
    };
    let svg = bars.svg();
    assert!(svg.contains("<title>ms by times the capacity</title>"), "{svg}");
    let sentence = "off: 4 times the capacity: 620 ms, the largest part handshake &lt;full&gt; with 600. \
                    tide: 4 times the capacity: 20 ms, the largest part idle with 20.";
    assert!(svg.contains(sentence), "{svg}");
    assert!(svg.contains("<title>off: 4 times the capacity\nidle 20 ms\n"), "{svg}");
}

#[test]
fn everything_lies_inside_the_figure_however_many_bars_there_are() {
    let parts = parts();
    for (count, size) in [(1, Size::Wide), (7, Size::Wide), (40, Size::Narrow)] {
        let groups: Vec<Group> = (0..count)
            .map(|n| group(&format!("group {n}"), &[("0.6", [1.0, 2.0]), ("4", [9.0, 1.0])]))
            .collect();
        let bars = StackedBars { parts: &parts, groups: &groups, ..Default::default() };
        let (frame, svg) = (bars.frame(size), bars.svg_of(size));
        let ends = svg.split("<g class=\"at\"><rect x=\"").skip(1).map(|text| {
            let x: f64 = text.split('"').next().unwrap().parse().unwrap();
            (x, x + frame.place)
        });
        for (from, to) in ends {
            assert!(from >= LEFT - 0.1 && to <= frame.right + 0.1, "{from} {to}");
        }
        assert!(frame.lower + 36.0 <= frame.height, "the label of the axis");
    }
}

#[test]
fn no_bars_and_values_that_are_none_draw_without_nonsense() {
    let parts = parts();
    let odd =
        [group("a", &[("1", [f64::NAN, f64::INFINITY]), ("2", [-3.0, 0.0])]), group("b", &[])];
    for groups in [&[][..], &odd] {
        for size in [Size::Wide, Size::Narrow] {
            let svg = StackedBars { parts: &parts, groups, ..Default::default() }.svg_of(size);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}

#[test]
fn a_bar_that_was_not_measured_keeps_its_place_and_says_so() {
    let parts = parts();
    let mut groups = [group("off", &[("2", [1.0, 2.0])]), group("tide", &[("2", [1.0, 2.0])])];
    groups[0].bars.push(Bar { name: "4".into(), values: Vec::new(), ..Bar::default() });
    let svg = StackedBars { parts: &parts, groups: &groups, ..Default::default() }.svg();
    assert!(svg.contains(">4</text>"), "{svg}");
    assert_eq!(svg.matches("not measured").count(), 2, "tooltip and description: {svg}");
    assert!(!svg.contains("in all 0"), "{svg}");
}

#[test]
fn an_interval_is_a_bar_within_the_frame() {
    let parts = parts();
    let mut groups = [group("off", &[("2", [1.0, 2.0])])];
    groups[0].bars[0].interval = Some((2.0, 40.0));
    let bars = StackedBars { parts: &parts, groups: &groups, ..Default::default() };
    assert!(bars.frame(Size::Wide).y_max >= 40.0);
    let svg = bars.svg();
    assert_eq!(svg.matches("class=\"error\"").count(), 1, "{svg}");
}
