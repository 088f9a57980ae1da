//! Families of the judges and the systems of runs, for the self-preference of judges.

use std::collections::HashMap;

use super::RunSet;
use crate::analysis::comparison::{
    ComparisonOptions, FamilyJudge, Observations, RunFactor, SelfPreference, self_preferences,
    unknown_name,
};
use crate::analysis::distinct;
use crate::error::Result;
use crate::record::{JudgeEntry, RecordedRun, family_of, spelled_family};

impl RunSet {
    /// Whether the judge of each run favors systems of its family, by these observations. `given_families` has those of systems and
    /// judges, by name, whose names do not say them.
    ///
    /// # Errors
    /// When `given_families` names neither a system nor a judge of the runs.
    pub fn self_preferences(
        &self,
        observations: &Observations,
        given_families: &[(String, String)],
        options: &ComparisonOptions,
    ) -> Result<Vec<SelfPreference>> {
        if self.across == RunFactor::Prompts {
            return Ok(Vec::new());
        }
        let mut by_name = HashMap::new();
        for (name, family) in given_families {
            by_name.insert(name.as_str(), spelled_family(family));
        }
        let mut judges = Vec::new();
        for (index, _) in self.distinct() {
            judges.push(judge_of(index, &self.runs[index], &by_name));
        }
        let mut names: Vec<&str> = judges.iter().map(|judge| &*judge.name).collect();
        let mut families = HashMap::new();
        for system in &observations.systems {
            let name = system.system.as_str();
            names.push(name);
            let given = by_name.get(name).copied();
            if let Some(family) = given.or_else(|| family_of(name)) {
                families.insert(system.system.clone(), family.to_owned());
            }
        }
        let names = distinct(names.into_iter());
        for (name, _) in given_families {
            if !names.contains(&name.as_str()) {
                return Err(unknown_name("system or judge", name, &names, None));
            }
        }
        Ok(self_preferences(observations, &judges, &families, options))
    }
}

/// The judge of a run. Several have a family only if it is that of each; the built-in baseline next to others is left out.
fn judge_of(index: usize, run: &RecordedRun, by_name: &HashMap<&str, &str>) -> FamilyJudge {
    let judges = run.manifest.roles.values().flat_map(|role| &role.judges);
    let mut judges: Vec<&JudgeEntry> = judges.collect();
    if judges.iter().any(|judge| !judge.lexical) {
        judges.retain(|judge| !judge.lexical);
    }
    let name = distinct(judges.iter().map(|judge| judge.name())).join(" and ");
    let of_models = match distinct(judges.iter().map(|judge| judge.family()))[..] {
        [family] => family,
        _ => None,
    };
    let family = by_name.get(&*name).copied().or(of_models);
    FamilyJudge {
        index,
        run: run.name.clone(),
        family: family.map(str::to_owned),
        name,
    }
}
