//! The broken parts of a source, which are left out and counted while they are few.

use std::path::Path;

use crate::error::{Error, InputFault, Result};

/// Broken parts of a source that are kept as faults; the others are counted.
pub const KEPT_FAULTS: usize = 20;

/// Broken parts after which a source that consists of them is not read to its end.
const HOPELESS_FAULTS: u64 = 100;

/// Whether more than 1% of the parts of a file is broken: then it is damaged, or not what its form says, and what is missing in it
/// must not pass for something that does not exist.
pub fn too_many_broken(broken: u64, parts: u64) -> bool {
    broken * 100 > parts
}

/// The parts of a source: records, rows, pages.
#[derive(Debug, Default)]
pub struct BrokenTally {
    /// All of them.
    pub parts: u64,
    /// Those that are broken.
    pub broken: u64,
    /// The first of these.
    pub faults: Vec<InputFault>,
}

impl BrokenTally {
    /// Adds a broken part of the source at `path`.
    ///
    /// # Errors
    /// When the source consists of them.
    pub fn add(&mut self, fault: InputFault, path: &Path) -> Result<()> {
        self.parts += 1;
        self.broken += 1;
        if self.faults.len() < KEPT_FAULTS {
            self.faults.push(fault);
        }
        if self.broken >= HOPELESS_FAULTS {
            self.check(path)?;
        }
        Ok(())
    }

    /// Checks the source at `path`, of which all is read.
    ///
    /// # Errors
    /// When more than 1% of it is broken.
    pub fn check(&self, path: &Path) -> Result<()> {
        if !too_many_broken(self.broken, self.parts) {
            return Ok(());
        }
        let mut faults = self.sorted_faults();
        let what = format!(
            "{} of {} parts cannot be read, above the limit of 1%",
            self.broken, self.parts
        );
        faults.push(InputFault::new(path, what).hint("mend the source or take these parts out"));
        Err(Error::Input(faults))
    }

    /// The faults by file and line, whichever thread found them first.
    pub fn sorted_faults(&self) -> Vec<InputFault> {
        let mut faults = self.faults.clone();
        faults.sort_by(|a, b| (&a.path, a.line).cmp(&(&b.path, b.line)));
        faults
    }
}
