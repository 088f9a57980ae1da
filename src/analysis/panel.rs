//! Agreement of the judges of a panel, and noise of one judge's samples.
//!
//! A unit is one item of one answer: a criterion, an aspect, a question about a claim. Units on the same scale form a
//! group; each scorer and group has its results, over the answers of all systems. Intervals resample questions, with
//! all units of their cases.

use std::borrow::Borrow;
use std::collections::BTreeSet;
use std::sync::Arc;

use serde::Serialize;

use super::quantity::{CITATION_RECALL, distinct, finite};
use super::questions::Questions;
use super::ratings::{Estimate, Ratings};
use crate::domain::{
    CaseId, ComponentKind, MemberValues, REPORT_METRICS, Score, ScoredAnswer, ScorerId,
};
use crate::stats::{Coefficient, MeasurementLevel, mean, sd};

/// Scale of a judge's values.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// 0..=10 for a criterion.
    Points,
    /// Number of snippets present, as counted by the judge (not capped).
    Count,
    /// Share of cited claims, 0..=1.
    Share,
    /// 1..=5 in an aspect.
    Grade,
    /// 1 for support, 0 otherwise: contradiction and insufficient evidence are not distinguished.
    Label,
    /// Any number, for custom scorers.
    Number,
}

impl Scale {
    /// Measurement level for alpha.
    fn level(self) -> MeasurementLevel {
        match self {
            Self::Grade => MeasurementLevel::Ordinal,
            Self::Label => MeasurementLevel::Nominal,
            Self::Points | Self::Count | Self::Share | Self::Number => MeasurementLevel::Interval,
        }
    }

    /// Category for kappa: means of samples and expected scores are rounded on whole-number scales (halves away from
    /// 0).
    fn category(self, value: f64) -> f64 {
        match self {
            Self::Points | Self::Count | Self::Grade => value.round(),
            Self::Share | Self::Label | Self::Number => value,
        }
    }
}

/// Items of a scorer on one scale: `points`, `evidence`, `claims`, `labels`, `irrelevant_paragraphs`,
/// `citation_group`, or an aspect's name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ItemGroup {
    /// Its name, unique within a scorer and panel.
    #[serde(rename = "group")]
    pub name: String,
    /// Its scale.
    pub scale: Scale,
}

impl ItemGroup {
    fn new(name: &str, scale: Scale) -> Self {
        Self {
            name: name.to_owned(),
            scale,
        }
    }

    /// The item's group, and its position in the score.
    fn of(item: &str, score: &Score) -> (usize, Self) {
        let place = |name: &str| {
            score
                .components
                .iter()
                .position(|component| &*component.name == name)
        };
        // If two criteria have the same name, the item of the first is called `name#1`.
        let bare = || item.rsplit_once('#').and_then(|(name, _)| place(name));
        let Some(at) = place(item).or_else(bare) else {
            // ScholarQA-CS2 asks about paragraphs and about the citations of each section.
            if score.component(REPORT_METRICS[0]).is_some() {
                let kind = item.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
                return (usize::MAX, Self::new(kind, Scale::Number));
            }
            // Questions about claims are not components.
            let is_entailment =
                !score.claims.is_empty() || score.component(CITATION_RECALL).is_some();
            let own = if is_entailment {
                Self::new("labels", Scale::Label)
            } else {
                Self::new("items", Scale::Number)
            };
            return (usize::MAX, own);
        };
        let component = &score.components[at];
        let group = match component.kind {
            ComponentKind::Property | ComponentKind::Expertise => {
                Self::new("points", Scale::Points)
            }
            ComponentKind::Evidence => Self::new("evidence", Scale::Count),
            ComponentKind::Citations => Self::new("claims", Scale::Share),
            ComponentKind::Criterion => Self::new("criteria", Scale::Share),
            ComponentKind::Aspect => Self::new(&component.name, Scale::Grade),
            ComponentKind::Length
            | ComponentKind::Excerpts
            | ComponentKind::Share
            | ComponentKind::Count => Self::new(&component.name, Scale::Number),
        };
        (at, group)
    }
}

/// A judge of a panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PanelJudge {
    /// Its identity.
    pub judge: Arc<str>,
    /// Number of units it judged.
    pub rated: usize,
    /// The mean of its values over the units that all judges judged, for comparison: lower is stricter. `None` without
    /// such units.
    pub mean: Option<f64>,
}

/// Agreement of a panel's judges on one group of items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PanelAgreement {
    /// The scorer.
    pub scorer: ScorerId,
    /// The group.
    #[serde(flatten)]
    pub group: ItemGroup,
    /// The judges, in the order of the panel.
    pub judges: Vec<PanelJudge>,
    /// Units judged by the panel.
    pub units: usize,
    /// Units judged by two or more: alpha is over these.
    pub pairable: usize,
    /// Units judged by all.
    pub judged_by_all: usize,
    /// Cases of the pairable units; intervals resample their questions.
    pub cases: usize,
    /// Krippendorff's alpha: interval level for points, counts, shares; ordinal for grades; nominal for labels.
    pub alpha: Estimate,
    /// Mean over pairs of judges of Cohen's kappa with quadratic weights; for labels unweighted. Points, counts and
    /// grades are rounded to whole numbers.
    pub kappa: Estimate,
}

/// Noise of one judge's samples on one group of items.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct SampleNoise {
    /// The scorer.
    pub scorer: ScorerId,
    /// The group.
    #[serde(flatten)]
    pub group: ItemGroup,
    /// The judge's identity.
    pub judge: Arc<str>,
    /// Samples per unit.
    pub samples: usize,
    /// Units with at least two parsed samples; the other values are over these.
    pub units: usize,
    /// Mean of the units' standard deviations (divisor n - 1), on the group's scale; `None` without units.
    pub mean_sd: Option<f64>,
    /// Share of units whose samples are all equal, 0..=1; `None` without units.
    pub all_equal: Option<f64>,
}

/// Agreement of every panel with several judges, and noise of every judge with several samples; scorers in the order of
/// their first answer. Empty lists without panels and repeated samples.
pub(super) fn panel_agreement<A: Borrow<ScoredAnswer>>(
    scored: &[A],
    questions: &Questions<'_>,
    confidence: f64,
) -> (Vec<PanelAgreement>, Vec<SampleNoise>) {
    let mut groups: Vec<Group<'_>> = Vec::new();
    let judged = || {
        scored
            .iter()
            .map(Borrow::borrow)
            .filter(|answer| !answer.members.is_empty())
    };
    let scorers = distinct(judged().map(|answer| &answer.score.scorer));
    for answer in judged() {
        let mut items: Vec<_> = answer
            .members
            .iter()
            .map(|(item, members)| (ItemGroup::of(item, &answer.score), members))
            .collect();
        items.sort_by_key(|((place, _), _)| *place);
        for ((_, group), members) in items {
            let (scorer, judges) = (
                &answer.score.scorer,
                members
                    .iter()
                    .map(|member| &member.judge)
                    .collect::<Vec<_>>(),
            );
            let is_same = |own: &Group<'_>| {
                own.scorer == scorer && own.group == group && own.judges == judges
            };
            let at = groups.iter().position(is_same).unwrap_or_else(|| {
                groups.push(Group {
                    scorer,
                    group,
                    judges,
                    units: Vec::new(),
                });
                groups.len() - 1
            });
            groups[at].units.push((&answer.case.case_id, members));
        }
    }
    // Points, snippets, claims; the others in the order of the score.
    groups.sort_by_key(|group| {
        (
            scorers.iter().position(|scorer| *scorer == group.scorer),
            group.group.scale,
        )
    });
    let of_panels = groups.iter().filter(|group| group.judges.len() > 1);
    let panels = of_panels
        .map(|group| group.agreement(questions, confidence))
        .collect();
    (panels, groups.iter().flat_map(Group::noise).collect())
}

/// The units of one group, all judged by the same judges.
struct Group<'a> {
    scorer: &'a ScorerId,
    group: ItemGroup,
    judges: Vec<&'a Arc<str>>,
    units: Vec<(&'a CaseId, &'a [MemberValues])>,
}

impl Group<'_> {
    fn agreement(&self, questions: &Questions<'_>, confidence: f64) -> PanelAgreement {
        let scale = self.group.scale;
        let ratings = |number: &dyn Fn(f64) -> f64| Ratings {
            rows: (0..self.judges.len())
                .map(|judge| {
                    self.units
                        .iter()
                        .map(|(_, members)| finite(members[judge].value).map(number))
                        .collect()
                })
                .collect(),
            questions: self
                .units
                .iter()
                .map(|(case, _)| questions.number(case))
                .collect(),
        };
        let rated = ratings(&|value| value);
        let kappa = if scale == Scale::Label {
            Coefficient::Kappa
        } else {
            Coefficient::QuadraticKappa
        };
        let (pairable, by_all) = (rated.rated_by(2), rated.rated_by(self.judges.len()));
        let cases: BTreeSet<&CaseId> = pairable.iter().map(|unit| self.units[*unit].0).collect();
        let judges = self
            .judges
            .iter()
            .zip(&rated.rows)
            .map(|(judge, own)| PanelJudge {
                judge: Arc::clone(judge),
                rated: own.iter().flatten().count(),
                mean: mean(
                    &by_all
                        .iter()
                        .filter_map(|unit| own[*unit])
                        .collect::<Vec<_>>(),
                ),
            });
        PanelAgreement {
            scorer: self.scorer.clone(),
            group: self.group.clone(),
            judges: judges.collect(),
            units: self.units.len(),
            pairable: pairable.len(),
            judged_by_all: by_all.len(),
            cases: cases.len(),
            alpha: rated.estimate(Coefficient::Alpha(scale.level()), confidence),
            kappa: ratings(&|value| scale.category(value)).estimate(kappa, confidence),
        }
    }

    /// Noise of each judge with repeated samples.
    fn noise(&self) -> impl Iterator<Item = SampleNoise> {
        let of_judge = |judge: usize| {
            let samples_of = || {
                self.units
                    .iter()
                    .map(|(_, members)| &members[judge].samples)
            };
            let readable: Vec<Vec<f64>> = samples_of()
                .map(|samples| {
                    samples
                        .iter()
                        .filter_map(|sample| finite(*sample))
                        .collect()
                })
                .filter(|samples: &Vec<f64>| samples.len() > 1)
                .collect();
            let spreads: Vec<f64> = readable.iter().filter_map(|samples| sd(samples)).collect();
            let is_equal = |samples: &Vec<f64>| {
                f64::from(u8::from(samples.iter().all(|sample| *sample == samples[0])))
            };
            SampleNoise {
                scorer: self.scorer.clone(),
                group: self.group.clone(),
                judge: Arc::clone(self.judges[judge]),
                samples: samples_of().map(Vec::len).max().unwrap_or(0),
                units: readable.len(),
                mean_sd: mean(&spreads),
                all_equal: mean(&readable.iter().map(is_equal).collect::<Vec<_>>()),
            }
        };
        (0..self.judges.len())
            .map(of_judge)
            .filter(|noise| noise.samples > 1)
    }
}

#[cfg(test)]
mod tests;
