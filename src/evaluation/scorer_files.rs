//! From the chosen scorers of a run to scorers: the files that they read, the roles that they ask, and what they are made of.

use std::collections::BTreeSet;
use std::sync::Arc;

use super::choice::{Choice, aspects_of};
use super::inputs::LoadedInputs;
use super::judges::Judges;
use super::options::EvaluationOptions;
use super::scorers::PageStoreOptions;
use crate::dataset::InputFile;
use crate::domain::{Aspect, Role, SavedPages, SubjectKind};
use crate::error::{Error, Result};
use crate::prompt::PromptSet;
use crate::question::PAIR;
use crate::record::SOURCES_INPUT;
use crate::scorer::{InputNeed, NewScorer, Scorer, ScorerRoles};

/// The roles in which the scorers ask judges, each once.
pub(super) fn roles_of(scorers: &[Arc<dyn Scorer>]) -> Vec<Role> {
    let roles: BTreeSet<Role> = scorers.iter().flat_map(|scorer| scorer.roles()).collect();
    roles.into_iter().collect()
}

/// What the chosen scorers read besides answers and test cases.
pub(super) struct ScorerFiles {
    /// The aspects to grade; none if no scorer grades them.
    aspects: Vec<Arc<Aspect>>,
    /// The saved pages, if a scorer reads them.
    pages: Option<Arc<dyn SavedPages>>,
    /// The files, as inputs of the run.
    pub(super) files: Vec<InputFile>,
}

impl ScorerFiles {
    /// # Errors
    /// For files that cannot be used, and for aspects that they do not have.
    pub(super) fn load(choice: &Choice, options: &EvaluationOptions) -> Result<Self> {
        let mut read = Self {
            aspects: Vec::new(),
            pages: None,
            files: Vec::new(),
        };
        let mut chosen = choice.scorers.iter();
        if chosen.any(|scorer| scorer.roles == ScorerRoles::Aspects) {
            read.aspects = aspects_of(options)?;
        }
        if let Some(path) = &options.scorers.aspect_file.aspect_rubrics {
            let bytes = std::fs::read(path).map_err(Error::io(path, "read"))?;
            let hash = blake3::hash(&bytes).into();
            read.files.push(InputFile::new("aspects", path, hash));
        }
        let mut chosen = choice.scorers.iter();
        if chosen.any(|scorer| scorer.needs == InputNeed::Pages) {
            read.open_pages(&options.scorers.pages)?;
        }
        Ok(read)
    }

    fn open_pages(&mut self, options: &PageStoreOptions) -> Result<()> {
        if let (Some(path), Some(pages)) = (&options.sources, options.open()?) {
            // Runs are continued and scored again from anywhere.
            let path = path.canonicalize().unwrap_or_else(|_| path.clone());
            let file = InputFile::new(SOURCES_INPUT, &path, pages.hash());
            self.files.push(file);
            self.pages = Some(Arc::new(pages));
        }
        Ok(())
    }

    /// The roles in which the chosen scorers and those of the user ask judges, each once. Scorers that depend on their judge
    /// cannot be made yet.
    pub(super) fn roles(&self, choice: &Choice, own: &[Arc<dyn Scorer>]) -> Vec<Role> {
        let mut roles = BTreeSet::from_iter(roles_of(own));
        for info in &choice.scorers {
            roles.extend(info.judge_roles(&self.aspects));
        }
        roles.into_iter().collect()
    }

    /// The chosen scorers.
    ///
    /// # Errors
    /// Where criteria of pairs are asked for that the prompts do not show.
    pub(super) fn scorers(
        &self,
        choice: &Choice,
        options: &EvaluationOptions,
        inputs: &LoadedInputs,
        judges: &Judges,
    ) -> Result<Vec<Arc<dyn Scorer>>> {
        let prompts_of_pairs = match inputs.subject {
            SubjectKind::Answer => None,
            SubjectKind::Pair => judges.prompt_set(),
        };
        let by_criteria = options
            .pairs
            .as_ref()
            .is_some_and(|pairs| pairs.by_criteria);
        if let Some(prompts) = prompts_of_pairs
            && by_criteria
            && !prompts.shows(&PAIR, "criterion")
        {
            let message = "--by-criteria: these prompts compare answers as a whole; add {{criterion}} to a user file of [pair], or leave \
                           the option out";
            return Err(Error::Usage(message.to_owned()));
        }
        let new = NewScorer {
            options: &options.scorers.built_in,
            mode: options.scoring.mode(),
            profile: &inputs.profile,
            aspects: &self.aspects,
            // Of all slices, so that each runs the same scorers with the same settings.
            items: &inputs.plain,
            is_baseline: judges
                .rubric()
                .is_some_and(|named| named.judge.is_lexical()),
            by_criteria,
            pair_form: prompts_of_pairs
                .map(PromptSet::pair_form)
                .unwrap_or_default(),
            pages: self.pages.as_ref(),
        };
        Ok(choice
            .scorers
            .iter()
            .map(|info| (info.make)(&new))
            .collect())
    }
}
