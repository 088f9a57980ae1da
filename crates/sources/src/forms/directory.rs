//! A directory of saved files: a mirror of wget, pages of a browser or SingleFile, PDFs with their texts, or files of the
//! other forms.

use std::ffi::OsStr;
use std::path::{Component, Path};

use super::saved_file::{is_html, is_page_name, is_text_of_pdf, read_file};
use super::{SourceForm, form_of, is_arc};
use crate::sink::Sink;
use scholareval_core::error::Result;
use scholareval_core::files::files_below;
use scholareval_core::files::streams::Head;

pub(super) static DIRECTORY: SourceForm = SourceForm {
    name: "a directory of these or of saved pages",
    fits: |candidate| candidate.is_dir,
    read,
};

fn read(directory: &Path, sink: &mut Sink<'_>) -> Result<()> {
    // Links may lead out of the directory.
    for path in files_below(directory, false)? {
        let address = mirrored_address(directory, &path);
        let is_page = is_page_name(&path);
        if is_text_of_pdf(&path) {
            continue;
        }
        if is_page || address.is_some() && is_html(Head::of(&path)?.text()) {
            read_file(&path, address, sink)?;
        } else if address.is_none()
            && let Some(form) = form_in_directory(&path)?
        {
            (form.read)(&path, sink)?;
        } else {
            // Images, styles and scripts of a mirror, notes next to saved pages.
            sink.other();
        }
    }
    Ok(())
}

/// The form of a file, if it has one. An archive that is not read is an error here, too: it may be all that was saved.
fn form_in_directory(path: &Path) -> Result<Option<&'static SourceForm>> {
    match form_of(path) {
        Ok(form) => Ok(Some(form)),
        Err(error) if Head::of(path).is_ok_and(|head| is_arc(path, &head)) => Err(error),
        Err(_) => Ok(None),
    }
}

/// The address of a file of a mirror: its directories begin with a host. The given directory may be that of the host.
fn mirrored_address(directory: &Path, path: &Path) -> Option<String> {
    let below = path.strip_prefix(directory).ok()?;
    let mut parts: Vec<&str> = Vec::new();
    for component in below.components() {
        match component {
            Component::Normal(part) => parts.push(part.to_str()?),
            _ => return None,
        }
    }
    if parts.len() < 2 || !is_host(parts[0]) {
        parts.insert(0, directory.file_name().and_then(OsStr::to_str)?);
    }
    if parts.len() < 2 || !is_host(parts[0]) {
        return None;
    }
    let mut address = format!("https://{}", parts.join("/"));
    for index in ["index.html", "index.htm"] {
        if let Some(page) = address
            .strip_suffix(index)
            .filter(|page| page.ends_with('/'))
        {
            address = page.to_owned();
        }
    }
    Some(address)
}

/// Whether the name of a directory is a host: labels with dots between them, the last of letters.
fn is_host(name: &str) -> bool {
    let Some((_, last)) = name.rsplit_once('.') else {
        return false;
    };
    let is_label = |label: &str| {
        !label.is_empty()
            && label
                .bytes()
                .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
    };
    name.split('.').all(is_label)
        && last.len() >= 2
        && last.bytes().all(|byte| byte.is_ascii_alphabetic())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_of_a_mirrored_file_is_its_path() {
        let address = |directory: &str, path: &str| {
            mirrored_address(Path::new(directory), Path::new(path)).unwrap_or_default()
        };
        assert_eq!(
            address("saved", "saved/example.org/news/1.html"),
            "https://example.org/news/1.html"
        );
        assert_eq!(
            address("saved", "saved/example.org/news/index.html"),
            "https://example.org/news/"
        );
        assert_eq!(
            address("saved/example.org", "saved/example.org/a?id=1"),
            "https://example.org/a?id=1"
        );
        assert_eq!(address("saved", "saved/pages/1.html"), "");
        assert_eq!(address("saved", "saved/1.html"), "");
        assert_eq!(address("v1.2", "v1.2/a.html"), "");
    }
}
