//! Which parts of a text are claims, and which markers belong to them.

use proptest::prelude::*;

use crate::domain::{CitedName, citations, cited_claims};

/// Each claim with its numbers: `Snow melts. 1 2`.
fn claims(text: &str) -> Vec<String> {
    let claims = cited_claims(text, None, 0).into_iter();
    claims
        .map(|claim| {
            let numbers: Vec<String> = claim.names().map(CitedName::to_string).collect();
            format!("{} {}", claim.text, numbers.join(" "))
                .trim_end()
                .to_owned()
        })
        .collect()
}

#[test]
fn a_marker_behind_a_full_stop_belongs_to_the_sentence_before_it() {
    for (text, expected) in [
        (
            "Snow melts.[1] Ice stays.[2]",
            &["Snow melts. 1", "Ice stays. 2"][..],
        ),
        (
            "Snow melts. [1] Ice stays. [2]",
            &["Snow melts. 1", "Ice stays. 2"],
        ),
        (
            "Snow melts [1]. Ice stays [2].",
            &["Snow melts. 1", "Ice stays. 2"],
        ),
        (
            "Snow melts.[1][3] Ice stays.",
            &["Snow melts. 1 3", "Ice stays."],
        ),
        (
            "Snow melts?[1], [3]; [4] Ice stays!",
            &["Snow melts?, ; 1 3 4", "Ice stays!"],
        ),
        (
            "Snow melts.\n[1] Ice stays. [2]\n",
            &["Snow melts. 1", "Ice stays. 2"],
        ),
        (
            "Snow melts.\n[1]\n[2]\nIce stays.",
            &["Snow melts. 1 2", "Ice stays."],
        ),
        (
            "Snow melts.\n\n[1]\n\nIce stays.",
            &["Snow melts. 1", "Ice stays."],
        ),
        (
            "Snow \"melts.\"[1] Ice (stays.) [2] So.",
            &["Snow \"melts.\" 1", "Ice (stays.) 2", "So."],
        ),
        (
            "Snow melts.[1]. [2] Ice stays.",
            &["Snow melts.. 1 2", "Ice stays."],
        ),
        (
            "Snow melts.[1](https://a.example/b) Ice stays.",
            &["Snow melts. 1", "Ice stays."],
        ),
        (
            "Snow melts.[1] mRNA helps. [2] p53 too.",
            &["Snow melts. 1", "mRNA helps. 2", "p53 too."],
        ),
        (
            "Snow melts.[1]【2】42 lakes freeze.",
            &["Snow melts. 1 2", "42 lakes freeze."],
        ),
        ("[1] Snow melts. [2]", &["Snow melts. 1 2"]),
        ("Snow melts [1-3]", &["Snow melts 1 2 3"]),
        // Emphasis and superscript.
        (
            "**Snow melts.** [0] Ice stays [1].",
            &["**Snow melts.** 0", "Ice stays. 1"],
        ),
        (
            "*Snow melts.*[0] **Ice** stays [1].",
            &["*Snow melts.* 0", "**Ice** stays. 1"],
        ),
        (
            "Snow **melts in May.** [0] Ice stays [1].",
            &["Snow **melts in May.** 0", "Ice stays. 1"],
        ),
        (
            "**Snow melts. [0]** Ice stays [1].",
            &["**Snow melts. ** 0", "Ice stays. 1"],
        ),
        (
            "**Snow melts.** Ice stays [1].",
            &["**Snow melts.**", "Ice stays. 1"],
        ),
        (
            "_Snow melts._ [0] Ice stays [1].",
            &["_Snow melts._ 0", "Ice stays. 1"],
        ),
        (
            "<b>Snow melts.</b> [0] Ice stays [1].",
            &["<b>Snow melts.</b> 0", "Ice stays. 1"],
        ),
        (
            "Snow melts.<sup>[0]</sup><sup>[2]</sup> Ice stays.<sup>[1]</sup>",
            &["Snow melts. 0 2", "Ice stays. 1"],
        ),
    ] {
        assert_eq!(claims(text), expected, "{text:?}");
    }
}

#[test]
fn a_marker_before_a_word_in_lower_case_is_its_subject() {
    for (text, expected) in [
        (
            "Lee et al. [18] developed it.",
            &["Lee et al. developed it. 18"][..],
        ),
        (
            "It is known. [5] finds that snow melts.",
            &["It is known.", "finds that snow melts. 5"],
        ),
        (
            "It is known.\n[5], [6] and [7] show it.",
            &["It is known.", ", and show it. 5 6 7"],
        ),
        (
            "It is known. [5]'s method melts snow.",
            &["It is known.", "'s method melts snow. 5"],
        ),
        (
            "It is known. [5] *finds* it.",
            &["It is known.", "*finds* it. 5"],
        ),
        // Not a separate sentence.
        (
            "As shown by Lee et al. [18]",
            &["As shown by Lee et al. 18"],
        ),
        (
            "Lee et al. [18] BERT learns.",
            &["Lee et al. BERT learns. 18"],
        ),
    ] {
        assert_eq!(claims(text), expected, "{text:?}");
    }
}

#[test]
fn a_marker_that_begins_a_paragraph_is_its_label_and_lists_of_sources_are_no_claims() {
    assert_eq!(
        claims("Snow melts.\n\n[1] Ice stays.\n[2] Rain falls."),
        ["Snow melts.", "Ice stays. 1", "Rain falls. 2"]
    );
    let list = "Snow melts.\n\nReferences\n[1] Doe, J. Snow.\n[2] Roe, K. Ice.\nJournal of Ice.\n\nSo it is [2].";
    assert_eq!(claims(list), ["Snow melts.", "So it is. 2"]);
    let untitled = "Snow melts.\n\n[1] Snow, 2019.\n[2] Ice, 2021.\n\n[1]: https://a.example\n[2]: https://b.example";
    assert_eq!(claims(untitled), ["Snow melts."]);
}

#[test]
fn items_and_rows_are_claims_of_their_own() {
    for (text, expected) in [
        (
            "There are:\n- Snow melts [1]\n- Ice stays [2]. It is cold.\n\nRain falls [3].",
            &[
                "There are:",
                "Snow melts 1",
                "Ice stays. 2",
                "It is cold.",
                "Rain falls. 3",
            ][..],
        ),
        (
            "1. Snow melts [1]\n2) Ice stays\n   until May [2]\n(3) Rain\nfalls [3]\nSo it is [4]",
            &[
                "Snow melts 1",
                "Ice stays until May 2",
                "Rain\nfalls 3",
                "So it is 4",
            ],
        ),
        (
            "* Snow melts.\n[1]\n* Ice stays\n  [2]\n• Rain [3]\na) Wind [4]\n",
            &["Snow melts. 1", "Ice stays 2", "Rain 3", "Wind 4"],
        ),
        (
            "一、雪\n1、雪融化【1】\n（2）冰【2】",
            &["一、雪", "雪融化 1", "冰 2"],
        ),
        (
            "| Place | Finding |\n|---|:-:|\n| Slope | Snow melts. It does [1] |\n| Coast | Ice [2] |\n[3] Rain falls.",
            &[
                "Slope Snow melts. It does 1",
                "Coast Ice 2",
                "Rain falls. 3",
            ],
        ),
        (
            "We see.\nPlace | Finding\n--- | ---\nSlope | Snow [1]\nCoast | Ice [2]\n\nSo it is.",
            &["We see.", "Slope Snow 1", "Coast Ice 2", "So it is."],
        ),
        (
            "・雪が溶ける【0】\n・氷【1】\n①雨【2】\n②風[3]\n(1)雪[4]\n(2)Ice [5]\n1.冰[6]",
            &[
                "雪が溶ける 0",
                "氷 1",
                "雨 2",
                "風 3",
                "雪 4",
                "Ice 5",
                "冰 6",
            ],
        ),
        (
            "i. Snow melts [0]\nii. Ice stays [1]\n(iii) Rain [2]",
            &["Snow melts 0", "Ice stays 1", "Rain 2"],
        ),
        (
            "## Snow\nIt melts [0].\n#5 stays",
            &["## Snow", "It melts. 0", "#5 stays"],
        ),
        (
            "Snow -\nin 2019. Then\n12 lakes froze\n-5 degrees",
            &["Snow -\nin 2019.", "Then\n12 lakes froze\n-5 degrees"],
        ),
    ] {
        assert_eq!(claims(text), expected, "{text:?}");
    }
}

#[test]
fn full_stops_of_every_script_end_claims() {
    for (text, expected) in [
        (
            "雪在融化【1】。冰很厚。【2】真的！[3]",
            &["雪在融化。 1", "冰很厚。 2", "真的！ 3"][..],
        ),
        (
            "他说：“雪化了。”冰很厚？\n[1]是的",
            &["他说：“雪化了。”", "冰很厚？ 1", "是的"],
        ),
        (
            "बर्फ पिघलती है [1]। बर्फ रहती है। [2] हाँ",
            &["बर्फ पिघलती है । 1", "बर्फ रहती है। 2", "हाँ"],
        ),
        ("برف [1]۔ یخ؟ [2] ہاں", &["برف ۔ 1", "یخ؟ 2", "ہاں"]),
        ("ནམ། ձյուն։ [1] သည်။ [2]", &["ནམ། ձյուն։ 1", "သည်။ 2"]),
        ("３．５倍になる．[1] 氷", &["３．５倍になる． 1", "氷"]),
    ] {
        assert_eq!(claims(text), expected, "{text:?}");
    }
}

#[test]
fn one_huge_text_takes_linear_time() {
    for unit in [
        "Snow.[1](",
        "Snow.[1]",
        "- a [1] ",
        "| a ",
        "[1,",
        "。[1]",
        ".) ",
        "`a[1]",
        "a.**",
        "a._ [1]",
        ".<sup>[1]</sup>",
    ] {
        let text = unit.repeat(20_000);
        assert!(cited_claims(&text, None, 0).len() < text.len());
    }
}

proptest! {
    #[test]
    fn claims_stand_in_order_and_hold_the_markers_of_prose(
        text in "([.?!。,;:|`-]|[ \n\t]|- |[0-9]|\\[[0-9](-[0-9])?\\]|【[0-9]】|et al\\.|The|the|\\PC){0,60}"
    ) {
        let claims = cited_claims(&text, None, 0);
        prop_assert!(claims.windows(2).all(|pair| pair[0].range.end <= pair[1].range.start));
        for claim in &claims {
            let text_of_claim = &text[claim.range.clone()];
            prop_assert!(!text_of_claim.is_empty() && text_of_claim.trim() == text_of_claim);
        }
        let cited: usize = claims.iter().map(|claim| claim.names().count()).sum();
        let all: usize = citations(&text, None, 0).iter().map(|citation| citation.names.len()).sum();
        prop_assert!(cited <= all);
        if !text.contains(['|', '-', '*', ')', '\n']) {
            prop_assert_eq!(cited, all);
        }
    }
}
