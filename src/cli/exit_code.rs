//! Exit codes.

use crate::error::Error;

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ExitCode {
    /// 0: done.
    Ok = 0,
    /// 1: a fault of this program.
    Unexpected = 1,
    /// 2: an invalid or contradictory command line.
    Usage = 2,
    /// 3: unusable input or settings, including cache and output paths.
    BadInput = 3,
    /// 4: no judge: wrong key, spent quota, no server, no usable reply to any call; with `--strict` also several models
    /// that answered as one judge.
    JudgeUnavailable = 4,
    /// 5: replies that cannot be read, or more unscored answers than `--max-unscored` tolerates.
    TooManyUnscored = 5,
    /// 6: finished, but a requested threshold was not met.
    BelowThreshold = 6,
    /// 7: stopped early (signal, budget, time limit); the same command continues.
    Stopped = 7,
    /// 8: finished, but a condition of `compare` is undecided, and none is missed.
    Undecided = 8,
}

impl ExitCode {
    /// All codes in order, with their meanings.
    pub const ALL: [(Self, &str); 9] = [
        (Self::Ok, "ok"),
        (Self::Unexpected, "unexpected: a fault of this program"),
        (Self::Usage, "usage: the command line cannot be understood"),
        (Self::BadInput, "bad input or settings"),
        (
            Self::JudgeUnavailable,
            "judge unavailable: wrong key, quota gone, no server, no usable reply",
        ),
        (
            Self::TooManyUnscored,
            "more unscored than tolerated, or no reply could be read",
        ),
        (
            Self::BelowThreshold,
            "finished, a required condition is missed",
        ),
        (Self::Stopped, "stopped early, can be resumed"),
        (
            Self::Undecided,
            "finished, a required condition is undecided",
        ),
    ];

    /// The documented table, one line per code, at the end of the long help.
    pub fn table() -> String {
        Self::ALL
            .iter()
            .map(|(code, meaning)| format!("  {}  {meaning}\n", *code as u8))
            .collect()
    }
}

impl From<&Error> for ExitCode {
    fn from(error: &Error) -> Self {
        match error {
            Error::Usage(_) => Self::Usage,
            Error::Input(_) | Error::Settings(_) | Error::Cache { .. } | Error::Io { .. } => {
                Self::BadInput
            }
            Error::JudgeUnavailable(_) => Self::JudgeUnavailable,
            Error::Unreadable(_) => Self::TooManyUnscored,
            Error::Stopped(_) => Self::Stopped,
            Error::Internal(_) => Self::Unexpected,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::InputFault;

    #[test]
    fn the_codes_are_the_documented_numbers() {
        let by_name = [
            (ExitCode::Ok, 0),
            (ExitCode::Unexpected, 1),
            (ExitCode::Usage, 2),
            (ExitCode::BadInput, 3),
            (ExitCode::JudgeUnavailable, 4),
            (ExitCode::TooManyUnscored, 5),
            (ExitCode::BelowThreshold, 6),
            (ExitCode::Stopped, 7),
            (ExitCode::Undecided, 8),
        ];
        assert_eq!(
            by_name.map(|(code, _)| code),
            ExitCode::ALL.map(|(code, _)| code)
        );
        for (code, number) in by_name {
            assert_eq!(code as u8, number, "{code:?}");
        }
    }

    #[test]
    fn every_error_has_its_documented_code() {
        let io = Error::Io {
            path: "f".into(),
            action: "read",
            source: std::io::Error::other("x").into(),
        };
        let cache = Error::Cache {
            path: "c".into(),
            what: "corrupt".to_owned(),
        };
        for (error, code) in [
            (Error::Usage(String::new()), ExitCode::Usage),
            (Error::Settings(String::new()), ExitCode::BadInput),
            (InputFault::new("f", "x").into(), ExitCode::BadInput),
            (cache, ExitCode::BadInput),
            (io, ExitCode::BadInput),
            (
                Error::JudgeUnavailable(String::new()),
                ExitCode::JudgeUnavailable,
            ),
            (Error::Unreadable(String::new()), ExitCode::TooManyUnscored),
            (Error::Stopped(String::new()), ExitCode::Stopped),
            (Error::Internal(String::new()), ExitCode::Unexpected),
        ] {
            assert_eq!(ExitCode::from(&error), code, "{error:?}");
        }
    }
}
