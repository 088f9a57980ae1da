//! `scholareval certify`: a certificate of a judge, as a file and as a page.

use super::CommandContext;
use crate::cli::args::CertifyArgs;
use crate::cli::outputs::refuse_input;
use crate::cli::terminal::path_text;
use crate::error::{InputFault, Result};
use crate::files::write_bytes;
use crate::record::CertificateHead;
use crate::report::html::certificate_page;
use crate::report::{certificate_table, certificate_text};
use crate::runs::{CertifyOptions, certify};

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
    if args.out.exists() && !CertificateHead::is_at(&args.out) {
        let what = "is not a certificate, and is not written over";
        return Err(InputFault::new(&args.out, what)
            .hint("give --out another name")
            .into());
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
    write_bytes(&args.out, certificate.file()?.as_bytes())?;
    write_bytes(&page, &certificate_page(&certificate))?;
    context.show(
        args.display.format,
        &certificate,
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
