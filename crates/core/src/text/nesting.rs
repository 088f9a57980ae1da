//! Brackets nested so deeply that a recursive parser would exhaust the stack.

use std::path::Path;

use crate::error::InputFault;

/// Deeper than any file that people write.
const DEEPEST: usize = 100;

/// Checks that brackets and braces are open at most 100 levels deep. Those within strings count like all others.
///
/// ```
/// use scholareval_core::text::nesting::check_nesting;
///
/// assert!(check_nesting(&"x = [{}]\n".repeat(1000), "my.toml".as_ref()).is_ok());
/// assert!(check_nesting(&"[{".repeat(51), "my.toml".as_ref()).is_err());
/// ```
///
/// # Errors
/// The fault of the file `path`.
pub fn check_nesting(text: &str, path: &Path) -> Result<(), InputFault> {
    let mut depth = 0_usize;
    let is_too_deep = text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            // Brackets in strings may close what never opened.
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    });
    if is_too_deep {
        let what = format!("brackets are nested more than {DEEPEST} levels deep");
        return Err(InputFault::new(path, what));
    }
    Ok(())
}
