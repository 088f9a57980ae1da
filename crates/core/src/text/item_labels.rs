//! How items of lists begin: bullets and numbers.

/// What follows a bullet: `- `, `* `, `• `, `・`.
pub fn bullet(text: &str) -> Option<&str> {
    if let Some(rest) = text.strip_prefix(['・', '･']) {
        return Some(rest.trim_start());
    }
    let rest = text.strip_prefix(['-', '*', '+', '•', '–', '◦', '▪', '●', '·'])?;
    rest.starts_with(char::is_whitespace)
        .then(|| rest.trim_start())
}

/// The digits of a number that begins an item, and what follows: `3. `, `3) `, `(3) `, `(3)A`, `3、`, `（3）`.
pub fn numbered(text: &str) -> Option<(&str, &str)> {
    let inner = text.strip_prefix(['(', '（']).unwrap_or(text);
    let (number, rest) = leading_number(inner)?;
    if let Some(rest) = rest.strip_prefix(['、', '）']) {
        return Some((number, rest));
    }
    let is_paired = inner.len() < text.len() && rest.starts_with(')');
    let rest = rest.strip_prefix(['.', ')'])?;
    let begins = |c: char| {
        // Scripts without spaces have none behind a number.
        c.is_whitespace() || c.is_alphabetic() && (is_paired || !c.is_ascii())
    };
    rest.starts_with(begins).then_some((number, rest))
}

/// A number of at most three digits: with four it is a year.
pub fn leading_number(text: &str) -> Option<(&str, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit())?;
    (1..=3).contains(&end).then(|| text.split_at(end))
}
