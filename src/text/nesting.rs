//! Brackets nested so deeply that a recursive parser would exhaust the stack.

/// Deeper than any file that people write.
const DEEPEST: usize = 100;

/// True if brackets and braces are open more than 100 levels deep. Those within strings count like all others.
///
/// ```
/// use scholareval::text::nesting::is_too_deep;
///
/// assert!(!is_too_deep(&"x = [{}]\n".repeat(1000)));
/// assert!(is_too_deep(&"[{".repeat(51)));
/// ```
pub fn is_too_deep(text: &str) -> bool {
    let mut depth = 0_usize;
    text.bytes().any(|byte| {
        match byte {
            b'[' | b'{' => depth += 1,
            b']' | b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        depth > DEEPEST
    })
}
