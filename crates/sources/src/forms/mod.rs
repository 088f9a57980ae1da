//! The forms of sources. A new one is a file with its [`SourceForm`] and a line in [`FORMS`].

mod directory;
mod inspect_archive;
mod json;
mod saved_file;
mod wacz;
mod warc;

use std::path::Path;

use super::sink::Sink;
use scholareval_core::error::{InputFault, Result};
use scholareval_core::files::is_zip;
use scholareval_core::files::streams::{Head, member_names};

/// A form of source.
pub(super) struct SourceForm {
    /// What a user calls it.
    name: &'static str,
    fits: fn(&FormCandidate<'_>) -> bool,
    pub(super) read: fn(&Path, &mut Sink<'_>) -> Result<()>,
}

/// Every form. The first that fits is taken: saved files, which are known by their name, come last.
static FORMS: [&SourceForm; 6] = [
    &directory::DIRECTORY,
    &wacz::WACZ,
    &inspect_archive::INSPECT_ARCHIVE,
    &warc::WARC,
    &json::JSON,
    &saved_file::SAVED_FILE,
];

/// A file or directory whose form is not known yet.
struct FormCandidate<'a> {
    path: &'a Path,
    is_dir: bool,
    head: Head,
    /// The members of a zip archive.
    members: Vec<String>,
}

/// The form of a source.
///
/// # Errors
/// When it cannot be read, or has none of the forms.
pub(super) fn form_of(path: &Path) -> Result<&'static SourceForm> {
    let is_dir = path.is_dir();
    let mut candidate = FormCandidate {
        path,
        is_dir,
        head: Head { bytes: Vec::new() },
        members: Vec::new(),
    };
    if !is_dir {
        candidate.head = Head::of(path)?;
        if is_zip(&candidate.head.bytes) {
            candidate.members = member_names(path)?;
        }
    }
    if !is_dir && is_arc(path, &candidate.head) {
        let what = "an ARC file, the form of archives before WARC, which is not read";
        let fault = InputFault::new(path, what);
        return Err(fault.refuse("convert it first: warcio recompress IN.arc.gz OUT.warc.gz"));
    }
    let form = FORMS.into_iter().find(|form| (form.fits)(&candidate));
    form.ok_or_else(|| {
        let names: Vec<&str> = FORMS.iter().map(|form| form.name).collect();
        InputFault::new(path, "not a source of pages that can be read")
            .refuse(format!("the forms are: {}", names.join("; ")))
    })
}

/// Whether a file is of the old form of the Internet Archive, by its first record or its name.
fn is_arc(path: &Path, head: &Head) -> bool {
    let name = path.to_string_lossy().to_ascii_lowercase();
    let is_other = head.text().starts_with(b"WARC/");
    head.text().starts_with(b"filedesc:")
        || !is_other && (name.ends_with(".arc") || name.ends_with(".arc.gz"))
}

/// Reads a source.
///
/// # Errors
/// As [`form_of`]; when it cannot be read, or its pages cannot be written.
pub(super) fn read(path: &Path, sink: &mut Sink<'_>) -> Result<()> {
    (form_of(path)?.read)(path, sink)
}

/// The extension of a file in lower case.
fn extension(path: &Path) -> String {
    let extension = path.extension().unwrap_or_default();
    extension.to_string_lossy().to_ascii_lowercase()
}
