//! The page's Content-Security-Policy.
//!
//! The page may run the one script and use the one style sheet whose hashes are in the policy, and nothing else: no
//! script or style attribute, no image, font, frame, form or connection. If an answer's text ever became markup it could
//! neither run nor tell anybody. A policy in the file travels with it to wherever it is opened.

use sha2::{Digest, Sha256};

/// The policy for a page with this script and this style sheet, exactly as they stand between their tags.
///
/// ```
/// let policy = scholareval::report::html::policy::content_security_policy("", "");
/// // SHA-256 of nothing, in base64.
/// assert!(policy.contains("script-src 'sha256-47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU='"));
/// assert!(policy.starts_with("default-src 'none'") && !policy.contains("unsafe"));
/// ```
pub fn content_security_policy(script: &str, style: &str) -> String {
    format!(
        "default-src 'none'; script-src {}; style-src {}; img-src 'none'; font-src 'none'; connect-src 'none'; \
         frame-src 'none'; object-src 'none'; base-uri 'none'; form-action 'none'",
        source(script),
        source(style)
    )
}

fn source(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text.as_bytes())))
}

/// RFC 4648 with padding.
fn base64(bytes: &[u8]) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut text = String::with_capacity(bytes.len().div_ceil(3) * 4);
    for chunk in bytes.chunks(3) {
        let byte = |at: usize| u32::from(chunk.get(at).copied().unwrap_or(0));
        let group = (byte(0) << 16) | (byte(1) << 8) | byte(2);
        for place in 0..4 {
            let digit = (group >> (18 - 6 * place)) & 63;
            // n bytes fill n + 1 digits.
            let filled = place <= chunk.len();
            text.push(if filled { char::from(ALPHABET[digit as usize]) } else { '=' });
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_that_of_the_rfc() {
        // The examples of RFC 4648, section 10.
        let encoded = ["", "f", "fo", "foo", "foob", "fooba", "foobar"].map(|text| base64(text.as_bytes()));
        assert_eq!(encoded, ["", "Zg==", "Zm8=", "Zm9v", "Zm9vYg==", "Zm9vYmE=", "Zm9vYmFy"]);
    }
}
