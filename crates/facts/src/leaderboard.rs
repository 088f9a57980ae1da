//! Leaderboards: systems ranked by their measures, and explanations of single scores.

use serde::Serialize;
use serde_json::{Value, json};

use scholareval_core::domain::Note;
use scholareval_stats::Interval;

/// Systems and their measures, best first.
#[derive(Debug, Clone, Serialize)]
pub struct Leaderboard {
    /// Version of this form: 1.
    pub schema_version: u32,
    /// Title.
    pub title: String,
    /// Decimals of the measures, which are shown in %.
    #[serde(skip)]
    pub decimals: usize,
    /// The measure that ranks the systems, before those that decide ties.
    #[serde(skip)]
    pub ranked_by: String,
    /// The systems.
    pub systems: Vec<Standing>,
    /// Notes needed to use the numbers.
    pub notes: Vec<Note>,
}

/// One system.
#[derive(Debug, Clone, Serialize)]
pub struct Standing {
    /// From 1; systems with equal ranking measures share a rank.
    pub rank: usize,
    /// Its name.
    pub system: String,
    /// Its measures, the same ones for every system.
    #[serde(serialize_with = "by_name")]
    pub metrics: Vec<Measurement>,
    /// An object with the counts behind the measures, added to the JSON fields.
    #[serde(flatten)]
    pub details: Value,
}

/// One measure of one system.
#[derive(Debug, Clone)]
pub struct Measurement {
    /// Name of the measure.
    pub name: String,
    /// 0..=1; `None` if undefined.
    pub estimate: Option<f64>,
    /// 95% interval, if there is one.
    pub interval: Option<Interval>,
}

/// Result of scoring one file.
pub(super) struct ScoredFile {
    pub(super) metrics: Vec<Measurement>,
    /// An object.
    pub(super) details: Value,
    /// Notes on this file, without its name.
    pub(super) notes: Vec<Note>,
}

impl Measurement {
    pub(super) fn new(name: impl Into<String>, value: f64, interval: Option<Interval>) -> Self {
        Self {
            name: name.into(),
            estimate: Some(value),
            interval,
        }
    }
}

impl ScoredFile {
    /// Without details and notes.
    pub(super) fn of(metrics: Vec<Measurement>) -> Self {
        Self {
            metrics,
            details: json!({}),
            notes: Vec::new(),
        }
    }
}

impl Leaderboard {
    /// The systems with these results, ranked by these measures, the most important one first.
    pub(super) fn of(
        title: String,
        decimals: usize,
        scored: impl IntoIterator<Item = (String, ScoredFile)>,
        ranked_by: &[&str],
    ) -> Self {
        let mut board = Self {
            schema_version: 1,
            title,
            decimals,
            ranked_by: ranked_by.first().copied().unwrap_or_default().to_owned(),
            systems: Vec::new(),
            notes: Vec::new(),
        };
        for (system, scored) in scored {
            let notes = scored.notes.into_iter();
            board.notes.extend(notes.map(|note| Note {
                text: format!("{system}: {}", note.text),
                ..note
            }));
            board.systems.push(Standing {
                rank: 0,
                system,
                metrics: scored.metrics,
                details: scored.details,
            });
        }
        board.rank(ranked_by);
        board
    }

    /// Sorts by these measures, descending, the first measure first; ties keep their order.
    fn rank(&mut self, measures: &[&str]) {
        let keys = |system: &Standing| -> Vec<f64> {
            measures
                .iter()
                // A system without the measure is ranked behind one with a 0.
                .map(|name| system.estimate(name).unwrap_or(f64::NEG_INFINITY))
                .collect()
        };
        self.systems.sort_by(|a, b| {
            keys(b)
                .partial_cmp(&keys(a))
                .unwrap_or(std::cmp::Ordering::Equal)
        });
        for at in 0..self.systems.len() {
            let tied = at
                .checked_sub(1)
                .filter(|before| keys(&self.systems[*before]) == keys(&self.systems[at]));
            // 1, 2, 2, 4: as competitions count, so that a rank is one more than the number of
            // better systems.
            self.systems[at].rank = tied.map_or(at + 1, |before| self.systems[before].rank);
        }
    }
}

impl Standing {
    /// The value of a measure, 0..=1.
    pub fn estimate(&self, name: &str) -> Option<f64> {
        self.metrics
            .iter()
            .find(|metric| metric.name == name)?
            .estimate
    }
}

/// `{name: {estimate, low, high}}`.
fn by_name<S: serde::Serializer>(
    metrics: &[Measurement],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(metrics.iter().map(|metric| {
        let (low, high) = metric
            .interval
            .map(|interval| (interval.low, interval.high))
            .unzip();
        (
            &metric.name,
            json!({"estimate": metric.estimate, "low": low, "high": high}),
        )
    }))
}

/// Explanation of a claim's score for one system.
#[derive(Debug, Clone, Serialize)]
pub struct Explanation {
    /// The system.
    pub system: String,
    /// The claim's id, and its text if the file has it.
    pub claim: String,
    /// How each part of the prediction counts, then the claim's contribution.
    pub findings: Vec<CountedPart>,
}

/// How one part of a prediction counts.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct CountedPart {
    /// A label, an abstract or a sentence.
    pub item: String,
    /// How it counts, and why.
    pub finding: String,
}

impl CountedPart {
    pub(super) fn new(item: impl Into<String>, finding: impl Into<String>) -> Self {
        Self {
            item: item.into(),
            finding: finding.into(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ties_share_a_rank_and_the_next_measure_decides_first() {
        let systems = [
            ("last", 0.1, 0.9),
            ("tied", 0.5, 0.2),
            ("best", 0.5, 0.3),
            ("also", 0.5, 0.2),
        ];
        let scored = systems.map(|(system, first, second)| {
            let measure = |name, value| Measurement::new(name, value, None);
            let metrics = vec![measure("a", first), measure("b", second)];
            (system.to_owned(), ScoredFile::of(metrics))
        });
        let board = Leaderboard::of(String::new(), 1, scored, &["a", "b"]);
        let ranks: Vec<_> = board
            .systems
            .iter()
            .map(|system| (system.system.as_str(), system.rank))
            .collect();
        assert_eq!(ranks, [("best", 1), ("tied", 2), ("also", 2), ("last", 4)]);
    }
}
