//! A certificate of a judge: how it agrees with people on labeled answers of a run, with everything that identifies the judge.
//!
//! The numbers are those of `agree`, `probe` and of the summary of repeats, each by the same code; here they are put together for one
//! judge, and the judge is named by hashes, so that reports of other runs can say whether they were made by it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::Serialize;
use serde_json::{Map, Value};

use super::agree::{agreement_of, perturbed_systems};
use super::people::{PeopleLabels, label_files};
use crate::analysis::comparison::SEED;
use crate::analysis::rater_agreement::{
    AgreementLevel, AgreementOptions, Confusion, Measures, PanelErrors, PartMeasures,
    RaterAgreement, RaterPair, rated_scorer,
};
use crate::analysis::{
    Estimate, ProbeEffect, SampleNoise, by_seat, panel_seats, probe, sample_noise,
};
use crate::domain::{Fingerprint, Note, RaterKind, Role, ScoredAnswer, SubjectKind};
use crate::error::{Error, InputFault, Result};
use crate::judge::endpoint::Endpoint;
use crate::judge::prices::PriceList;
use crate::record::{
    AnsweredJudge, CERTIFICATE_VERSION, CertificateHead, CertifiedJudge, CertifiedRole, IMPORTED,
    RecordedRun, RunStatus, for_each_call, load_run, sealed,
};
use crate::scorer::scorer_named;
use crate::stats::mean;
use crate::text::names::list;

/// What is certified, and by what.
#[derive(Debug, Clone)]
pub struct CertifyOptions {
    /// Files of labels, as for `agree`.
    pub labels: Vec<PathBuf>,
    /// A run of `probe` by the same judge.
    pub probe: Option<PathBuf>,
    /// Whole answers or items; `None`: items where the labels are of items.
    pub level: Option<AgreementLevel>,
    /// Which number of the run, as for `agree`.
    pub metric: Option<String>,
}

/// A certificate with its evidence. As JSON it is the file, which has the hash of its fields as the last one.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Certificate {
    /// What identifies the judge, and the number that tables show.
    #[serde(flatten)]
    pub head: CertificateHead,
    /// The name of the judge: that of its models.
    pub judge: String,
    /// Hashes of the files of labels, sorted.
    pub label_files: Vec<Fingerprint>,
    /// How many people labeled.
    pub raters: usize,
    /// Answers or items.
    pub level: AgreementLevel,
    /// Which number of the run; `None` for the score.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metric: Option<String>,
    /// Agreement of the judge with the people together.
    pub agreement: Measures,
    /// The same for each system, if there are several.
    pub systems: Vec<PartMeasures>,
    /// The same for each group of cases, if there are several.
    pub groups: Vec<PartMeasures>,
    /// The judge's levels by those of people.
    pub confusions: Vec<Confusion>,
    /// Agreement of people with people by the same measure, the mean over pairs of them; `None` for one person.
    pub people: Option<Estimate>,
    /// How the judge's repeated verdicts differ; empty if it was asked once.
    pub repeats: Vec<SampleNoise>,
    /// What changes when only form changes; empty without a run of `probe`.
    pub probes: Vec<ProbeEffect>,
    /// The judges of a panel; `None` for one judge.
    pub panel: Option<CertifiedPanel>,
    /// What the verdicts took.
    pub cost: CertifiedCost,
    /// What a reader must know.
    #[serde(skip)]
    pub notes: Vec<Note>,
}

/// A panel, each of its judges against people.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct CertifiedPanel {
    /// The judges, best first, with their agreement by the certificate's measure.
    pub judges: Vec<PanelMember>,
    /// How many independent judges the panel is worth.
    pub errors: Option<PanelErrors>,
}

/// A judge of a panel alone.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PanelMember {
    /// Its name.
    pub judge: String,
    /// Its agreement with people.
    pub agreement: Estimate,
}

impl PanelMember {
    fn value(&self) -> f64 {
        self.agreement.estimate.unwrap_or(f64::NEG_INFINITY)
    }
}

/// Calls of a run with their tokens.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize)]
pub struct CertifiedCost {
    /// Recorded replies.
    pub calls: usize,
    /// Their tokens, as the servers count them.
    pub prompt_tokens: u64,
    /// Those of replies, reasoning included.
    pub completion_tokens: u64,
    /// US dollars by the built-in price list; `None` where it does not have a model.
    pub usd: Option<f64>,
}

impl Certificate {
    /// What the file holds.
    ///
    /// # Errors
    /// [`Error::Internal`] if it cannot be written as JSON.
    pub fn file(&self) -> Result<Map<String, Value>> {
        let internal = |error| Error::Internal(format!("a certificate: {error}"));
        let mut fields = serde_json::to_value(self).map_err(internal)?;
        withhold_reasons(&mut fields);
        Ok(sealed(serde_json::from_value(fields).map_err(internal)?))
    }
}

/// Why a number is not defined may name a rater, whom a certificate does not.
fn withhold_reasons(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                if name == "undefined" && value.is_string() {
                    *value = "not defined".into();
                } else {
                    withhold_reasons(value);
                }
            }
        }
        Value::Array(values) => values.iter_mut().for_each(withhold_reasons),
        _ => {}
    }
}

/// Makes a certificate of the judge of this run.
///
/// # Errors
/// As [`agree`](super::agree()); for a run that is unfinished, imported or judged by the built-in baseline, for one in which several
/// models answered as one judge, where no coefficient is defined, and for a probe by another judge.
pub fn certify(dir: &Path, options: &CertifyOptions) -> Result<Certificate> {
    let run = load_run(dir)?;
    check_run(&run)?;
    let of_run = std::slice::from_ref(&run);
    let people = PeopleLabels::load(&options.labels, of_run)?;
    let how = agreement_options(options, &people);
    require_two_values(&people, &how)?;
    let agreement = agreement_of(of_run, &options.labels, &how)?;
    let pair = with_people(&agreement, &agreement.raters[0].name).ok_or_else(|| {
        Error::Settings("certify needs labels of people (--labels FILE)".to_owned())
    })?;
    let scorer = labeled_scorer(&run, &people, &how)?;
    let roles = labeled_roles(&run, &scorer, &people, &how)?;
    let head = head(
        &run,
        roles,
        main_measure(pair, run.manifest.subject, how.level)?,
    );
    let scored = judged_by(&run, &scorer);
    Ok(Certificate {
        judge: judge_name(&head.roles),
        label_files: hashes(&options.labels)?,
        raters: people_rating(&agreement, &pair.first),
        level: how.level,
        metric: how.metric.clone(),
        agreement: pair.overall.clone(),
        systems: pair.systems.clone(),
        groups: pair.groups.clone(),
        people: people_with_people(&agreement, &head.measure),
        repeats: sample_noise(&scored),
        probes: match &options.probe {
            Some(probe) => effects(probe, &head.roles)?,
            None if !run.manifest.perturbations().is_empty() => effects(dir, &head.roles)?,
            None => Vec::new(),
        },
        panel: match head.roles.values().next() {
            Some(role) if role.judges.len() > 1 => panel(
                &runs_of_members(&run, &scored),
                &options.labels,
                &how,
                &head.measure,
            ),
            _ => None,
        },
        cost: cost(&run, &head.roles)?,
        confusions: agreement.confusions,
        notes: agreement.notes,
        head,
    })
}

/// How the judge is compared with people.
fn agreement_options(options: &CertifyOptions, people: &PeopleLabels) -> AgreementOptions {
    // A metric is one number of an answer.
    let level = match options.metric {
        None => options.level.unwrap_or_else(|| people.level()),
        Some(_) => options.level.unwrap_or_default(),
    };
    AgreementOptions {
        level,
        metric: options.metric.clone(),
        ..AgreementOptions::seeded(SEED)
    }
}

/// # Errors
/// Where people gave one value only: every judge that says the same agrees.
fn require_two_values(people: &PeopleLabels, how: &AgreementOptions) -> Result<()> {
    let labels = people.labels();
    let is_item = how.level == AgreementLevel::Item;
    let mut values = BTreeSet::new();
    for rater in &labels.raters {
        let ratings = rater.ratings.iter();
        let at_level =
            ratings.filter(|rating| how.metric.is_some() || rating.item.is_some() == is_item);
        values.extend(at_level.map(|rating| rating.value.to_bits()));
        values.extend(
            rater
                .preferences
                .values()
                .map(|preference| f64::from(preference.sign()).to_bits()),
        );
    }
    if values.len() == 1 {
        let message =
            "all labels are one value, which says nothing of the judge; label answers that differ";
        return Err(Error::Settings(message.to_owned()));
    }
    Ok(())
}

/// The judges of these roles, and the number that tables show.
fn head(
    run: &RecordedRun,
    roles: BTreeMap<String, CertifiedRole>,
    (measure, estimate): (&'static str, &Estimate),
) -> CertificateHead {
    let interval = estimate.interval();
    CertificateHead {
        certificate_version: CERTIFICATE_VERSION,
        scholareval_version: env!("CARGO_PKG_VERSION").to_owned(),
        checked_on: run.manifest.started_on(),
        roles,
        labels: estimate.n.unwrap_or_default(),
        measure: measure.to_owned(),
        estimate: estimate.estimate.unwrap_or_default(),
        interval: interval.map(|interval| [interval.low, interval.high]),
    }
}

/// The models of the judges, each once.
fn judge_name(roles: &BTreeMap<String, CertifiedRole>) -> String {
    let judges = roles.values().flat_map(|role| &role.judges);
    let names: BTreeSet<String> = judges.map(CertifiedJudge::name).collect();
    let listed = list(names.iter().map(String::as_str), names.len());
    if roles.values().any(|role| role.judges.len() > 1) {
        format!("panel of {listed}")
    } else {
        listed
    }
}

/// How many people rated something that the judge rated.
fn people_rating(agreement: &RaterAgreement, judge: &str) -> usize {
    let pairs = agreement.pairs.iter();
    let with_judge = pairs.filter(|pair| {
        let compared = pair.overall.comparisons.as_ref();
        let shared = pair.overall.n + compared.map_or(0, |compared| compared.n);
        *pair.first == *judge && is_person(agreement, &pair.second) && shared > 0
    });
    with_judge.count()
}

fn is_person(agreement: &RaterAgreement, name: &str) -> bool {
    let mut raters = agreement.raters.iter();
    raters.any(|rater| {
        *rater.name == *name && rater.kind == RaterKind::Human && rater.mean_of.is_empty()
    })
}

/// # Errors
/// For a run whose judge cannot be certified.
fn check_run(run: &RecordedRun) -> Result<()> {
    let manifest = &run.manifest;
    let mut judges = manifest.roles.values().flat_map(|role| &role.judges);
    let answered = manifest.answered_judges();
    let mixed = answered.iter().find(|judge| judge.is_mixed());
    let (what, hint) = if manifest.is_set(IMPORTED) {
        (
            "an imported run does not record its judge",
            "score the answers",
        )
    } else if manifest.status != RunStatus::Complete {
        ("the run is not finished", "run the same command once more")
    } else if judges.all(|judge| judge.lexical) {
        (
            "no judge: the built-in baseline has no certificate",
            "score with --model NAME",
        )
    } else if let Some(warning) = mixed.and_then(AnsweredJudge::warning) {
        let what = format!("the judge changed within the run. {warning}");
        return Err(InputFault::new(&run.path, what).refuse("certify a run of one judge"));
    } else {
        return Ok(());
    };
    Err(InputFault::new(&run.path, what).refuse(hint))
}

/// The judge with the people together, or with the only person.
fn with_people<'a>(agreement: &'a RaterAgreement, judge: &str) -> Option<&'a RaterPair> {
    let mut raters = agreement.raters.iter();
    let together = raters.find(|rater| !rater.mean_of.is_empty());
    let mut raters = agreement.raters.iter();
    let people = together.or_else(|| raters.find(|rater| rater.kind == RaterKind::Human))?;
    let mut pairs = agreement.pairs.iter();
    pairs.find(|pair| *pair.first == *judge && pair.second == people.name)
}

/// The mean of this measure over pairs of people, of a single pair with its interval.
fn people_with_people(agreement: &RaterAgreement, measure: &str) -> Option<Estimate> {
    let mut estimates: Vec<&Estimate> = Vec::new();
    for pair in &agreement.pairs {
        if is_person(agreement, &pair.first) && is_person(agreement, &pair.second) {
            estimates.extend(pair.overall.named(measure));
        }
    }
    match estimates[..] {
        [] => None,
        [only] => Some(only.clone()),
        _ => {
            let values = estimates.iter().filter_map(|estimate| estimate.estimate);
            let mean = mean(&values.collect::<Vec<f64>>());
            Some(Estimate::new(
                mean,
                || None,
                "not defined for any two of them",
            ))
        }
    }
}

/// The coefficient that tables show: kappa, of more than two levels with quadratic weights; without categories tau-b; of pairs of answers
/// the kappa of outcomes.
///
/// # Errors
/// Where none is defined, and for labels of items that are not on the judge's scale.
fn main_measure(
    pair: &RaterPair,
    subject: SubjectKind,
    level: AgreementLevel,
) -> Result<(&'static str, &Estimate)> {
    let measures = &pair.overall;
    let refusal = |estimate: &Estimate| {
        let reason = estimate
            .undefined
            .as_deref()
            .unwrap_or("judge and people share no labels");
        Error::Settings(format!(
            "agreement with people cannot be measured: {reason}"
        ))
    };
    if let (SubjectKind::Pair, Some(compared)) = (subject, &measures.comparisons) {
        return match compared.kappa.estimate {
            Some(_) => Ok(("pairs_kappa", &compared.kappa)),
            None => Err(refusal(&compared.kappa)),
        };
    }
    if level == AgreementLevel::Item && measures.shift.estimate.is_none() {
        return Err(refusal(&measures.shift));
    }
    let (kappa, quadratic) = (&measures.kappa, &measures.quadratic_kappa);
    let both = kappa.estimate.zip(quadratic.estimate);
    if both.is_some_and(|(plain, weighted)| (plain - weighted).abs() < 1e-9) {
        return Ok(("kappa", kappa));
    }
    if quadratic.estimate.is_some() {
        return Ok(("quadratic_kappa", quadratic));
    }
    match measures.kendall_tau_b.estimate {
        Some(_) => Ok(("kendall_tau_b", &measures.kendall_tau_b)),
        None => Err(refusal(&measures.kendall_tau_b)),
    }
}

/// The scorer of what people labeled: of items that of the first score with the item, of whole answers the one whose number is compared.
///
/// # Errors
/// For labels of several scorers, whose agreement is not one number, and of none.
fn labeled_scorer(
    run: &RecordedRun,
    people: &PeopleLabels,
    how: &AgreementOptions,
) -> Result<String> {
    let mut scorers = BTreeSet::new();
    if let Some(of_sheets) = people.scorers() {
        scorers = of_sheets;
    } else if how.metric.is_some() || how.level == AgreementLevel::Answer {
        let scorer = rated_scorer(&run.scored, how.metric.as_deref());
        scorers.extend(scorer.map(str::to_owned));
    } else {
        let mut items = people.items();
        for answer in &run.scored {
            let scorer = answer.score.scorer.name();
            for component in &answer.score.components {
                let name = component.name.as_str();
                if items.remove(name) || items.remove(&*format!("{scorer}.{name}")) {
                    scorers.insert(scorer.to_owned());
                }
            }
        }
    }
    let scorers = Vec::from_iter(scorers);
    let (what, hint) = match &scorers[..] {
        [only] => return Ok(only.clone()),
        [] => (
            "the labels are of nothing that this run scored".to_owned(),
            "check the column item, or name a number of the run with --metric",
        ),
        several => (
            format!("the labels are of several scorers: {}", several.join(", ")),
            "certify one at a time, with --metric NAME or a file of labels for each",
        ),
    };
    Err(InputFault::new(&run.path, what).refuse(hint))
}

/// The roles whose judges gave what people labeled.
///
/// # Errors
/// Where no judge gave any of it, and where several did whose agreement would be one number.
fn labeled_roles(
    run: &RecordedRun,
    scorer: &str,
    people: &PeopleLabels,
    how: &AgreementOptions,
) -> Result<BTreeMap<String, CertifiedRole>> {
    let items = match &how.metric {
        Some(metric) => BTreeSet::from([metric.as_str()]),
        None if how.level == AgreementLevel::Item => people.items(),
        None => BTreeSet::new(),
    };
    let mut roles: BTreeMap<String, CertifiedRole> = BTreeMap::new();
    for (name, entry) in &run.manifest.roles {
        let role = Role::from_name(name);
        let known = scorer_named(scorer).zip(role.as_ref());
        let is_of_scorer = known.is_some_and(|(info, role)| info.has_role(role));
        // Labels of one aspect say nothing of the judges of others.
        let is_other_aspect =
            matches!(&role, Some(Role::Aspect(aspect)) if is_other(aspect, &items, run));
        let is_lexical = entry.judges.iter().all(|judge| judge.lexical);
        if is_of_scorer && !is_other_aspect && !is_lexical {
            roles.insert(name.clone(), run.manifest.certified_role(name, entry));
        }
    }
    let judges: Vec<_> = roles
        .values()
        .map(|role| (&role.judges, role.merge))
        .collect();
    let (what, hint) = if roles.is_empty() {
        (
            "the labels are of nothing that a model judged",
            "label what a model judged",
        )
    } else if judges.iter().any(|judge| *judge != judges[0]) {
        (
            "the labels are of several judges",
            "certify one at a time, with --metric ASPECT",
        )
    } else {
        return Ok(roles);
    };
    Err(InputFault::new(&run.path, what).refuse(hint))
}

/// Whether the labels are of aspects, and not of this one.
fn is_other(aspect: &str, items: &BTreeSet<&str>, run: &RecordedRun) -> bool {
    let mut aspects = run.manifest.aspects().into_iter();
    !items.contains(aspect) && aspects.any(|other| items.contains(&*other.name))
}

/// The scores of this scorer, without those of perturbed answers.
fn judged_by(run: &RecordedRun, scorer: &str) -> Vec<Arc<ScoredAnswer>> {
    let perturbed = perturbed_systems(run);
    let mut scored = run.scored.clone();
    scored.retain(|answer| {
        answer.score.scorer.name() == scorer && !perturbed.contains(&answer.system)
    });
    scored
}

/// The run as each judge of its panel alone would have scored it.
fn runs_of_members(run: &RecordedRun, scored: &[Arc<ScoredAnswer>]) -> Vec<RecordedRun> {
    let mut runs = Vec::new();
    for seat in panel_seats(scored) {
        let (judge, number) = &seat;
        let mut name = judge.split('|').next().unwrap_or_default().to_owned();
        if *number > 0 {
            name += &format!(" #{}", number + 1);
        }
        runs.push(RecordedRun {
            // Raters of one name are called by their paths.
            path: run.path.join(&name),
            name,
            scored: by_seat(scored, &seat),
            ..run.clone()
        });
    }
    runs
}

/// The judges of the panel by their agreement with people; `None` where what they gave alone is not known, as of claims.
fn panel(
    members: &[RecordedRun],
    labels: &[PathBuf],
    how: &AgreementOptions,
    measure: &str,
) -> Option<CertifiedPanel> {
    if members.iter().any(|member| member.scored.is_empty()) {
        return None;
    }
    // The labels were read for the panel: only what its judges gave alone can be missing here.
    let agreement = agreement_of(members, labels, how).ok()?;
    let mut judges = Vec::new();
    // The judges are the first raters, in this order.
    for (member, rater) in members.iter().zip(&agreement.raters) {
        let pair = with_people(&agreement, &rater.name);
        let of_member = pair.and_then(|pair| pair.overall.named(measure));
        judges.push(PanelMember {
            judge: member.name.clone(),
            agreement: of_member.cloned().unwrap_or_default(),
        });
    }
    judges.sort_by(|first, second| second.value().total_cmp(&first.value()));
    Some(CertifiedPanel {
        judges,
        errors: agreement.panel_errors,
    })
}

/// The effects of the perturbations in this run of `probe`, by the judges of these roles.
///
/// # Errors
/// For another run, and where other judges judged it.
fn effects(dir: &Path, roles: &BTreeMap<String, CertifiedRole>) -> Result<Vec<ProbeEffect>> {
    let probed = load_run(dir)?;
    let manifest = &probed.manifest;
    let perturbations = manifest.perturbations();
    if perturbations.is_empty() {
        let fault = InputFault::new(dir, "not a run of probe: its answers are unchanged");
        return Err(fault.refuse("give the run that scholareval probe made"));
    }
    check_run(&probed)?;
    for (role, certified) in roles {
        let difference = match manifest.roles.get(role) {
            Some(entry) => certified.difference(&manifest.certified_role(role, entry)),
            None => Some("none of it was asked".to_owned()),
        };
        if let Some(difference) = difference {
            let what = format!("the probe is of another judge of {role}: {difference}");
            return Err(InputFault::new(dir, what).refuse("probe the judge of the run"));
        }
    }
    let probe = probe(
        &probed.scored,
        &perturbations,
        manifest.seed,
        manifest.policy.on_unscored,
    );
    Ok(probe.effects())
}

/// The hashes of the files of labels.
fn hashes(labels: &[PathBuf]) -> Result<Vec<Fingerprint>> {
    let mut hashes = Vec::new();
    for path in label_files(labels)? {
        let mut hasher = blake3::Hasher::new();
        let file = File::open(&path).map_err(Error::io(&path, "read"))?;
        hasher
            .update_reader(file)
            .map_err(Error::io(&path, "read"))?;
        hashes.push(Fingerprint::from(hasher.finalize()));
    }
    hashes.sort_by_key(|hash| hash.short(64));
    Ok(hashes)
}

/// Calls, tokens and dollars of these roles of the run.
fn cost(run: &RecordedRun, roles: &BTreeMap<String, CertifiedRole>) -> Result<CertifiedCost> {
    let prices = PriceList::load(None)?;
    let mut priced = BTreeMap::new();
    for judge in run.manifest.roles.values().flat_map(|role| &role.judges) {
        let endpoint = judge
            .base_url
            .as_deref()
            .and_then(|url| Endpoint::new(url).ok());
        let price = judge.model.as_deref().zip(endpoint.as_ref());
        priced.insert(
            &*judge.id,
            price.and_then(|(model, endpoint)| prices.find(model, endpoint)),
        );
    }
    let mut cost = CertifiedCost {
        usd: Some(0.0),
        ..CertifiedCost::default()
    };
    for_each_call(&run.path, &run.manifest, |call| {
        let is_of_roles = roles.contains_key(&*call.role.name());
        let Some(reply) = call.reply.filter(|_| is_of_roles) else {
            return Ok(());
        };
        let usage = reply.usage;
        cost.calls += 1;
        cost.prompt_tokens += usage.prompt_tokens;
        cost.completion_tokens += usage.completion_tokens;
        let price = priced.get(&*call.judge).copied().flatten();
        cost.usd = cost
            .usd
            .zip(price)
            .map(|(usd, price)| usd + price.cost(&usage));
        Ok(())
    })?;
    Ok(cost)
}
