//! Agreement of the judges of a panel, and noise of one judge's samples.
//!
//! A unit is one item of one answer: a criterion, an aspect, a question about a claim. Units on the same scale form a
//! group; each scorer and group has its results, over the answers of all systems. Intervals resample questions, with
//! all units of their cases.

use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use serde::Serialize;

use super::quantity::{CITATION_RECALL, distinct, finite};
use super::questions::Questions;
use super::ratings::{Estimate, Ratings};
use scholareval_core::domain::{
    CaseId, ComponentKind, MemberValues, REPORT_METRICS, Score, ScoredAnswer, ScorerId,
};
use scholareval_stats::{Coefficient, MeasurementLevel, mean, sd};

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
            // Steps between grades need not be equal; points and shares are averaged as numbers
            // anyway.
            Self::Grade => MeasurementLevel::Ordinal,
            Self::Label => MeasurementLevel::Nominal,
            Self::Points | Self::Count | Self::Share | Self::Number => MeasurementLevel::Interval,
        }
    }

    /// Category for kappa: means of samples and expected scores are rounded on whole-number scales (halves away from
    /// 0).
    fn category(self, value: f64) -> f64 {
        match self {
            // Expected scores (`--logprobs`) are not whole, and as separate categories would
            // never be equal.
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
        let Some(at) = place_of(item, score) else {
            return (usize::MAX, Self::of_no_component(item, score));
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
            | ComponentKind::Net
            | ComponentKind::Count => Self::new(&component.name, Scale::Number),
        };
        (at, group)
    }

    /// The group of an item that is not a component of the score.
    fn of_no_component(item: &str, score: &Score) -> Self {
        // ScholarQA-CS2 asks about paragraphs and about the citations of each section.
        if score.component(REPORT_METRICS[0]).is_some() {
            let kind = item.trim_end_matches(|c: char| c == '_' || c.is_ascii_digit());
            return Self::new(kind, Scale::Number);
        }
        // Questions about claims.
        if !score.claims.is_empty() || score.component(CITATION_RECALL).is_some() {
            return Self::new("labels", Scale::Label);
        }
        Self::new("items", Scale::Number)
    }
}

/// The position of the component that the item is about. Of criteria with the same name, the items are called `name#1`, by their
/// positions.
fn place_of(item: &str, score: &Score) -> Option<usize> {
    if let Some(place) = place_named(item, score) {
        return Some(place);
    }
    let (name, number) = item.rsplit_once('#')?;
    let place = number.parse::<usize>().ok();
    let numbered = place.filter(|place| {
        let component = score.components.get(*place);
        component.is_some_and(|component| component.name.as_str() == name)
    });
    numbered.or_else(|| place_named(name, score))
}

fn place_named(name: &str, score: &Score) -> Option<usize> {
    let mut components = score.components.iter();
    components.position(|component| &*component.name == name)
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
    /// Samples per unit; of a vote that stops early its first two, which are always taken.
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
    let groups = panel_groups(scored);
    let with_several = groups.iter().filter(|group| group.judges.len() > 1);
    let agreements = with_several.map(|group| group.agreement(questions, confidence));
    (agreements.collect(), noise_of(&groups))
}

/// The units of every panel and of every judge with several samples, by scorer and scale.
fn panel_groups<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Vec<PanelGroup<'_>> {
    let mut groups: Vec<PanelGroup<'_>> = Vec::new();
    let judged = || {
        let answers = scored.iter().map(Borrow::borrow);
        answers.filter(|answer: &&ScoredAnswer| !answer.members.is_empty())
    };
    let scorers = distinct(judged().map(|answer| &answer.score.scorer));
    for answer in judged() {
        let scorer = &answer.score.scorer;
        let mut items = Vec::new();
        for (item, members) in &answer.members {
            let (place, group) = ItemGroup::of(item, &answer.score);
            items.push((place, group, members));
        }
        items.sort_by_key(|(place, _, _)| *place);
        for (_, group, members) in items {
            let judges: Vec<&Arc<str>> = members.iter().map(|member| &member.judge).collect();
            let known = groups.iter().position(|other| {
                other.scorer == scorer && other.group == group && other.judges == judges
            });
            let at = known.unwrap_or(groups.len());
            if known.is_none() {
                groups.push(PanelGroup {
                    scorer,
                    group,
                    judges,
                    units: Vec::new(),
                });
            }
            groups[at].units.push((&answer.case.case_id, members));
        }
    }
    // Points, snippets, claims; the others in the order of the score.
    groups.sort_by_key(|group| {
        let scorer = scorers.iter().position(|scorer| *scorer == group.scorer);
        (scorer, group.group.scale)
    });
    groups
}

fn noise_of(groups: &[PanelGroup<'_>]) -> Vec<SampleNoise> {
    let mut noise = Vec::new();
    for group in groups {
        for judge in 0..group.judges.len() {
            noise.extend(group.noise(judge));
        }
    }
    noise
}

/// How the repeated verdicts of each judge differ; empty for judges that were asked once.
pub fn sample_noise<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Vec<SampleNoise> {
    noise_of(&panel_groups(scored))
}

/// A judge of a panel: its identity, and which one it is of those with this identity.
pub type PanelSeat = (Arc<str>, usize);

/// The judges of the panels that gave these scores, each once.
pub fn panel_seats<A: Borrow<ScoredAnswer>>(scored: &[A]) -> Vec<PanelSeat> {
    let panels = scored
        .iter()
        .flat_map(|answer| answer.borrow().members.values());
    distinct(panels.flat_map(|members| seats_of(members)))
}

/// The seats of the judges of one panel, in order.
fn seats_of(members: &[MemberValues]) -> Vec<PanelSeat> {
    let mut seats: Vec<PanelSeat> = Vec::new();
    for member in members {
        let earlier = seats.iter().filter(|(judge, _)| *judge == member.judge);
        seats.push((Arc::clone(&member.judge), earlier.count()));
    }
    seats
}

/// These answers with the values of one judge of their panel in place of the panel's: of criteria, aspects and points; other components
/// have none. Answers that it did not judge are left out.
pub fn by_seat(scored: &[Arc<ScoredAnswer>], seat: &PanelSeat) -> Vec<Arc<ScoredAnswer>> {
    let mut by_judge = Vec::new();
    for answer in scored {
        let mut values: HashMap<usize, f64> = HashMap::new();
        for (item, members) in &answer.members {
            let at = seats_of(members).iter().position(|other| other == seat);
            if let (Some(at), Some(place)) = (at, place_of(item, &answer.score)) {
                let value = members[at].value;
                let value = value.and_then(|value| of_component(place, value, &answer.score));
                values.extend(value.map(|value| (place, value)));
            }
        }
        if values.is_empty() {
            continue;
        }
        let mut of_judge = ScoredAnswer::clone(answer);
        for (place, component) in of_judge.score.components.iter_mut().enumerate() {
            if component.kind != ComponentKind::Length {
                component.value = values.get(&place).copied();
            }
        }
        let is_whole = of_judge.score.is_weighted_sum() && of_judge.score.is_complete();
        of_judge.score.value = is_whole.then(|| of_judge.score.filled(0.0).0);
        by_judge.push(Arc::new(of_judge));
    }
    by_judge
}

/// A judge's value as that of the component: of 0 to 10 points the share.
fn of_component(place: usize, value: f64, score: &Score) -> Option<f64> {
    match score.components[place].kind {
        ComponentKind::Property | ComponentKind::Expertise => Some(value / 10.0),
        ComponentKind::Criterion | ComponentKind::Aspect => Some(value),
        _ => None,
    }
}

/// The units of one group, all judged by the same judges.
struct PanelGroup<'a> {
    scorer: &'a ScorerId,
    group: ItemGroup,
    judges: Vec<&'a Arc<str>>,
    units: Vec<(&'a CaseId, &'a [MemberValues])>,
}

impl PanelGroup<'_> {
    /// The merged values of each judge, by unit.
    fn rows(&self) -> Vec<Vec<Option<f64>>> {
        let mut rows = Vec::new();
        for judge in 0..self.judges.len() {
            let units = self.units.iter();
            let row = units.map(|(_, members)| finite(members[judge].value));
            rows.push(row.collect());
        }
        rows
    }

    fn agreement(&self, questions: &Questions<'_>, confidence: f64) -> PanelAgreement {
        let scale = self.group.scale;
        let of_units = self.units.iter().map(|(case, _)| questions.number(case));
        let rated = Ratings {
            rows: self.rows(),
            questions: of_units.collect(),
        };
        let mut categories = rated.clone();
        for value in categories.rows.iter_mut().flatten().flatten() {
            *value = scale.category(*value);
        }
        let kappa = if scale == Scale::Label {
            Coefficient::Kappa
        } else {
            Coefficient::QuadraticKappa
        };
        let pairable = rated.rated_by(2);
        let by_all = rated.rated_by(self.judges.len());
        let cases: BTreeSet<&CaseId> = pairable.iter().map(|unit| self.units[*unit].0).collect();
        let mut judges = Vec::new();
        for (judge, row) in self.judges.iter().zip(&rated.rows) {
            // Over what all of them judged, or a judge who leaves hard items out would look milder.
            let shared: Vec<f64> = by_all.iter().filter_map(|unit| row[*unit]).collect();
            judges.push(PanelJudge {
                judge: Arc::clone(judge),
                rated: row.iter().flatten().count(),
                mean: mean(&shared),
            });
        }
        PanelAgreement {
            scorer: self.scorer.clone(),
            group: self.group.clone(),
            judges,
            units: self.units.len(),
            pairable: pairable.len(),
            judged_by_all: by_all.len(),
            cases: cases.len(),
            alpha: rated.estimate(Coefficient::Alpha(scale.level()), confidence),
            kappa: categories.estimate(kappa, confidence),
        }
    }

    /// Noise of a judge with repeated samples; `None` for one with a single sample.
    fn noise(&self, judge: usize) -> Option<SampleNoise> {
        let mut most_samples = 0;
        let mut units = 0;
        let mut spreads = Vec::new();
        let mut are_equal = Vec::new();
        for (_, members) in &self.units {
            let samples = members[judge].fair_samples();
            most_samples = most_samples.max(samples.len());
            let readable = samples.iter().filter_map(|sample| finite(*sample));
            let readable: Vec<f64> = readable.collect();
            if readable.len() > 1 {
                units += 1;
                spreads.extend(sd(&readable));
                let is_equal = readable.iter().all(|sample| *sample == readable[0]);
                are_equal.push(f64::from(u8::from(is_equal)));
            }
        }
        (most_samples > 1).then(|| SampleNoise {
            scorer: self.scorer.clone(),
            group: self.group.clone(),
            judge: Arc::clone(self.judges[judge]),
            samples: most_samples,
            units,
            mean_sd: mean(&spreads),
            all_equal: mean(&are_equal),
        })
    }
}

#[cfg(test)]
mod tests;
