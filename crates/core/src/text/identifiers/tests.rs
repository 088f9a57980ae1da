use super::*;

fn keys(text: &str) -> Vec<String> {
    identifiers_in(text)
        .iter()
        .map(WorkIdentifier::key)
        .collect()
}

#[derive(Deserialize)]
struct GoldenRow {
    text: String,
    kind: Option<String>,
    id: Option<String>,
    exact: Option<bool>,
    group: String,
}

#[test]
fn identifiers_are_those_of_the_golden_file() {
    let beside = || concat!(env!("CARGO_MANIFEST_DIR"), "/../../../shared").into();
    let shared =
        std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, std::path::PathBuf::from);
    let path = shared.join("golden/identifiers.json");
    let Ok(json) = std::fs::read_to_string(&path) else {
        eprintln!(
            "skipped: {} is not there; set SCHOLAREVAL_SHARED",
            path.display()
        );
        return;
    };
    let rows: Vec<GoldenRow> = serde_json::from_str(&json).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let first = identifiers_in(&row.text).into_iter().next();
        let read = first
            .as_ref()
            .map(|id| (id.scheme.name(), id.id.as_str(), !id.is_derived));
        let wanted = row.kind.as_deref().zip(row.id.as_deref()).zip(row.exact);
        if read != wanted.map(|((kind, id), exact)| (kind, id, exact)) {
            wrong.push(format!(
                "{}: {:?}: {read:?}, not {wanted:?}",
                row.group, row.text
            ));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        wrong.len(),
        rows.len(),
        wrong.join("\n")
    );
}

/// Checks that each text has this identifier, and no other one.
fn all_are(expected: &str, texts: &[&str]) {
    for text in texts {
        assert_eq!(keys(text), [expected], "{text:?}");
    }
}

#[test]
fn escapes_dashes_and_marks_are_no_part_of_a_doi() {
    all_are(
        "doi:10.1000/ab_c-7",
        &[
            "10.1000/AB_C-7",
            "DOI10.1000/ab_c-7",
            "doi.10.1000/ab_c-7",
            "https:\\/\\/doi.org\\/10.1000\\/ab_c-7",
            "urn:doi:10.1000/ab_c-7",
            "https://doi.org/DOI:10.1000/ab_c-7",
            "https://doi.org/10.1000%252Fab_c-7",
            "10.1000&#x2F;ab&#95;c&#8211;7&nbsp;",
            "10.1000/ab&amp;lowbar;c&ndash;7&lt;br&gt;",
            "\\href{https://doi.org/10.1000/ab\\_c-7}{Doe (2020)}",
            "\\url{10.1000/ab{\\textunderscore}c{-}7}",
            "10.1000/ab$\\backslash$_c-7",
            "10.1000/ab\\_c\\-7",
            "[https://doi.org/10.1000/ab_c-7](https://doi.org/10.1000/ab_c-7)",
            "[x](<https://doi.org/10.1000/ab_c-7>)",
            "***10.1000/ab_c-7***.",
            "`10.1000/ab_c-7`",
            "10.1000/ab_c\u{2212}7。",
            "１０．１０００／ａｂ＿ｃ－７",
            "\u{feff}doi：10.1000/ab_c‐7（2020）",
            "见https://doi.org/10.1000/ab_c-7、他",
            "“10.1000/ab_c-7”,",
            "(see 10.1000/ab_c-7).)",
            "10.1000/ab_c-7;PMID",
            "10.1000/ab_c-7'",
            "10.1000/ab_c-7.pdf",
        ],
    );
    all_are(
        "doi:10.1002/(sici)1097-4636(199823)43:4<422::aid-jbm10>3.0.co;2-m",
        &[
            "10.1002/(SICI)1097-4636(199823)43:4<422::AID-JBM10>3.0.CO;2-M.",
            "10.1002/(SICI)1097-4636(199823)43:4&lt;422::AID-JBM10&gt;3.0.CO;2-M",
            "10.1002/(SICI)1097-4636(199823)43:4{\\textless}422::AID-JBM10{\\textgreater}3.0.CO;2-M",
            "https://onlinelibrary.wiley.com/doi/10.1002/(SICI)1097-4636(199823)43:4%3C422::AID-JBM10%3E3.0.CO;2-M/full",
        ],
    );
    all_are(
        "doi:10.1016/s0001(20)3-4",
        &[
            "10.1016/S0001（20）3–4",
            "10.1016/S0001%2820%293-4",
            "10.1016/S0001(20)3-4[2]",
            "https://doi.org/10.1016/S0001(20)3-4[1][2].",
            "10.1016/S0001(20)3-4[1, 3], and",
            "10.1016/S0001(20)3-4[2](#two)",
            "10.1016/S0001(20)3-4²",
        ],
    );
    all_are(
        "doi:10.1890/0012-9658(2006)87[2445:tpfd]2.0.co;2",
        &["10.1890/0012-9658(2006)87[2445:TPFD]2.0.CO;2"],
    );
    assert_eq!(
        keys("10.1000/a;10.1000/b, 10.1000/c,10.1000/a"),
        ["doi:10.1000/a", "doi:10.1000/b", "doi:10.1000/c"]
    );
    let several = "PMID: 7. PMC8; hal-00000009v2 arXiv:2101.00001 doi:10.1000/x CorpusID: 5";
    let expected = [
        "doi:10.1000/x",
        "arxiv:2101.00001",
        "pmid:7",
        "pmcid:PMC8",
        "corpusid:5",
        "hal:hal-00000009",
    ];
    assert_eq!(keys(several), expected);
}

#[test]
fn an_address_holds_the_doi_before_the_form_of_the_page() {
    all_are(
        "doi:10.1000/x.1",
        &[
            "https://publisher.example/doi/full/10.1000/X.1?needAccess=true",
            "https://publisher.example/doi/10.1000/x.1/full/html#sec-10.1000/other",
            "https://publisher.example/10.1000/x.1/tables/2",
            "https://publisher.example/10.1000/x.1.full.pdf+html".trim_end_matches("+html"),
            "https://publisher.example/10.1000/x.1/suppl_file/a.pdf",
            "https://publisher.example/10.1000/x.1//x",
            "https://publisher.example/doi/10.1000/x.1;jsessionid=7.a",
            "https://publisher.example/page?DOI=10.1000%2Fx.1&y=2",
            "onlinelibrary.wiley.com/doi/10.1000/x.1/abstract",
            "https://web.archive.org/web/2020id_/https:/publisher.example/10.1000/x.1/meta",
            "https://www.google.com/url?q=https%3A%2F%2Fdoi.org%2F10.1000%2Fx.1&sa=D",
            "https://doi-org.ezproxy.example.edu/10.1000/x.1",
            "https://login.proxy.example.edu/login?url=https://doi.org/10.1000/x.1",
            "https://academic.oup.com/a/article-pdf/doi/10.1000/x.1/5566506/x.pdf",
            "https://www.taylorfrancis.com/books/10.1000/x.1/the-title",
        ],
    );
    all_are(
        "doi:10.1101/2020.03.22.002386",
        &[
            "https://www.biorxiv.org/content/10.1101/2020.03.22.002386v3.full.pdf",
            "10.1101/2020.03.22.002386v1",
        ],
    );
    all_are(
        "doi:10.1371/journal.pone.0000001",
        &[
            "https://journals.plos.org/plosone/article/file?id=10.1371/journal.pone.0000001.s002&type=x",
        ],
    );
    assert!(
        keys("https://oxfordre.com/view/10.1093/acrefore/9780190228613.001.0001/acrefore-e-1")
            .is_empty()
    );
    assert!(keys("10.5555/12345 and https://dl.acm.org/doi/10.5555/12345.67").is_empty());
    assert_eq!(keys("10.5555/ice.2017.5"), ["doi:10.5555/ice.2017.5"]);
}

#[test]
fn hosts_stand_for_works_and_the_doubtful_rules_say_so() {
    for (address, key, is_derived) in [
        (
            "https://www-nature-com.ezproxy.example.edu/articles/nbt.1234",
            "doi:10.1038/nbt.1234",
            false,
        ),
        (
            "https://www.nature.com/articles/171737a0",
            "doi:10.1038/171737a0",
            false,
        ),
        (
            "https://www.nature.com/articles/hortres201412/figures/2",
            "doi:10.1038/hortres.2014.12",
            true,
        ),
        (
            "https://www.nature.com/articles/srep20123",
            "doi:10.1038/srep20123",
            false,
        ),
        (
            "https://elifesciences.org/articles/00013",
            "doi:10.7554/elife.00013",
            false,
        ),
        (
            "https://pubs.rsc.org/en/content/articlepdf/2017/cp/c7cp00001c",
            "doi:10.1039/c7cp00001c",
            false,
        ),
        (
            "https://papers.ssrn.com/sol3/papers.cfm?abstract_id=77",
            "doi:10.2139/ssrn.77",
            false,
        ),
        (
            "https://papers.ssrn.com/sol3/Delivery.cfm/x.pdf?abstractid=77&m=1",
            "doi:10.2139/ssrn.77",
            false,
        ),
        (
            "https://www.researchsquare.com/article/rs-77/v2.pdf",
            "doi:10.21203/rs.3.rs-77/v2",
            false,
        ),
        (
            "https://zenodo.org/records/77/files/a.pdf",
            "doi:10.5281/zenodo.77",
            false,
        ),
        (
            "https://hess.copernicus.org/articles/1/22/2020/",
            "doi:10.5194/hess-1-22-2020",
            true,
        ),
        (
            "https://www.hindawi.com/journals/x/2020/77/",
            "doi:10.1155/2020/77",
            true,
        ),
        (
            "https://peerj.com/articles/77.pdf",
            "doi:10.7717/peerj.77",
            true,
        ),
        (
            "https://www.bmj.com/content/340/bmj.c332.full",
            "doi:10.1136/bmj.c332",
            true,
        ),
        (
            "https://www.thelancet.com/pdfs/journals/x/PIIS0140-6736%2820%2930183-5.pdf",
            "doi:10.1016/s0140-6736(20)30183-5",
            true,
        ),
        (
            "https://www.sciencedirect.com/science/article/pii/S0940299397800784",
            "doi:10.1016/s0940-2993(97)80078-4",
            true,
        ),
        (
            "https://osf.io/preprints/socarxiv/ab3de",
            "doi:10.31235/osf.io/ab3de",
            true,
        ),
        (
            "https://www.preprints.org/manuscript/202001.0123/v1",
            "doi:10.20944/preprints202001.0123/v1",
            true,
        ),
        (
            "https://figshare.com/articles/dataset/A_title/77/2",
            "doi:10.6084/m9.figshare.77",
            true,
        ),
        (
            "https://www.mdpi.com/2227-7390/10/12/2128/htm",
            "doi:10.3390/math10122128",
            true,
        ),
        (
            "https://arxiv.org/pdf/math.GT/0309136v1.pdf",
            "arxiv:math/0309136",
            false,
        ),
        (
            "https://huggingface.co/papers/2101.00001",
            "arxiv:2101.00001",
            false,
        ),
        (
            "https://www.ncbi.nlm.nih.gov/pubmed/?term=77",
            "pmid:77",
            false,
        ),
        ("https://europepmc.org/article/MED/77", "pmid:77", false),
        (
            "https://pmc.ncbi.nlm.nih.gov/articles/PMC77/#s1",
            "pmcid:PMC77",
            false,
        ),
        (
            "https://europepmc.org/articles/pmc77?pdf=render",
            "pmcid:PMC77",
            false,
        ),
        (
            "semanticscholar.org/paper/00112233445566778899aabbccddeeff00112233",
            "s2:00112233445566778899aabbccddeeff00112233",
            false,
        ),
        (
            "https://api.semanticscholar.org/CorpusId:77?x=1",
            "corpusid:77",
            false,
        ),
        (
            "https://openreview.net/pdf?id=aB_c-1234",
            "openreview:aB_c-1234",
            false,
        ),
        (
            "https://inria.hal.science/inria-00000077v2",
            "hal:inria-00000077",
            false,
        ),
        (
            "https://www.aclweb.org/anthology/P19-1001.pdf",
            "acl:P19-1001",
            false,
        ),
    ] {
        let first = identifiers_in(address).into_iter().next();
        let read = first.map(|id| (id.key(), id.is_derived));
        assert_eq!(read, Some((key.to_owned(), is_derived)), "{address}");
    }
    assert_eq!(
        keys("https://aclanthology.org/P19-1001v2/")[1],
        "doi:10.18653/v1/p19-1001"
    );
    for none in [
        "https://openreview.net/group?id=ICLR.cc/2023/Conference",
        "https://huggingface.co/datasets/a/2101.00001",
        "https://pubmed.ncbi.nlm.nih.gov/?term=heart",
        "https://aclanthology.org/volumes/2022.emnlp-main/",
        "https://www.nature.com/nature/volumes",
        "https://www.sciencedirect.com/science/article/pii/S0140673620301835",
        "https://www.preprints.org/about",
        "https://www.ncbi.nlm.nih.gov/books/NBK77/",
    ] {
        assert!(keys(none).is_empty(), "{none}: {:?}", keys(none));
    }
}

#[test]
fn labels_name_arxiv_pubmed_and_the_corpus() {
    all_are(
        "arxiv:2101.00001",
        &[
            "arXiv preprint 2101.00001v3",
            "ArXiv, abs/2101.00001",
            "CoRR abs/2101.00001 (2021)",
            "arXiv [2101.00001]",
            "arXiv e-prints, arXiv:2101.00001.",
            "arxiv.org/abs/2101.00001",
            "10.48550/arXiv.2101.00001v1",
        ],
    );
    all_are(
        "arxiv:hep-th/9901001",
        &["arXiv:hep-th/9901001v2", "10.48550/arxiv.hep-th/9901001"],
    );
    all_are(
        "pmid:678",
        &[
            "PMID: 678.0",
            "pmid = {678},",
            "PubMed ID: 00678",
            "PubMed: 678",
        ],
    );
    all_are("pmcid:PMC678", &["PMCID: PMC678.1", "PMCID 678", "PMC678"]);
    for none in [
        "PMID: 0",
        "PMC",
        "pmc678",
        "arXiv:9999.99999",
        "arXiv:2113.00001",
        "arXiv:2101.000012",
        "PMID: 678x",
        "10/abc",
        "10.1000/",
        "10.12/x",
        "hal-1",
    ] {
        assert!(keys(none).is_empty(), "{none}: {:?}", keys(none));
    }
}

#[test]
fn the_rest_of_a_text_has_neither_addresses_nor_identifiers() {
    let (identifiers, rest) =
        identifiers_and_rest("Doe (2020). Ice–snow. doi: 10.1000/a–b. See https://who.int/2019.");
    assert_eq!(
        identifiers,
        [WorkIdentifier::new(IdentifierScheme::Doi, "10.1000/a-b")]
    );
    assert_eq!(rest, "Doe (2020). Ice–snow.  | . See  | .");
}

#[test]
fn hostile_texts_end_in_linear_time() {
    for part in [
        "(",
        ").]",
        "{",
        "10.1000/a<",
        "10.1000/（",
        "https://",
        "%25",
        "&amp;",
        "\\",
        "arXiv ",
        "10.",
        "a.bc/",
    ] {
        let _ = identifiers_and_rest(&part.repeat(10_000));
    }
    let nested = "https://web.archive.org/web/1/".repeat(10_000);
    let _ = identifiers_in(&format!("{nested}https://doi.org/10.1000/x"));
}

proptest::proptest! {
    #[test]
    fn any_text_is_read_and_an_identifier_gives_itself(
        text in "(10\\.1000/|https?://|doi:|arXiv:?|PMID |PMC|%2[8Ff]|&lt;|&amp;|\\\\_|\\{|[a-z0-9./()<>;:#?=&\\-–（）， ]){0,12}",
    ) {
        let (identifiers, _) = identifiers_and_rest(&text);
        for identifier in identifiers {
            let key = identifier.key();
            let text = match identifier.scheme {
                IdentifierScheme::Pmcid | IdentifierScheme::Doi => identifier.id.clone(),
                _ => key.clone(),
            };
            proptest::prop_assert_eq!(keys(&text), [key], "{:?}", text);
        }
    }
}
