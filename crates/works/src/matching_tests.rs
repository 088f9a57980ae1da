//! States by what the files of works hold.

use super::super::names::parse_name;
use super::super::wanted::WantedWorks;
use super::*;
use scholareval_core::domain::Retraction;
use std::collections::HashMap;

fn reference(title: &str, authors: &str, year: i32) -> Reference {
    let mut reference = Reference::new("k", "refs.bib:1");
    reference.title = title.to_owned();
    reference.year = Some(year);
    reference.kind = ReferenceKind::Article;
    if !authors.is_empty() {
        reference.authors = authors.split(" and ").map(parse_name).collect();
    }
    reference
}

fn record(source: WorkSource, id: &str, cited: &Reference) -> WorkRecord {
    let mut record = WorkRecord::from_reference(cited.clone());
    record.source = source;
    record.id = id.to_owned();
    record
}

fn check(cited: &Reference, records: &[WorkRecord]) -> CheckedReference {
    let wanted = WantedWorks::new(vec![SoughtWork::new(cited)], &HashMap::new());
    for record in records {
        wanted.offer(record);
    }
    let mut sources: Vec<WorkSource> = records.iter().map(|record| record.source).collect();
    sources.push(WorkSource::Openalex);
    wanted.decide(&sources).remove(0)
}

fn fields(checked: &CheckedReference) -> Vec<&'static str> {
    checked
        .fields
        .iter()
        .map(|field| field.field.name())
        .collect()
}

const TITLE: &str = "Long range order in very thin films";

#[test]
fn an_identifier_that_leads_to_another_work_is_said_and_is_not_the_work() {
    let other = reference("Diet of whales and ice", "O. Ivanova", 2001);
    let mut other = record(WorkSource::Crossref, "10.1000/a", &other);
    other.take_identifiers("10.1000/a");
    let mut cited = reference(TITLE, "A. Lee", 2020);
    cited.take_identifiers("10.1000/A");
    let alone = check(&cited, std::slice::from_ref(&other));
    assert_eq!(alone.state, WorkState::NotInIndex);
    assert_eq!(fields(&alone), ["identifier"]);
    assert_eq!(alone.fields[0].recorded, "Diet of whales and ice");
    let work = record(
        WorkSource::Openalex,
        "W1",
        &reference(TITLE, "A. Lee", 2020),
    );
    let both = check(&cited, &[other, work]);
    assert_eq!(
        (both.state, fields(&both)),
        (WorkState::Differs, vec!["identifier"])
    );
    assert_eq!(both.record.unwrap().id, "W1");
}

#[test]
fn sources_that_have_two_works_under_one_identifier_disagree() {
    let mut cited = reference(TITLE, "A. Lee", 2020);
    cited.take_identifiers("10.1000/a");
    let work = record(WorkSource::Crossref, "10.1000/a", &cited);
    let mut wrong = record(WorkSource::Openalex, "W1", &cited);
    wrong.title = "Diet of whales and ice".to_owned();
    wrong.authors = vec![parse_name("O. Ivanova")];
    assert_eq!(
        check(&cited, &[work.clone(), wrong]).state,
        WorkState::SourcesDisagree
    );
    assert_eq!(
        check(&cited, &[work.clone(), work]).state,
        WorkState::Exists
    );
}

#[test]
fn a_short_title_of_several_works_is_ambiguous_unless_authors_say_which() {
    let editorials = [
        record(
            WorkSource::Openalex,
            "W1",
            &reference("Editorial", "A. Lee", 2001),
        ),
        record(
            WorkSource::Openalex,
            "W2",
            &reference("Editorial", "B. Chen", 2001),
        ),
    ];
    let unsaid = check(&reference("Editorial", "", 2001), &editorials);
    assert_eq!(unsaid.state, WorkState::Ambiguous);
    let nobody = check(&reference("Editorial", "C. Doe", 2001), &editorials);
    assert_eq!(nobody.state, WorkState::Ambiguous);
    let said = check(&reference("Editorial", "B. Chen", 2001), &editorials);
    assert_eq!(
        (said.state, said.record.unwrap().id.as_str()),
        (WorkState::Exists, "W2")
    );
    let single = check(&reference("Editorial", "C. Doe", 2001), &editorials[..1]);
    assert_eq!(
        (single.state, fields(&single)),
        (WorkState::Differs, vec!["authors"])
    );
}

#[test]
fn what_no_source_covers_is_unchecked_and_found_all_the_same() {
    let mut book = reference(TITLE, "A. Lee", 2020);
    book.kind = ReferenceKind::Book;
    let checked = check(&book, &[]);
    assert_eq!(
        (checked.state, checked.reason),
        (WorkState::Unchecked, Some(UncheckedReason::Kind))
    );
    let work = record(WorkSource::Openalex, "W1", &book);
    assert_eq!(check(&book, &[work]).state, WorkState::Exists);
    let empty = check(&reference("", "A. Lee", 2020), &[]);
    assert_eq!(empty.reason, Some(UncheckedReason::NoTitle));
    let short = Reference::of_text("1", "", "LeCun, Y. Deep learning. Nature, 2015.");
    assert_eq!(check(&short, &[]).reason, Some(UncheckedReason::NoTitle));
}

#[test]
fn preprints_may_be_two_years_older() {
    let cited = reference(TITLE, "A. Lee", 2020);
    let mut work = record(
        WorkSource::Arxiv,
        "1801.00001",
        &reference(TITLE, "A. Lee", 2018),
    );
    assert_eq!(
        fields(&check(&cited, std::slice::from_ref(&work))),
        ["year"]
    );
    work.is_preprint = true;
    assert_eq!(check(&cited, &[work]).state, WorkState::Exists);
}

#[test]
fn a_notice_of_any_source_is_kept_and_silence_is_not_clean() {
    let cited = reference(TITLE, "A. Lee", 2020);
    let work = record(WorkSource::SemanticScholar, "1", &cited);
    let clean = record(WorkSource::Openalex, "W1", &cited);
    let mut retracted = record(WorkSource::Crossref, "10.1000/a", &cited);
    retracted.retraction = Some(Retraction::new(RetractionKind::Retracted, "crossref"));
    let status = |records: &[WorkRecord]| check(&cited, records).retraction;
    assert_eq!(
        status(std::slice::from_ref(&work)),
        RetractionStatus::Unknown
    );
    assert_eq!(
        status(&[work.clone(), clean.clone()]),
        RetractionStatus::NoNotice
    );
    assert!(matches!(
        status(&[work, clean, retracted]),
        RetractionStatus::Notice(_)
    ));
}

#[test]
fn a_similar_title_is_the_work_only_with_its_authors() {
    let work = record(
        WorkSource::Openalex,
        "W1",
        &reference(TITLE, "A. Lee", 2020),
    );
    let altered = "Long range order in very thin layers";
    let same = check(
        &reference(altered, "A. Lee", 2020),
        std::slice::from_ref(&work),
    );
    assert_eq!(
        (same.state, fields(&same)),
        (WorkState::Differs, vec!["title"])
    );
    for (authors, year) in [("B. Chen", 2020), ("A. Lee", 2011), ("", 2020)] {
        let other = check(
            &reference(altered, authors, year),
            std::slice::from_ref(&work),
        );
        assert_eq!(other.state, WorkState::NotInIndex, "{authors} {year}");
    }
}

#[test]
fn names_in_a_free_text_decide_where_its_title_is_short_or_not_delimited() {
    let work = record(
        WorkSource::Openalex,
        "W1",
        &reference(
            "Attention is all you need",
            "A. Vaswani and N. Shazeer",
            2017,
        ),
    );
    let state = |text: &str| {
        check(
            &Reference::of_text("1", "", text),
            std::slice::from_ref(&work),
        )
        .state
    };
    assert_eq!(
        state("Vaswani et al. Attention is all you need. NeurIPS 2017"),
        WorkState::Exists
    );
    for altered in [
        "Vaswani, A. Robust attention is all you need. NeurIPS 2017.",
        "Vaswani, A. Attention is all you need and beyond. NeurIPS, 2017.",
        "Vaswani, A. Attention is all you need. J Test. 2040 Jul 5;",
        "A. Vaswani, \"Attention is all you need,\" in Proc. ICML 2040, pp. 1998-2004.",
        "**Attention is all you need**. John Placeholder, Jane Doe. NeurIPS, 2017.",
    ] {
        assert_ne!(state(altered), WorkState::Exists, "{altered}");
    }
    assert_eq!(
        state("Attention is all you need. NeurIPS, 2017."),
        WorkState::Exists
    );
    assert_eq!(
        state("Doe, J. Attention is all you need. NeurIPS, 2017."),
        WorkState::Differs
    );
    assert_eq!(
        state("Vaswani, A. Attention is all you need. NeurIPS, 2031."),
        WorkState::Differs
    );
    assert_eq!(
        state("Subakan, C. Attention is all you need in speech separation. ICASSP 2021."),
        WorkState::NotInIndex
    );
}

#[test]
fn a_notice_about_the_work_of_a_wrong_identifier_is_not_about_the_cited_one() {
    let csv = "Record ID,Title,RetractionDate,RetractionDOI,RetractionPubMedID,OriginalPaperDOI,OriginalPaperPubMedID,RetractionNature\n\
               1,Diet of whales and ice in the north,5/14/2012 0:00,10.1000/r,0,10.1000/a,0,Retraction\n";
    let notices = crate::Retractions::parse(csv.as_bytes(), "rw.csv".as_ref()).unwrap();
    let other = reference("Diet of whales and ice in the north", "O. Ivanova", 2001);
    let mut retracted = record(WorkSource::Crossref, "10.1000/a", &other);
    retracted.take_identifiers("10.1000/a");
    let status = |cited: &Reference| {
        let mut checked = check(cited, std::slice::from_ref(&retracted));
        notices.apply(cited, &mut checked);
        checked.retraction
    };
    let mut misled = reference(TITLE, "A. Lee", 2020);
    misled.take_identifiers("10.1000/a");
    assert_eq!(status(&misled), RetractionStatus::Unknown);
    assert!(matches!(status(&other), RetractionStatus::Notice(_)));
}

#[test]
fn a_derived_identifier_finds_a_record_and_contradicts_none() {
    let lancet =
        "https://www.thelancet.com/journals/lancet/article/PIIS0140-6736(20)30183-5/fulltext";
    let mut recorded = record(WorkSource::Crossref, "x", &reference(TITLE, "A. Lee", 2020));
    recorded.take_identifiers("10.1016/S0140-6736(20)30183-5");
    let by_address = Reference::of_text("1", "c", lancet);
    assert_eq!(
        check(&by_address, std::slice::from_ref(&recorded)).state,
        WorkState::Exists
    );
    // Another work: the address was read wrongly, or is that of another page.
    let mut other = reference("Diet of whales and ice", "O. Ivanova", 2001);
    other.take_identifiers(lancet);
    let checked = check(&other, std::slice::from_ref(&recorded));
    assert_eq!(
        (checked.state, fields(&checked)),
        (WorkState::NotInIndex, vec![])
    );
    let mut cited = reference(TITLE, "A. Lee", 2020);
    cited.take_identifiers("https://www.bmj.com/content/340/bmj.c332");
    assert_eq!(check(&cited, &[recorded]).state, WorkState::Exists);
}

#[test]
fn ids_of_other_systems_find_works_and_only_a_pmcid_contradicts() {
    let hash = "https://www.semanticscholar.org/paper/00112233445566778899aabbccddeeff00112233";
    let mut recorded = record(
        WorkSource::SemanticScholar,
        "77",
        &reference(TITLE, "A. Lee", 2020),
    );
    recorded.take_identifiers("PMC5 https://openreview.net/forum?id=abcdefghij");
    for found in ["PMC5", "https://api.semanticscholar.org/CorpusID:77"] {
        let cited = Reference::of_text("1", "c", found);
        assert_eq!(
            check(&cited, std::slice::from_ref(&recorded)).state,
            WorkState::Exists,
            "{found}"
        );
    }
    let mut cited = reference(TITLE, "A. Lee", 2020);
    cited.take_identifiers(hash);
    assert_eq!(
        check(&cited, std::slice::from_ref(&recorded)).state,
        WorkState::Exists
    );
    cited.take_identifiers("PMC6");
    assert_eq!(
        fields(&check(&cited, std::slice::from_ref(&recorded))),
        ["identifier"]
    );
    // The files hold no such ids: it could not be looked up.
    let unknown = Reference::of_text("1", "c", hash);
    assert_eq!(check(&unknown, &[recorded]).state, WorkState::Unchecked);
}

#[test]
fn whoever_is_not_in_a_list_that_is_cut_does_not_differ() {
    let mut recorded = record(
        WorkSource::Crossref,
        "x",
        &reference(TITLE, "A. Lee and B. Ek", 2020),
    );
    let cited = reference(TITLE, "Z. Zhou", 2020);
    assert_eq!(
        fields(&check(&cited, std::slice::from_ref(&recorded))),
        ["authors"]
    );
    recorded.has_more_authors = true;
    assert_eq!(check(&cited, &[recorded]).state, WorkState::Exists);
}

#[test]
fn a_record_without_a_title_is_the_work_of_its_identifier() {
    let mut recorded = record(WorkSource::Crossref, "x", &reference("", "A. Lee", 1970));
    recorded.doi = Some("10.4321/water".to_owned());
    let mut cited = reference(TITLE, "A. Lee", 1970);
    cited.take_identifiers("10.4321/water");
    assert_eq!(
        check(&cited, std::slice::from_ref(&recorded)).state,
        WorkState::Exists
    );
    cited.year = Some(1990);
    assert_eq!(fields(&check(&cited, &[recorded])), ["year"]);
}

#[test]
fn a_title_that_authors_and_year_contradict_is_that_of_another_work() {
    let work = record(
        WorkSource::Crossref,
        "10.1000/a",
        &reference(TITLE, "A. Lee", 2001),
    );
    let state = |cited: &Reference| {
        let checked = check(cited, std::slice::from_ref(&work));
        (checked.state, fields(&checked))
    };
    assert_eq!(
        state(&reference(TITLE, "O. Ivanova", 2020)),
        (WorkState::NotInIndex, vec![])
    );
    assert_eq!(
        state(&reference(TITLE, "O. Ivanova", 2001)),
        (WorkState::Differs, vec!["authors"])
    );
    assert_eq!(
        state(&reference(TITLE, "A. Lee", 2020)),
        (WorkState::Differs, vec!["year"])
    );
    let text = format!("Ivanova, O. (2020). {TITLE}. Journal of Films, 3.");
    assert_eq!(
        state(&Reference::of_text("1", "a", text)),
        (WorkState::NotInIndex, vec![])
    );
    // An identifier says that the title was meant.
    let mut stated = reference(TITLE, "O. Ivanova", 2020);
    stated.take_identifiers("10.1000/b");
    assert_eq!(
        state(&stated),
        (WorkState::Differs, vec!["authors", "year", "identifier"])
    );
    // Of two works with one title it is the other one.
    let other = record(
        WorkSource::Crossref,
        "10.1000/c",
        &reference(TITLE, "O. Ivanova", 2019),
    );
    let checked = check(
        &reference(TITLE, "O. Ivanova", 2020),
        &[work.clone(), other],
    );
    assert_eq!(checked.state, WorkState::Exists);
}

#[test]
fn a_record_with_a_marked_title_is_retracted_and_a_notice_is_another_work() {
    let retraction_by = |title: &str, cited: &Reference| {
        let mut work = record(
            WorkSource::Crossref,
            "10.1000/a",
            &reference(TITLE, "A. Lee", 2020),
        );
        work.title = title.to_owned();
        let checked = check(cited, &[work]);
        assert_eq!(checked.state, WorkState::Exists, "{title}");
        match checked.retraction {
            RetractionStatus::Notice(notice) => {
                assert!(!notice.is_possible);
                Some((notice.status, notice.source))
            }
            _ => None,
        }
    };
    let of_title = Some((RetractionKind::Retracted, "title".to_owned()));
    for marked in [
        "RETRACTED: {}",
        "Retracted: {}",
        "RETRACTED ARTICLE: {}",
        "RETRACTED CHAPTER: {}",
        "RETRACTED ARTICLE - {}",
        "RETRACTED — {}",
        "Retracted and Republished: {}",
        "[RETRACTED] {}",
        "[Retracted article] {}",
        "*Retracted*: {}",
        "<b>RETRACTED:</b> {}",
        "WITHDRAWN: {}",
        "WITHDRAWN – {}",
        "REMOVED: {}",
        "{} (Retracted)",
        "{} [RETRACTED]",
        "{} (Retracted article. See vol. 380, pg. 123, 2012)",
        "{} – RETRACTED",
        "【撤稿】{}",
    ] {
        let title = marked.replace("{}", TITLE);
        for cited in [TITLE, &title] {
            assert_eq!(
                retraction_by(&title, &reference(cited, "A. Lee", 2020)),
                of_title,
                "{title}"
            );
            let text = Reference::of_text("1", "a", format!("Lee, A. (2020). {cited}. Films, 3."));
            assert_eq!(retraction_by(&title, &text), of_title, "{cited} of {title}");
        }
    }
    let cited = reference(TITLE, "A. Lee", 2020);
    assert_eq!(retraction_by(TITLE, &cited), None);
    assert_eq!(
        retraction_by(&format!("TEMPORARY REMOVAL: {TITLE}"), &cited),
        None
    );
    for notice in [
        "Retraction: {}",
        "Retraction notice to “{}”",
        "Retraction Note: {}",
    ] {
        let title = notice.replace("{}", TITLE);
        let work = record(
            WorkSource::Crossref,
            "10.1000/n",
            &reference(&title, "A. Lee", 2021),
        );
        let checked = check(&cited, std::slice::from_ref(&work));
        assert_eq!(checked.state, WorkState::NotInIndex, "{title}");
        assert_eq!(checked.retraction, RetractionStatus::Unknown, "{title}");
    }
}

#[test]
fn a_notice_of_the_source_goes_with_a_marked_title() {
    let cited = reference(TITLE, "A. Lee", 2020);
    let status = |kind: RetractionKind| {
        let mut work = record(WorkSource::Crossref, "10.1000/a", &cited);
        work.title = format!("RETRACTED: {TITLE}");
        work.retraction = Some(Retraction::new(kind, "crossref"));
        match check(&cited, &[work]).retraction {
            RetractionStatus::Notice(notice) => (notice.status, notice.source),
            other => panic!("{other:?}"),
        }
    };
    let retracted = RetractionKind::Retracted;
    assert_eq!(status(retracted), (retracted, "crossref".to_owned()));
    assert_eq!(
        status(RetractionKind::Reinstated).0,
        RetractionKind::Reinstated
    );
    assert_eq!(
        status(RetractionKind::Corrected),
        (retracted, "title".to_owned())
    );
}

/// A title of a main title, the mark at its end, and a subtitle.
fn title_of(marks: [&str; 3], subtitle: &str) -> String {
    let [open, close, mark] = marks;
    format!("{open}Slow growth of very thin films{close}{mark}{subtitle}")
}

fn text_of(title: &str) -> Reference {
    Reference::of_text(
        "1",
        "a",
        format!("Lee, A. (2020). {title}. Journal of Films, 3."),
    )
}

#[test]
fn another_subtitle_is_another_title_whatever_ends_the_main_title() {
    let [recorded, other] = ["a view from the north", "evidence of two weeks"];
    let ends = [
        ("“", "”"),
        ("\"", "\""),
        ("‘", "’"),
        ("«", "»"),
        ("‹", "›"),
        ("„", "“"),
        ("「", "」"),
        ("《", "》"),
        ("(", ")"),
        ("", " [1]"),
        ("", "?"),
        ("", "!"),
        ("“", "?”"),
        ("\"", "!\""),
        ("*", "*"),
        ("", ""),
        ("", " etc."),
    ];
    for (open, close) in ends {
        for mark in [
            ": ", " - ", " – ", " — ", "—", "：", ": “", ": (", "? ", "! ",
        ] {
            let title = |subtitle: &str| title_of([open, close, mark], subtitle);
            let main = title_of([open, close, ""], "");
            let whole = record(
                WorkSource::Crossref,
                "10.1000/a",
                &reference(&title(recorded), "A. Lee", 2020),
            );
            let mut parts = whole.clone();
            parts.title = main.clone();
            parts.subtitle = Some(recorded.to_owned());
            for work in [whole, parts] {
                let state = |cited: &Reference| check(cited, std::slice::from_ref(&work)).state;
                for cited in [
                    text_of(&title(other)),
                    reference(&title(other), "A. Lee", 2020),
                ] {
                    assert_ne!(state(&cited), WorkState::Exists, "{}", title(other));
                }
                for cited in [
                    text_of(&title(recorded)),
                    text_of(&main),
                    reference(&main, "A. Lee", 2020),
                ] {
                    assert_eq!(
                        state(&cited),
                        WorkState::Exists,
                        "{cited:?} of {}",
                        work.title
                    );
                }
            }
        }
    }
}

#[test]
fn what_follows_a_quotation_in_a_title_is_a_subtitle_and_not_the_venue() {
    let cited = reference("“Is slow growth of films true?”: A view", "A. Lee", 2020);
    let mut work = record(WorkSource::Crossref, "10.1000/a", &cited);
    work.venue = Some("Journal of Films".to_owned());
    let state = |text: &str| {
        let text = format!("Lee, A. (2020). {text}");
        check(
            &Reference::of_text("1", "a", text),
            std::slice::from_ref(&work),
        )
        .state
    };
    assert_eq!(
        state("“Is slow growth of films true?” Evidence of two weeks. Nature."),
        WorkState::Differs
    );
    assert_eq!(
        state("“Is slow growth of films true?” A view. Nature."),
        WorkState::Exists
    );
    assert_eq!(
        state("“Is slow growth of films true?” Journal of Films, 3."),
        WorkState::Exists
    );
    assert_eq!(
        state("Is slow growth of films true? Journal of Films, 3."),
        WorkState::Exists
    );
    assert_eq!(
        state("Is slow growth of films true? 2020;3:5."),
        WorkState::Exists
    );
}
