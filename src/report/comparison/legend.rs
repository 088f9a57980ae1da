//! What the columns of a comparison mean: one text for `--help`, `--notes` and the page's tooltips.

use crate::report::table::{Column, Format, Legend};

/// Key, heading and meaning of a column. Columns that a reader knows without help are not here.
pub(crate) const COMPARISON_LEGEND: &[Legend] = &[
    Legend {
        key: "group",
        heading: "group",
        meaning: "systems that share a letter do not differ significantly (over all pairs)",
    },
    Legend {
        key: "first",
        heading: "ranks first (%)",
        meaning: "share of the resamples of the questions in which the system has the highest mean",
    },
    Legend {
        key: "cases",
        heading: "cases",
        meaning: "shared cases, those that all systems have a value for; of pairs, cases with a verdict on the system",
    },
    Legend {
        key: "unscored",
        heading: "unscored",
        meaning: "answers without a value, such as those whose replies could not be read; of pairs, cases with a verdict missing",
    },
    Legend {
        key: "missing",
        heading: "missing",
        meaning: "cases of the run without an answer or value",
    },
    Legend {
        key: "p",
        heading: "p",
        meaning: "adjusted for all pairs of the metric, as is the interval of the difference",
    },
    Legend {
        key: "wins_ties_losses",
        heading: "W/T/L",
        meaning: "cases where the first system is better (win), equal (tie), worse (loss)",
    },
    Legend {
        key: "cohens_dz",
        heading: "d_z",
        meaning: "Cohen's d of the paired differences: their mean divided by their standard deviation",
    },
    Legend {
        key: "pointwise",
        heading: "pair alone",
        meaning: "the difference with the interval of this pair, not adjusted for the other pairs",
    },
    Legend {
        key: "pointwise_p",
        heading: "p alone",
        meaning: "p of this pair, not adjusted for the other pairs",
    },
    Legend {
        key: "win_rate",
        heading: "win rate",
        meaning: "how often the first system beats the second; the mean of its shares when shown first and second",
    },
    Legend {
        key: "against_the_others",
        heading: "by strength",
        meaning: "the mean of the probabilities to beat each of the others, by the strengths",
    },
    Legend {
        key: "strength",
        heading: "strength",
        meaning: "logit of beating an average system, with its interval over questions (Bradley and Terry)",
    },
    Legend {
        key: "when_first",
        heading: "when first",
        meaning: "the win rate where the first system's answer is shown first",
    },
    Legend {
        key: "when_second",
        heading: "when second",
        meaning: "the win rate where it is shown second",
    },
    Legend {
        key: "consistent",
        heading: "consistent",
        meaning: "share of the questions in which both orders have the same verdict",
    },
    Legend {
        key: "at_equal_length",
        heading: "at equal length",
        meaning: "the win rate if the answers were equally long, by regression",
    },
    Legend {
        key: "residual",
        heading: "residual",
        meaning: "the win rate less the one that the strengths give",
    },
    Legend {
        key: "length_adjusted",
        heading: "length-adjusted",
        meaning: "the difference if the answers had as many words (--length-adjusted)",
    },
    Legend {
        key: "words_difference",
        heading: "words",
        meaning: "how many more words the answers of the first system have",
    },
];

/// The column of this key, with heading and meaning of the legend.
pub(super) fn explained(key: &str, format: Format) -> Column {
    let entry = COMPARISON_LEGEND.iter().find(|entry| entry.key == key);
    let heading = entry.map_or(key, |entry| entry.heading);
    Column {
        meaning: entry.map_or("", |entry| entry.meaning),
        ..Column::headed(key, heading, format)
    }
}
