//! Newtypes for identifiers that must not be confused.

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::text::perturbation::Perturbation;

macro_rules! name_type {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
        #[serde(transparent)]
        // Shared: a run has one name for many thousands of answers and calls.
        pub struct $name(Arc<str>);

        impl $name {
            /// The name as text.
            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl From<&str> for $name {
            fn from(text: &str) -> Self {
                Self(Arc::from(text))
            }
        }

        impl From<String> for $name {
            fn from(text: String) -> Self {
                Self(Arc::from(text))
            }
        }

        impl AsRef<str> for $name {
            fn as_ref(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }
    };
}

name_type!(
    /// Identifier of a test case: joins questions, answers and scores.
    CaseId
);
name_type!(
    /// Name of a system under test: the stem of its answer file.
    SystemName
);

impl CaseId {
    /// A seed for what is drawn for this case: leaving out another case does not change it.
    pub fn seed(&self) -> u64 {
        let mut seed = [0; 8];
        seed.copy_from_slice(&blake3::hash(self.0.as_bytes()).as_bytes()[..8]);
        u64::from_le_bytes(seed)
    }
}

impl SystemName {
    /// The name of the system that has the perturbed answers of this one.
    #[must_use]
    pub fn perturbed(&self, perturbation: Perturbation) -> Self {
        format!("{self} + {}", perturbation.name()).into()
    }

    /// What a pair of answers is called where a system has its name: both systems, in the order in which a judge sees their
    /// answers.
    pub fn of_pair(first: &Self, second: &Self) -> Self {
        format!("{first} vs {second}").into()
    }
}

/// The first `N` bytes of a blake3 hash; shown and stored as lower-case hexadecimal digits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Digest<const N: usize>([u8; N]);

/// A whole blake3 hash, 64 hexadecimal digits.
pub type Fingerprint = Digest<32>;

/// Identifies a call within a run: 32 hexadecimal digits.
pub type CallId = Digest<16>;

impl<const N: usize> Digest<N> {
    /// The hash as bytes.
    pub fn as_bytes(&self) -> &[u8; N] {
        &self.0
    }

    /// The first `digits` hexadecimal digits.
    pub fn short(&self, digits: usize) -> String {
        let mut hex = self.to_string();
        hex.truncate(digits);
        hex
    }

    /// Parses hexadecimal digits, two per byte; `None` for anything else.
    pub fn from_hex(hex: &str) -> Option<Self> {
        if hex.len() != 2 * N || !hex.is_ascii() {
            return None;
        }
        let mut bytes = [0_u8; N];
        for (i, byte) in bytes.iter_mut().enumerate() {
            *byte = u8::from_str_radix(hex.get(2 * i..2 * i + 2)?, 16).ok()?;
        }
        Some(Self(bytes))
    }
}

impl<const N: usize> From<[u8; N]> for Digest<N> {
    fn from(bytes: [u8; N]) -> Self {
        Self(bytes)
    }
}

impl<const N: usize> From<blake3::Hash> for Digest<N> {
    fn from(hash: blake3::Hash) -> Self {
        let mut bytes = [0; N];
        bytes
            .iter_mut()
            .zip(hash.as_bytes())
            .for_each(|(byte, of_hash)| *byte = *of_hash);
        Self(bytes)
    }
}

impl<const N: usize> fmt::Display for Digest<N> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for byte in self.0 {
            write!(f, "{byte:02x}")?;
        }
        Ok(())
    }
}

impl<const N: usize> Serialize for Digest<N> {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de, const N: usize> Deserialize<'de> for Digest<N> {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let hex = String::deserialize(deserializer)?;
        Self::from_hex(&hex).ok_or_else(|| {
            serde::de::Error::custom(format!("expected {} hexadecimal digits", 2 * N))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_fingerprint_survives_its_hexadecimal_form() {
        let fingerprint = Fingerprint::from(blake3::hash(b"x"));
        assert_eq!(
            Fingerprint::from_hex(&fingerprint.to_string()),
            Some(fingerprint)
        );
        assert_eq!(Fingerprint::from_hex("12"), None);
        assert_eq!(fingerprint.short(8).len(), 8);
    }
}
