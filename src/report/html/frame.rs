//! What every page begins and ends with, and the data between.

use super::safety::{content_security_policy, push_html};

/// The texts of these files, one below the other.
macro_rules! joined {
    ($first:literal $(, $other:literal)*) => {
        concat!(include_str!($first) $(, "\n", include_str!($other))*)
    };
}
pub(super) use joined;

/// One function around the texts of these files: they share names, and nothing of them is global.
macro_rules! script {
    ($($file:literal),*) => {
        concat!("\"use strict\";\n(() => {\n", $(include_str!($file), "\n",)* "})();\n")
    };
}
pub(super) use script;

/// The head of a page with this title, script and style sheet, and the start of its body.
pub(super) fn head(title: &str, script: &str, style: &str) -> String {
    let mut page = String::new();
    // The policy is ours, from hashes: as it is, so that the quotes in it are easy to check.
    page.push_str(&format!(
        r#"<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="{}">
"#,
        content_security_policy(script, style)
    ));
    push_html!(
        &mut page,
        r#"<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="referrer" content="no-referrer">
<meta name="generator" content="scholareval {}">
<title>{}</title>
"#,
        env!("CARGO_PKG_VERSION"),
        title
    );
    page.push_str(&format!("<style>{style}</style>\n</head>\n<body>\n"));
    page
}

/// Adds JSON for the script.
pub(super) fn push_data(page: &mut String, id: &str, json: &str) {
    page.push_str(&format!(
        "<script type=\"application/json\" id=\"{id}\">{json}</script>\n"
    ));
}

/// The page with its script, as UTF-8.
pub(super) fn ended(page: String, script: &str) -> Vec<u8> {
    let end = format!("<script>{script}</script>\n</body>\n</html>\n");
    (page + &end).into_bytes()
}
