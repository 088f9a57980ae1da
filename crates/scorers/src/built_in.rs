//! What built-in scorers have in common.

/// The methods of [`Scorer`](crate::Scorer) that a built-in scorer has with its info: its name, the roles of its judges, and its settings,
/// which are its fields.
macro_rules! built_in_scorer {
    ($info:ident, [$($role:expr)?]) => {
        fn name(&self) -> &str {
            $info.name
        }

        fn roles(&self) -> Vec<Role> {
            vec![$($role)?]
        }

        fn settings(&self) -> Value {
            serde_json::to_value(self).unwrap_or_default()
        }
    };
}
pub(crate) use built_in_scorer;
