//! The documents that claims are held against.

use std::borrow::Cow;
use std::sync::Arc;

use crate::domain::{Mode, Source};

/// The sources of an answer as documents.
pub(super) struct Sources<'a> {
    texts: Vec<Cow<'a, Source>>,
    mode: Mode,
}

impl<'a> Sources<'a> {
    pub(super) fn new(sources: Cow<'a, [Source]>, mode: Mode) -> Self {
        let texts = match sources {
            Cow::Borrowed(sources) => sources.iter().map(Cow::Borrowed).collect(),
            Cow::Owned(sources) => sources.into_iter().map(Cow::Owned).collect(),
        };
        Self { texts, mode }
    }

    /// How many sources can be cited.
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    /// The sources at these places as one document, joined by line feeds in the order of the citations.
    pub(super) fn document(&self, places: &[usize]) -> Arc<str> {
        let documents: Vec<String> =
            places.iter().filter_map(|place| self.texts.get(*place)).map(|source| self.one(source)).collect();
        documents.join("\n").into()
    }

    /// `Title: {title}`, a line feed and the text; the bare text of a source without a title. An empty title is one.
    fn one(&self, source: &Source) -> String {
        let text = match (&source.text, self.mode) {
            (Some(text), _) => text.as_str(),
            (None, Mode::Compat) if source.text_is_nan => "nan",
            (None, _) => "",
        };
        match &source.title {
            Some(title) => format!("Title: {title}\n{text}"),
            None => text.to_owned(),
        }
    }

    /// True if `nan` stands for the text of one of these sources.
    pub(super) fn shows_nan(&self, places: &[usize]) -> bool {
        let is_nan = |place: &usize| self.texts.get(*place).is_some_and(|source| source.text_is_nan);
        self.mode == Mode::Compat && places.iter().any(is_nan)
    }

    /// True for a source without a text, which the reference does not survive.
    pub(super) fn lacks_text(&self, place: usize) -> bool {
        self.texts.get(place).is_some_and(|source| source.text.is_none() && !source.text_is_nan)
    }
}
