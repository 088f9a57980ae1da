//! Arguments of `certify`.

use std::path::PathBuf;

use clap::Args;

use super::DisplayOptions;
use crate::analysis::rater_agreement::AgreementLevel;

/// A run, labels, and where the certificate goes.
#[derive(Debug, Clone, Args)]
pub struct CertifyArgs {
    /// Run directory of the judge, with the labeled answers
    #[arg(value_name = "RUN")]
    pub run: PathBuf,
    /// Labels of people, as for agree
    #[arg(long, value_name = "FILE", num_args = 1.., required = true)]
    pub labels: Vec<PathBuf>,
    /// Run directory of probe, by the same judge
    #[arg(long, value_name = "RUN")]
    pub probe: Option<PathBuf>,
    /// What is compared: answer or item [default: item where items were labeled]
    #[arg(long, value_enum, hide_possible_values = true, value_name = "LEVEL")]
    pub level: Option<AgreementLevel>,
    /// Which number of the run, as for agree
    #[arg(long, value_name = "NAME")]
    pub metric: Option<String>,
    /// The certificate to write; its page gets the same name with .html
    #[arg(long, short, value_name = "FILE", default_value = "certificate.json")]
    pub out: PathBuf,
    /// How the result is shown.
    #[command(flatten)]
    pub display: DisplayOptions,
}
