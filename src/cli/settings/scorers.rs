//! The settings of the scorers.

use std::num::NonZeroUsize;

use super::keys;
use super::merge::Sources;
use super::value::{FirstIndex, Names, ScorerNames, Text};
use super::{EntailForm, ReferencesBlock, ScorerName, ScorerSettings};
use crate::cli::args::ScorerArgs;
use crate::error::Result;

/// Merges them in the order in which `config` shows them.
pub(super) fn merge_scorers(sources: &mut Sources<'_>, flags: &ScorerArgs) -> Result<ScorerSettings> {
    let default = ScorerSettings::default();
    let some = |number: usize| NonZeroUsize::new(number).unwrap_or(NonZeroUsize::MIN);
    Ok(ScorerSettings {
        names: sources.optional(&keys::SCORERS, flags.scorers.clone())?.map(|ScorerNames(names)| names),
        references: sources.path(&keys::REFERENCES, flags.references.clone())?,
        references_block: {
            sources.or_default(&keys::REFERENCES_BLOCK, flags.references_block, ReferencesBlock::Append)?
        },
        index_base: sources.or_default(&keys::INDEX_BASE, flags.index_base, FirstIndex(default.index_base))?.0,
        truncate: sources.switch(&keys::TRUNCATE, flags.truncate)?,
        aspects: sources.optional(&keys::ASPECTS, flags.aspects.clone())?.map(|Names(names)| names),
        aspect_rubrics: sources.path(&keys::ASPECT_RUBRICS, flags.aspect_rubrics.clone())?,
        no_reference: sources.switch(&keys::NO_REFERENCE, flags.no_reference)?,
        instruction: {
            let flag = flags.instruction.clone().map(Text);
            sources.or_default(&keys::INSTRUCTION, flag, Text(default.instruction))?.0
        },
        top_n: sources.or_default(&keys::TOP_N, flags.top_n, default.top_n)?,
        entail: sources.or_default(&keys::ENTAIL, flags.entail, EntailForm::Long)?,
        at_most: sources.or_default(&keys::AT_MOST, flags.at_most, some(default.at_most))?.get(),
        max_words: sources.optional(&keys::MAX_WORDS, flags.max_words)?.map(NonZeroUsize::get),
    })
}

impl ScorerSettings {
    /// True if this scorer was asked for by name.
    pub fn names_scorer(&self, scorer: ScorerName) -> bool {
        self.names.as_ref().is_some_and(|names| names.contains(&scorer))
    }

    /// True unless other scorers were asked for, and not this one: what the input supports decides then.
    pub fn may_run(&self, scorer: ScorerName) -> bool {
        self.names.as_ref().is_none_or(|names| names.contains(&scorer))
    }
}
