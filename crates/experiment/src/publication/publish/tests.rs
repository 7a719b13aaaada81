use super::*;
use crate::claim::{ClaimKind, Verdict};
use tidegate_host::Provenance;

const PAGE: &str = "# O\n\n![shown](o/two-1.png)\n\n<!-- study: o -->\nold\n<!-- /study -->\n\n<!-- table: o/points | rows: policy | cells: requests_per_s -->\n\n12 requests/s<!-- =o.off --> are left.\n";
const NAMED: &str = "```text\no.off = o/points[policy=off].requests_per_s\n```\n";

fn summary(requests_per_s: f64) -> Summary {
    let mut summary = Summary::new("o", false, Provenance::read());
    let row = |value: Value| value.as_object().unwrap().clone();
    let points = vec![row(json!({ "policy": "off", "requests_per_s": requests_per_s }))];
    summary.tables.insert("points".into(), points);
    summary.add_notes(&["a note".into()]);
    let figure = |id: &str| row(json!({ "id": id, "title": format!("Figure {id}") }));
    let figures = ["one", "two-1", "three", "four"].map(figure);
    summary.tables.insert(FIGURES.into(), figures.to_vec());
    let evidence = json!({
        "metric": "requests_of_capacity", "mean": 0.2, "low_95": 0.1, "high_95": 0.3,
        "at_most": 0.25, "paper": "20 %", "values": 5, "rounds": 5,
        "conditions": [{ "levels": { "load": "2" }, "verdict": "undecided", "mean": 0.2 }],
    });
    summary.claims.push(Claim {
        id: "falls".into(),
        source: "001".into(),
        kind: ClaimKind::Paper,
        text: "it | falls".into(),
        verdict: Verdict::Undecided,
        evidence: serde_json::from_value(evidence).unwrap(),
    });
    summary
}

/// A finished study, and the folder of the pages.
fn folders(requests_per_s: f64) -> (tempfile::TempDir, PathBuf, PathBuf) {
    let root = tempfile::tempdir().unwrap();
    let (from, to) = (root.path().join("out"), root.path().join("docs"));
    let study = Folder::create(&from).unwrap();
    study.finish(&summary(requests_per_s)).unwrap();
    fs::create_dir(study.file("figures")).unwrap();
    study.write("figures/one.png", b"an image").unwrap();
    let docs = Folder::create(&to).unwrap();
    docs.write("o.md", PAGE.as_bytes()).unwrap();
    docs.write(NAMES, NAMED.as_bytes()).unwrap();
    (root, from, to)
}

#[test]
fn tables_images_and_the_first_table_are_published_and_a_second_time_nothing_changes() {
    let (_root, from, to) = folders(12.3);
    let published = publish(&from, &to).unwrap();
    assert_eq!(published.findings, []);
    let tables: Vec<&str> = published.tables.iter().map(|it| it.0.as_str()).collect();
    assert_eq!(tables, ["points", "claims"]);
    let page = read(&published.page).unwrap();
    for expected in [
        "**The paper's conclusions**",
        "| it \\| falls<br><small>001</small> | 20 % | 20\u{a0}% (10 to 30) | undecided | The interval contains the limit",
        "| machine |",
        "\n- a note\n",
        "\n![Figure one](o/one.png)\n\n![Figure three](o/three.png)\n",
        "[CITATION.cff](o/CITATION.cff) how to cite them",
        "| commit |",
        "| [points](o/points.csv) | `tidegate study publish out/study/o --table points` |",
        "| policy | requests/s |\n| --- | --- |\n| off | 12.3 |",
        "12 requests/s<!-- =o.off --> are left.",
    ] {
        assert!(page.contains(expected), "{expected}: {page}");
    }
    assert!(!page.contains("\nold\n"));
    assert_eq!(read(&to.join("o/points.csv")).unwrap(), "policy,requests_per_s\noff,12.3\n");
    let claims = read(&to.join("o/claims.csv")).unwrap();
    let heads = "at_least,at_most,condition,high_95,id,kind,low_95,mean,metric,ratios_to_zero,rounds,rounds_without_value,source,text,verdict";
    let all = ",0.25,all,0.3,falls,paper,0.1,0.2,requests_of_capacity,,5,,001,it | falls,undecided";
    let at_two = ",0.25,load 2,,falls,paper,,0.2,,,,,,,undecided";
    assert_eq!(claims.lines().collect::<Vec<_>>(), [heads, all, at_two]);
    assert!(read(&to.join("o/CITATION.cff")).unwrap().starts_with("cff-version: 1.2.0\n"));
    assert!(to.join("o/one.png").exists());
    publish(&from, &to).unwrap();
    assert_eq!(read(&to.join("o.md")).unwrap(), page);
}

#[test]
fn a_text_that_a_new_run_contradicts_is_found() {
    let (_root, from, to) = folders(14.0);
    let findings = publish(&from, &to).unwrap().findings;
    assert_eq!(findings.len(), 1);
    assert!(
        findings[0].text.starts_with("12 requests/s: o.off is 14, which is 14"),
        "{findings:?}"
    );
}

#[test]
fn files_of_an_earlier_run_are_removed_and_others_are_kept() {
    let (_root, from, to) = folders(12.3);
    let place = Folder::create(&to.join("o")).unwrap();
    place.write("former.csv", b"").unwrap();
    place.write("notes.txt", b"").unwrap();
    publish(&from, &to).unwrap();
    assert!(!place.file("former.csv").exists() && place.file("notes.txt").exists());
}

#[test]
fn a_page_that_asks_for_a_table_which_the_run_lacks_leaves_everything_as_it_was() {
    let (_root, from, to) = folders(12.3);
    publish(&from, &to).unwrap();
    let page = read(&to.join("o.md")).unwrap();
    let former = page.replace("o/points | rows", "o/key_numbers | rows");
    fs::write(to.join("o.md"), &former).unwrap();
    fs::write(to.join("o/key_numbers.csv"), "policy,requests_per_s\noff,9\n").unwrap();
    let error = publish(&from, &to).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("key_numbers.csv"), "{error}");
    assert!(error.to_string().ends_with("nothing is published"), "{error}");
    assert!(to.join("o/key_numbers.csv").exists() && to.join("o/points.csv").exists());
    assert_eq!(read(&to.join("o.md")).unwrap(), former);
    let folders = fs::read_dir(&to).unwrap().flatten().filter(|it| it.path().is_dir());
    assert_eq!(folders.count(), 1, "nothing is left beside it");
}

#[test]
fn a_study_without_a_page_or_a_result_is_refused_before_anything_is_written() {
    let (_root, from, to) = folders(12.3);
    fs::write(to.join("o.md"), "# O\n").unwrap();
    let error = publish(&from, &to).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("<!-- study: o -->"), "{error}");
    assert!(!to.join("o").exists());
    fs::remove_file(from.join(SUMMARY)).unwrap();
    assert!(publish(&from, &to).unwrap_err().to_string().contains("finished study"));
    let missing = from.join("missing");
    assert!(publish(&missing, &to).unwrap_err().to_string().contains("is no folder"));
    assert!(!missing.exists());
    let error = renew_block("<!-- study: o -->\n", &Sheets::new(&to)).unwrap_err();
    assert!(error.contains("line 1"), "{error}");
}

#[test]
fn a_table_is_printed_as_it_is_published() {
    let (_root, from, _) = folders(12.3);
    assert_eq!(table(&from, "points").unwrap(), "policy,requests_per_s\noff,12.3\n");
    let error = table(&from, "point").unwrap_err().to_string();
    assert!(error.contains("choose one of points, claims"), "{error}");
}
