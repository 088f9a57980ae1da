//! Whether all endpoints of a judge serve the same model.

use super::identity::ServerIdentity;
use crate::error::{Error, Result};

/// What one endpoint says of itself.
#[derive(Debug, Clone, Copy)]
pub struct Served<'a> {
    /// Its address, secrets masked.
    pub endpoint: &'a str,
    /// The model that is asked there.
    pub model: &'a str,
    /// What the server says is behind it.
    pub identity: &'a ServerIdentity,
}

impl<'a> Served<'a> {
    /// What tells models apart, each part with its name.
    fn parts(&self) -> [(&'static str, Option<&'a str>); 4] {
        [
            ("model", Some(self.model)),
            ("served", self.identity.served.as_deref()),
            ("root", self.identity.root.as_deref()),
            ("model_path", self.identity.model_path.as_deref()),
        ]
    }
}

/// Checks that all endpoints serve what the first one serves: replies are kept under one identity, and nobody could tell
/// later which of two models gave a score. Not to be asked where the user vouches for it (`--cache-id`).
///
/// # Errors
/// [`Error::Settings`] naming each endpoint that differs, and in what.
pub fn check_same_model(endpoints: &[Served<'_>]) -> Result<()> {
    let Some((first, others)) = endpoints.split_first() else { return Ok(()) };
    let shown = |part: Option<&str>| part.map_or_else(|| "nothing".to_owned(), |part| format!("{part:?}"));
    let differences: Vec<String> = others
        .iter()
        .flat_map(|other| {
            let pairs = first.parts().into_iter().zip(other.parts());
            let differing = pairs.filter(|((_, own), (_, others))| own != others);
            differing.map(|((name, own), (_, others))| {
                format!("{name} is {} at {} and {} at {}", shown(own), first.endpoint, shown(others), other.endpoint)
            })
        })
        .collect();
    if differences.is_empty() {
        return Ok(());
    }
    Err(Error::Settings(format!(
        "the endpoints serve different models: {}; name only endpoints of one model in --base-url, or vouch for it with \
         --cache-id NAME",
        differences.join("; ")
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(root: Option<&str>) -> ServerIdentity {
        ServerIdentity { served: Some("m".into()), root: root.map(str::to_owned), model_path: None }
    }

    fn check(roots: &[Option<&str>]) -> Result<()> {
        let identities: Vec<ServerIdentity> = roots.iter().map(|root| identity(*root)).collect();
        let names: Vec<String> = (1..=roots.len()).map(|n| format!("http://gpu{n}/v1")).collect();
        let served =
            names.iter().zip(&identities).map(|(endpoint, identity)| Served { endpoint, model: "m", identity });
        check_same_model(&served.collect::<Vec<_>>())
    }

    #[test]
    fn equal_identities_pass() {
        check(&[]).unwrap();
        check(&[None]).unwrap();
        check(&[Some("/w"), Some("/w"), Some("/w")]).unwrap();
    }

    #[test]
    fn each_difference_is_named_with_its_endpoint() {
        let message = check(&[Some("/w"), Some("/w"), Some("/x"), None]).unwrap_err().to_string();
        assert!(message.contains(r#"root is "/w" at http://gpu1/v1 and "/x" at http://gpu3/v1"#), "{message}");
        assert!(message.contains(r#"root is "/w" at http://gpu1/v1 and nothing at http://gpu4/v1"#), "{message}");
        assert!(!message.contains("gpu2") && message.contains("--cache-id"), "{message}");
    }

    #[test]
    fn names_differ_too() {
        let same = identity(None);
        let [a, b] = ["a", "b"].map(|model| Served { endpoint: model, model, identity: &same });
        assert!(check_same_model(&[a, b]).unwrap_err().to_string().contains("model is"));
    }
}
