//! Who has which role: one judge, or a panel.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::cli::settings::Settings;
use crate::dataset;
use crate::domain::{Aspect, Role};
use crate::error::{Error, InputFault, Result};
use crate::evaluation::options::{DEFAULT_JUDGE, EvaluationOptions, ScorerName};
use crate::evaluation::record::{RecordedReplies, RoleEntry};
use crate::evaluation::roles::JudgeRef;
use crate::evaluation::{Member, Merge, Panel, Panels};
use crate::judge::meters::Meters;
use crate::judge::options::{JudgeOptions, LimitOptions};
use crate::judge::planner::ReplySource;
use crate::prompt::{PromptFamily, PromptSet};
use crate::text::nearest::nearest;

use super::choice::Choice;
use super::endpoints::Endpoints;
use super::inputs::LoadedInputs;
use super::setup::{Identified, Judging};
use super::spending::Spending;

/// The aspects of a run: those of the file, else the built-in ones, of which those named; without names those that have
/// a judge.
///
/// # Errors
/// For a file that cannot be used, and for an aspect that it does not describe.
pub(in crate::cli) fn aspects_of(settings: &EvaluationOptions) -> Result<Vec<Arc<Aspect>>> {
    let known: Vec<Arc<Aspect>> = match &settings.scorers.aspect_rubrics {
        Some(path) => dataset::load_aspects(path)?.into_iter().map(Arc::new).collect(),
        None => dataset::builtin_aspects(),
    };
    check_roles(settings, &known)?;
    let judged = |aspect: &Arc<Aspect>| settings.has_role(&Role::Aspect(Arc::clone(&aspect.name)));
    let names = &settings.scorers.aspects;
    if names.is_empty() {
        return Ok(known.into_iter().filter(judged).collect());
    }
    let find = |name: &String| {
        known.iter().find(|aspect| *aspect.name == **name).cloned().ok_or_else(|| {
            let all: Vec<&str> = known.iter().map(|aspect| &*aspect.name).collect();
            let what = format!("no aspect is called {name:?}");
            match &settings.scorers.aspect_rubrics {
                Some(path) => InputFault::new(path, what).hint(format!("it describes {}", all.join(", "))).into(),
                None => Error::Usage(format!("--aspects: {what}; there are {}", all.join(", "))),
            }
        })
    };
    let aspects: Vec<Arc<Aspect>> = names.iter().map(find).collect::<Result<_>>()?;
    match aspects.iter().find(|aspect| !judged(aspect)) {
        Some(aspect) => Err(Error::Usage(format!(
            "--aspects {}: no judge has the role aspect.{}; name one under [roles], or give --model with --scorers prometheus",
            aspect.name, aspect.name
        ))),
        None => Ok(aspects),
    }
}

/// A role for an aspect that is not there would leave its judge unasked, and the aspect that was meant to another.
fn check_roles(settings: &EvaluationOptions, known: &[Arc<Aspect>]) -> Result<()> {
    let names: Vec<&str> = known.iter().map(|aspect| &*aspect.name).collect();
    for key in settings.roles.judges.keys() {
        if let Some(Role::Aspect(name)) = Role::from_name(key)
            && !names.contains(&&*name)
        {
            let hint = nearest(&name, names.iter().copied()).map_or_else(
                || format!("there are {}", names.join(", ")),
                |near| format!("did you mean aspect.{near}?"),
            );
            return Err(Error::Settings(format!("[roles] aspect.{name}: no aspect is called {name:?}; {hint}")));
        }
    }
    Ok(())
}

/// The roles that the chosen scorers ask, in order.
pub(in crate::cli) fn roles_of(choice: &Choice, aspects: &[Arc<Aspect>]) -> Vec<Role> {
    let mut roles = Vec::new();
    if choice.has(ScorerName::Rubric) {
        roles.push(Role::Rubric);
    }
    if choice.has(ScorerName::Prometheus) {
        roles.extend(aspects.iter().map(|aspect| Role::Aspect(Arc::clone(&aspect.name))));
    }
    if choice.has(ScorerName::Entailment) {
        roles.push(Role::Citation);
    }
    roles
}

/// A judge with what is known of how it is asked.
#[derive(Clone)]
pub(in crate::cli) struct NamedJudge {
    pub(in crate::cli) judge: JudgeOptions,
    pub(in crate::cli) limits: LimitOptions,
    pub(in crate::cli) samples: u32,
    pub(in crate::cli) merge: Merge,
}

/// Who has a role: names of judges, and how a panel merges.
struct RoleJudges {
    judges: Vec<String>,
    merge: Merge,
}

/// Every judge of a run, identified once, by name.
pub(in crate::cli) struct Judges {
    by_name: BTreeMap<String, (NamedJudge, Identified)>,
    /// Each role with who has it; a role that nobody has is not here.
    roles: Vec<(Role, RoleJudges)>,
    spending: Spending,
}

impl Judges {
    /// Asks every server who it is.
    ///
    /// # Errors
    /// As [`Identified::identify`]; for a panel of two judges that are one and the same.
    pub(in crate::cli) async fn identify(
        settings: &Settings,
        roles: &[Role],
        prompts: &Arc<PromptSet>,
    ) -> Result<Self> {
        let roles: Vec<(Role, RoleJudges)> =
            roles.iter().filter_map(|role| Some((role.clone(), judges_of(&settings.options, role)?))).collect();
        let mut by_name = BTreeMap::new();
        for name in roles.iter().flat_map(|(_, of)| &of.judges) {
            if !by_name.contains_key(name) {
                let JudgeRef { judge, limits, samples, merge, .. } = settings
                    .options
                    .judge_named(name)
                    .ok_or_else(|| Error::Settings(format!("[roles]: no judge is called {name:?}")))?;
                let named = NamedJudge { judge: judge.clone(), limits: limits.clone(), samples, merge };
                let identified = Identified::identify(settings, &named, prompts).await?;
                by_name.insert(name.clone(), (named, identified));
            }
        }
        let models = by_name.values().filter_map(|(_, identified): &(_, Identified)| identified.model());
        let spending = Spending::of(&settings.options, models)?;
        let judges = Self { by_name, roles, spending };
        for (role, of) in &judges.roles {
            judges.refuse_twins(role, of)?;
        }
        Ok(judges)
    }

    fn refuse_twins(&self, role: &Role, of: &RoleJudges) -> Result<()> {
        let mut seen: BTreeMap<&str, &str> = BTreeMap::new();
        for name in &of.judges {
            let Some((_, identified)) = self.by_name.get(name) else { continue };
            if let Some(other) = seen.insert(identified.judge_id(), name) {
                let role = role.name();
                return Err(Error::Settings(format!(
                    "[roles] {role}: {other} and {name} are one judge ({}); a panel needs different ones, or give each its \
                     own cache_id",
                    identified.judge_id()
                )));
            }
        }
        Ok(())
    }

    /// The reference script cannot merge several grades by their mean: nothing is paid for that.
    ///
    /// # Errors
    /// [`Error::Usage`] with what to type.
    pub(in crate::cli) fn refuse_what_the_reference_cannot_merge(&self) -> Result<()> {
        let of_aspects = self.roles.iter().filter(|(role, _)| matches!(role, Role::Aspect(_)));
        let mut judges = of_aspects.flat_map(|(_, of)| &of.judges).filter_map(|name| self.by_name.get(name));
        if judges.any(|(named, _)| named.samples > 1 && named.merge != Merge::MostCommon) {
            return Err(Error::Usage(
                "--compat: the reference script cannot merge several grades by mean or median; \
                 give --merge most-common, or --samples 1"
                    .to_owned(),
            ));
        }
        Ok(())
    }

    /// The rubric's judge, where the rubric is asked.
    pub(in crate::cli) fn rubric(&self) -> Option<&Identified> {
        let (_, of) = self.roles.iter().find(|(role, _)| *role == Role::Rubric)?;
        self.by_name.get(of.judges.first()?).map(|(_, identified)| identified)
    }

    /// True if replies are kept in a cache, or nobody is asked.
    pub(in crate::cli) fn is_cached(&self) -> bool {
        self.by_name.values().all(|(_, identified)| identified.is_cached() || identified.is_lexical())
            && self.by_name.values().any(|(_, identified)| identified.is_cached())
    }

    /// Every judge by name.
    pub(in crate::cli) fn all(&self) -> impl Iterator<Item = (&str, &Identified)> {
        self.by_name.iter().map(|(name, (_, identified))| (name.as_str(), identified))
    }

    /// Every judge with its limits, by name.
    pub(in crate::cli) fn named(&self) -> impl Iterator<Item = (&NamedJudge, &Identified)> {
        self.by_name.values().map(|(named, identified)| (named, identified))
    }

    /// What may be spent.
    pub(in crate::cli) fn spending(&self) -> &Spending {
        &self.spending
    }

    /// Why a run that asks one of these roles must not begin.
    pub(in crate::cli) fn cannot_be_asked(&self, roles: &[Role]) -> Option<String> {
        let of_roles = self.roles.iter().filter(|(role, _)| roles.contains(role)).flat_map(|(_, of)| &of.judges);
        of_roles.filter_map(|name| self.by_name.get(name)).find_map(|(_, identified)| identified.cannot_be_asked())
    }

    /// What the manifest says of the roles beside a rubric that `[judge]` judges alone.
    pub(in crate::cli) fn entries(&self) -> BTreeMap<String, RoleEntry> {
        let entry = |(role, of): &(Role, RoleJudges)| {
            let members: Vec<&(NamedJudge, Identified)> =
                of.judges.iter().filter_map(|name| self.by_name.get(name)).collect();
            let entry = RoleEntry {
                judges: members.iter().map(|(_, identified)| identified.entry()).collect(),
                samples: members.iter().map(|(named, _)| named.samples).collect(),
                merges: members.iter().map(|(named, _)| named.merge).collect(),
                expected: members.iter().map(|(named, _)| named.judge.logprobs.is_some()).collect(),
                panel_merge: of.merge,
                prompts: members.first().and_then(|(_, identified)| identified.prompts_entry(family_of(role))),
            };
            (role.name().into_owned(), entry)
        };
        // Of another judge the settings of `[judge]` say nothing: how often it was asked must stand here.
        let is_plain_rubric = |(role, of): &&(Role, RoleJudges)| *role == Role::Rubric && of.judges == [DEFAULT_JUDGE];
        self.roles.iter().filter(|role| !is_plain_rubric(role)).map(entry).collect()
    }

    /// Builds the layers around every judge.
    ///
    /// # Errors
    /// When no HTTP client can be set up.
    pub(in crate::cli) fn asking(
        &self,
        settings: &Settings,
        inputs: &LoadedInputs,
        recorded: Option<RecordedReplies>,
        meters: &Arc<Meters>,
    ) -> Result<Asking> {
        let recorded = recorded.map(|replies| Arc::new(replies) as Arc<dyn ReplySource>);
        let mut by_name = BTreeMap::new();
        let mut endpoints = Endpoints::default();
        for (name, (named, identified)) in &self.by_name {
            let (truncate, cases) = (settings.options.scorers.truncate, &inputs.all_cases);
            let judging = identified.judging(named, truncate, cases, recorded.clone(), meters, &self.spending)?;
            if let Some(fleet) = &judging.fleet {
                endpoints.add(name, Arc::clone(fleet));
            }
            by_name.insert(name.clone(), judging);
        }
        let mut panels = Panels::none();
        for (role, of) in &self.roles {
            let members = of.judges.iter().filter_map(|name| Some(self.member(name, by_name.get(name)?)));
            panels = panels.with(role.clone(), Panel { members: members.flatten().collect(), merge: of.merge });
        }
        Ok(Asking { panels: Arc::new(panels), endpoints, concurrency: self.concurrency() })
    }

    fn member(&self, name: &str, judging: &Judging) -> Option<Member> {
        let (named, identified) = self.by_name.get(name)?;
        Some(Member {
            judge: Arc::clone(&judging.judge),
            renderer: Arc::clone(&judging.renderer),
            source: Arc::clone(&judging.source),
            judge_id: identified.judge_id().into(),
            samples: named.samples,
            merge: named.merge,
            expected: named.judge.logprobs.is_some(),
        })
    }

    /// How many calls each role's judges take at once.
    fn concurrency(&self) -> BTreeMap<Role, usize> {
        let places = |of: &RoleJudges| {
            let judges = of.judges.iter().filter_map(|name| self.by_name.get(name));
            judges.map(|(named, judge)| lanes(named.limits.concurrency.get(), judge.endpoint_count())).sum::<usize>()
        };
        self.roles.iter().map(|(role, of)| (role.clone(), places(of))).collect()
    }
}

/// So many answers at once keep all endpoints of a judge busy: an answer stays at its endpoint, and chance gives some
/// endpoints more answers than others, so that there have to be a few more than the endpoints take together.
fn lanes(concurrency: usize, endpoints: usize) -> usize {
    let all = concurrency.saturating_mul(endpoints);
    if endpoints > 1 { all.saturating_add(all / 4) } else { all }
}

/// The panels of a run.
pub(in crate::cli) struct Asking {
    pub(in crate::cli) panels: Arc<Panels>,
    pub(in crate::cli) endpoints: Endpoints,
    concurrency: BTreeMap<Role, usize>,
}

impl Asking {
    /// Places for a scorer that asks these roles: as many as the best served of them takes at once.
    pub(in crate::cli) fn places(&self, roles: &[Role]) -> usize {
        roles.iter().filter_map(|role| self.concurrency.get(role)).copied().max().unwrap_or(1)
    }
}

/// The prompts that a role's calls are worded by.
fn family_of(role: &Role) -> PromptFamily {
    match role {
        Role::Rubric => PromptFamily::Rubric,
        Role::Aspect(_) => PromptFamily::Aspect,
        Role::Citation => PromptFamily::Attribution,
    }
}

/// The judges of a role, if it has any.
fn judges_of(options: &EvaluationOptions, role: &Role) -> Option<RoleJudges> {
    let judges = options.judges_of(role);
    (!judges.is_empty()).then_some(RoleJudges { judges, merge: options.roles.merge })
}
