//! Which sources citations name, and to which sentence they belong.

use std::path::{Path, PathBuf};

use serde_json::Value;

use super::*;
use crate::domain::{Source, SourceWork};

fn prediction(sources: usize) -> Prediction {
    Prediction {
        sources: vec![Source::default(); sources],
        ..Prediction::default()
    }
}

/// Each claim with what it cites: `Snow melts. 1 2`.
fn bound(text: &str, prediction: Option<&Prediction>, base: u64) -> Vec<String> {
    let claims = cited_claims(text, prediction, base).into_iter();
    claims
        .map(|claim| {
            let names: Vec<String> = claim.names().map(ToString::to_string).collect();
            format!("{} {}", claim.text, names.join(" "))
                .trim_end()
                .to_owned()
        })
        .collect()
}

#[test]
fn numbers_lead_to_sources_and_those_beyond_them_dangle() {
    let text = "A [0]. B [1, 7].";
    let found = citations(text, Some(&prediction(2)), 0);
    assert_eq!(
        (&found[0].sources[..], &found[0].dangling[..]),
        (&[0][..], &[][..])
    );
    assert_eq!(
        (&found[1].sources[..], &found[1].dangling[..]),
        (&[1][..], &[7][..])
    );
    assert_eq!(&text[found[1].place.range.clone()], "[1, 7]");
    // Counted from 1, 0 is invalid and 1 is the first source.
    let found = citations(text, Some(&prediction(2)), 1);
    assert_eq!(
        (&found[0].dangling[..], &found[1].sources[..]),
        (&[0][..], &[0][..])
    );
}

#[test]
fn without_sources_nothing_dangles_and_names_are_found_too() {
    let found = citations("As shown [3] (Wang et al., 2023).", None, 0);
    assert_eq!(found.len(), 2);
    let is_open = |citation: &Citation| citation.dangling.is_empty() && citation.sources.is_empty();
    assert!(found.iter().all(is_open));
    assert!(
        citations("[3]", Some(&prediction(0)), 0)[0]
            .dangling
            .is_empty()
    );
}

const LIST: &str = "\n\n## References\n[1] Berger, A., & Lin, K. (2019). Snow on slopes. https://doi.org/10.4321/snow.7\n\
    [2] Okafor, N. (2021a). Ice by the sea. arXiv:2103.04567.\n[3] Nandi et al. How lakes warm. 2018. https://lakes.example/warm\n\
    [4] Okafor, N. (2021b). Ice inland.\n";

#[test]
fn markers_of_every_form_belong_to_their_sentence() {
    for (text, expected) in [
        (
            "Snow stays.[1][3] Ice thins.[^2]",
            &["Snow stays. 1 3", "Ice thins. 2"][..],
        ),
        (
            "Snow stays【1†L3-L5】【4:2†source】. Ice thins.【3†source】",
            &["Snow stays. 1 2", "Ice thins. 3"],
        ),
        (
            "Snow stays [cite: 1, 3]. Ice thins. [citation:2]",
            &["Snow stays. 1 3", "Ice thins. 2"],
        ),
        (
            "Snow stays.¹ Ice thins.²,³ Rain falls¹⁻².",
            &["Snow stays. 1", "Ice thins. 2 3", "Rain falls. 1 2"],
        ),
        (
            "Snow stays.<sup>1</sup> Ice thins.<sup>[2][3]</sup> So.",
            &["Snow stays. 1", "Ice thins. 2 3", "So."],
        ),
        (
            "“Snow stays.”[1] Ice (thins).[2] He said “so.” [3] Then.",
            &[
                "“Snow stays.” 1",
                "Ice (thins). 2",
                "He said “so.” 3",
                "Then.",
            ],
        ),
        (
            "Snow stays [[1]](https://a.example/x#:~:text=y). Ice thins.[2](https://b.example)",
            &["Snow stays. 1", "Ice thins. 2"],
        ),
        (
            "Snow stays (Berger & Lin, 2019; Nandi et al., 2018). Ice thins (Okafor, 2021b).",
            &["Snow stays. 1 3", "Ice thins. 4"],
        ),
        (
            "Nandi et al. (2018) say that snow stays. Ice thins (Okafor, 2021).",
            &[
                "Nandi et al. (2018) say that snow stays. 3",
                "Ice thins (Okafor, 2021).",
            ],
        ),
        (
            "Snow stays (see https://doi.org/10.4321/SNOW.7). [Ice](https://www.lakes.example/warm/) thins.",
            &["Snow stays. 1", "Ice thins. 3"],
        ),
        (
            "- Snow stays [1]\n- Ice thins\n  [2]\n\n| Ice | thins [3] |",
            &["Snow stays 1", "Ice thins 2", "Ice thins 3"],
        ),
        (
            "The years [2020] and x[7], [0, 1] count. Snow stays [1].",
            &["The years [2020] and x[7], [0, 1] count.", "Snow stays. 1"],
        ),
        (
            "[Nandi et al. (2018)](https://lakes.example/warm) say so. Ice thins.",
            &["Nandi et al. (2018) say so. 3", "Ice thins."],
        ),
        (
            "It covers 5 km² and 10⁶ m<sup>2</sup> [1].",
            &["It covers 5 km² and 10⁶ m<sup>2</sup>. 1"],
        ),
    ] {
        let text = format!("{text}{LIST}");
        assert_eq!(bound(&text, None, 0), expected, "{text}");
    }
}

#[test]
fn sources_of_a_file_are_named_by_number_id_address_and_author() {
    let work = |author: &str, year: i32, url: &str, id: &str| Source {
        work: Some(Box::new(SourceWork {
            authors: vec![author.to_owned()],
            year: Some(year),
            url: Some(url.to_owned()),
            id: Some(id.to_owned()),
        })),
        ..Source::default()
    };
    let (first, second) = ("0a".repeat(20), "0b".repeat(20));
    let prediction = Prediction {
        sources: vec![
            work("Ana Berger", 2019, "https://a.example/snow", &first),
            work("Okafor, N.", 2021, "10.4321/ice", "7"),
        ],
        ..Prediction::default()
    };
    let text = format!(
        "Snow stays [{first}, {second}]. Ice thins (Okafor, 2021). See [here](http://www.a.example/snow#x) and \
         https://other.example. Rain falls [9]. Wind blows (Roe, 2020)."
    );
    let claims = bound(&text, Some(&prediction), 0);
    assert_eq!(claims[0], format!("Snow stays. 0 {second}"));
    assert_eq!(
        claims[1..],
        [
            "Ice thins. 1",
            "See here and https://other.example. 0",
            "Rain falls. 9",
            "Wind blows (Roe, 2020).",
        ]
    );
    let found = citations(&text, Some(&prediction), 0);
    let dangling: Vec<u64> = found
        .iter()
        .flat_map(|citation| citation.dangling.clone())
        .collect();
    assert_eq!(dangling, [9]);
}

#[test]
fn without_a_list_and_sources_links_name_themselves() {
    let text = "Snow stays ([a.example](https://a.example/x)). Ice thins: https://b.example/y. So [it](https://c.example) is.";
    assert_eq!(
        bound(text, None, 0),
        [
            "Snow stays. https://a.example/x",
            "Ice thins. https://b.example/y",
            "So it is. https://c.example",
        ]
    );
}

/// Words of a text, by which sentences are compared.
fn words(text: &str) -> String {
    tokens(text).collect::<Vec<_>>().join(" ")
}

/// Sources as `ctxs` have them, of the references of a golden row.
fn sources_of(row: &Value) -> Prediction {
    let mut sources = Vec::new();
    for reference in row["references"].as_array().unwrap() {
        let text = |key: &str| reference[key].as_str().map(str::to_owned);
        let authors = reference["authors"].as_array().into_iter().flatten();
        let arxiv = text("arxiv").map(|id| format!("arXiv:{id}"));
        sources.push(Source {
            work: Some(Box::new(SourceWork {
                authors: authors
                    .map(|name| name.as_str().unwrap().to_owned())
                    .collect(),
                year: reference["year"].as_i64().map(|year| year as i32),
                url: text("doi").or(arxiv).or(text("url")),
                id: text("marker"),
            })),
            ..Source::default()
        });
    }
    Prediction {
        sources,
        ..Prediction::default()
    }
}

#[test]
fn golden_bindings_come_out_right() {
    let beside = || Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared");
    let shared = std::env::var_os("SCHOLAREVAL_SHARED").map_or_else(beside, PathBuf::from);
    let Ok(text) = std::fs::read_to_string(shared.join("golden/lists.json")) else {
        eprintln!("skipped: no golden bindings in {}", shared.display());
        return;
    };
    let rows: Vec<Value> = serde_json::from_str(&text).unwrap();
    let mut wrong = Vec::new();
    for row in &rows {
        let text = row["text"].as_str().unwrap();
        let prediction = sources_of(row);
        for (prediction, base) in [(None, 0), (Some(&prediction), 1)] {
            let claims = cited_claims(text, prediction, base);
            for expected in row["claims"].as_array().into_iter().flatten() {
                let sentence = words(expected["sentence"].as_str().unwrap());
                let claim = claims.iter().find(|claim| words(&claim.text) == sentence);
                let mut names: Vec<String> = Vec::new();
                for name in claim.iter().flat_map(|claim| claim.names()) {
                    names.push(name.to_string());
                }
                let markers: Vec<&str> = expected["markers"]
                    .as_array()
                    .unwrap()
                    .iter()
                    .filter_map(Value::as_str)
                    .collect();
                // A source without a number in the text has one in `ctxs`.
                let is_named = prediction.is_some() && markers.iter().any(|name| name.len() > 2);
                let is_right = if is_named {
                    names.len() == markers.len()
                } else {
                    names == markers
                };
                if claim.is_none() || !is_right {
                    wrong.push(format!(
                        "{} {}: {sentence} {markers:?}, but {names:?} of {:?}",
                        row["id"],
                        prediction.is_some(),
                        claims.iter().map(|claim| &claim.text).collect::<Vec<_>>(),
                    ));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
