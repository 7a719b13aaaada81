use super::*;

/// A study of one table, and a name for its only figure: 0.174.
fn checked(page: &str) -> Vec<String> {
    let root = tempfile::tempdir().unwrap();
    std::fs::create_dir(root.path().join("o")).unwrap();
    std::fs::write(root.path().join("o/points.csv"), "policy,share\noff,0.174\n").unwrap();
    std::fs::create_dir(root.path().join("p")).unwrap();
    std::fs::write(root.path().join("p/summary.json"), "{}").unwrap();
    let names = Names::read("```text\no.off = o/points[policy=off].share\n```\n").unwrap();
    let findings = check(page, &names, &Sheets::new(root.path()), &mut BTreeSet::new());
    findings.into_iter().map(|it| format!("{}: {}", it.line, it.text)).collect()
}

/// One finding, which begins so.
fn finds(page: &str, expected: &str) {
    let found = checked(page);
    assert_eq!(found.len(), 1, "{page}: {found:?}");
    assert!(found[0].starts_with(expected), "{page}: {found:?}");
}

#[test]
fn a_figure_that_is_in_the_tables_passes_and_a_changed_one_does_not() {
    assert_eq!(checked("Only 17 %<!-- =o.off --> finish."), Vec::<String>::new());
    assert_eq!(checked("Only 17.4<!-- =o.off --> % finish."), Vec::<String>::new());
    finds(
        "# A\n\nOnly\n18 %<!-- =o.off --> finish.",
        "4: 18 %: o.off is 0.174, which is 17 %; correct the text",
    );
}

#[test]
fn a_figure_without_an_origin_is_found_in_text_lists_and_tables() {
    finds("It takes 5 ms.", "1: 5 ms does not say where it comes from");
    finds("a\n\n- It takes 5 ms in 2007.", "3: 5 ms");
    finds("| 1 a | b |\n| --- | --- |\n| 1 | 5 |\n", "3: 5 does not say");
    assert_eq!(checked("At 4× the load in 2007 on 2 processors."), Vec::<String>::new());
}

#[test]
fn an_unknown_name_says_where_names_are_defined() {
    finds("17 %<!-- =o.of -->", "1: 17 %: o.of is not in docs/studies/figures.md");
}

#[test]
fn settings_and_figures_of_the_paper_are_exempt_one_by_one_by_block_and_by_section() {
    assert_eq!(checked("20 %<!-- =paper --> after 4 s<!-- =setting -->."), Vec::<String>::new());
    finds("<!-- figures: setting -->\n\nAfter 4 s.\n\nIt takes 5 ms.", "5: 5 ms");
    let section = "## A\n\n<!-- figures of this section: setting -->\n\n4 s.\n\n### B\n\n5 s.\n\n## C\n\n6 s.";
    finds(section, "13: 6 s");
}

#[test]
fn what_is_not_published_must_say_so_to_its_reader() {
    let page = |text: &str| {
        format!("## A\n\n<!-- figures of this section: not published -->\n\n{text}\n\n5 ms.")
    };
    assert_eq!(checked(&page("This run is not published.")), Vec::<String>::new());
    finds(&page("This run."), "3: a reader does not see it");
    finds("<!-- figures: other -->\n\n5 ms", "1: figures of the kind \"other\" are unknown");
}

#[test]
fn the_part_of_a_study_is_compared_here_until_the_study_is_published() {
    finds("<!-- study: o -->\n\n5 ms\n\n<!-- /study -->", "3: 5 ms");
    let page = "## A\n\n<!-- study: o -->\n<!-- figures of this section: not published -->\n\nNot published.\n\n5 ms\n\n<!-- /study -->";
    assert_eq!(checked(page), Vec::<String>::new());
}

#[test]
fn what_is_generated_is_not_compared_here() {
    let page = "<!-- study: p -->\n\n5 ms\n\n<!-- /study -->\n\n<!-- table: o/points | rows: policy | cells: share -->\n| policy | share |\n| --- | --- |\n| off | 9 |\n\n6 ms";
    finds(page, "12: 6 ms");
}
