//! `scholareval certify`: a certificate of a judge, as a file and as a page.

use std::path::Path;

use serde_json::{Value, json};

use super::CommandContext;
use crate::cli::args::CertifyArgs;
use crate::cli::outputs::refuse_input;
use crate::cli::terminal::path_text;
use crate::error::{InputFault, Result};
use crate::files::write_bytes;
use crate::record::CertificateHead;
use crate::report::html::certificate_page;
use crate::report::{certificate_table, certificate_text, render_json};
use crate::runs::{Certificate, CertifyOptions, certify};

/// Runs the command.
///
/// # Errors
/// As [`certify`]; when a file cannot be written, and where another file than a certificate is in its place.
pub(super) fn run(args: &CertifyArgs, context: &CommandContext<'_>) -> Result<()> {
    refuse_input(
        "--out",
        &args.out,
        args.labels.iter().map(|path| path.as_path()),
    )?;
    let page = args.out.with_extension("html");
    if page == args.out {
        let what = "the page of the certificate would have the same name";
        return Err(InputFault::new(&args.out, what)
            .hint("give --out a name that ends in .json")
            .into());
    }
    let has_certificate = CertificateHead::is_at(&args.out);
    for path in [&args.out, &page] {
        // The page of a certificate is beside it, and one without is somebody's.
        if path.exists() && !has_certificate {
            let what = "is not a certificate, and is not written over";
            return Err(InputFault::new(path, what).refuse("give --out another name"));
        }
    }
    let certificate = certify(
        &args.run,
        &CertifyOptions {
            labels: args.labels.clone(),
            probe: args.probe.clone(),
            level: args.level,
            metric: args.metric.clone(),
        },
    )?;
    if let Ok(earlier) = CertificateHead::load(&args.out) {
        let others = if has_labels(&args.out, &certificate) {
            ""
        } else {
            ", by other labels"
        };
        context.note(&format!("replaces: judge {}{others}", earlier.sentence()));
    }
    let file = certificate.file()?;
    write_bytes(&args.out, (render_json(&file)? + "\n").as_bytes())?;
    write_bytes(&page, &certificate_page(&certificate))?;
    context.show(
        args.display.format,
        &file,
        &certificate.notes,
        |style| Ok(certificate_text(&certificate, style)),
        || certificate_table(&certificate),
    )?;
    context.note(&format!(
        "certificate: {} (page: {})",
        path_text(&args.out),
        path_text(&page)
    ));
    Ok(())
}

/// Whether the certificate in this file was made of the same labels, byte by byte.
fn has_labels(path: &Path, certificate: &Certificate) -> bool {
    let text = std::fs::read_to_string(path).unwrap_or_default();
    let fields: Value = serde_json::from_str(&text).unwrap_or_default();
    fields["label_files"] == json!(certificate.label_files)
}
