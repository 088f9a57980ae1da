//! Components of scorers that need no judge.

use crate::domain::{Component, ComponentKind};

/// The components that have a value; what does not apply to an answer is left out, since it is not unscored.
pub(super) fn measured(names: &[(&str, ComponentKind)], values: &[Option<f64>]) -> Vec<Component> {
    let present = names.iter().zip(values).filter_map(|((name, kind), value)| Some((*name, *kind, (*value)?)));
    present
        .map(|(name, kind, value)| Component {
            name: name.to_owned(),
            kind,
            text: String::new(),
            weight: 0.0,
            value: Some(value),
            reason: None,
            feedback: None,
        })
        .collect()
}
