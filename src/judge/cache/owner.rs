//! Who holds a claim, and whether that process still lives.
//!
//! A killed process cannot give its claims back. On Linux their end is known at once: the owner's name holds the
//! process id, the time the process started (ids are used again), the boot it ran in and its namespace of process
//! ids. Where boot or namespace are not ours (another machine, another container) nothing can be told, and the lease
//! decides.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::Path;

/// A name for this handle on the cache: `id-start-boot-namespace-random`; parts that cannot be told are `?`.
pub(super) fn name() -> String {
    // The standard library's hasher keys are the random numbers at hand: several handles of one process differ.
    let random = RandomState::new().build_hasher().finish();
    let id = std::process::id();
    let start = start_of(id).map_or_else(|| "?".to_owned(), |start| start.to_string());
    let (boot, namespace) = place().unwrap_or_else(|| ("?".to_owned(), "?".to_owned()));
    format!("{id}-{start}-{boot}-{namespace}-{random:016x}")
}

/// True if the process of that name is known to have ended.
pub(super) fn is_dead(name: &str) -> bool {
    let mut parts = name.split('-');
    let (Some(id), Some(start), Some(boot), Some(namespace)) = (parts.next(), parts.next(), parts.next(), parts.next())
    else {
        return false;
    };
    let (Ok(id), Ok(start)) = (id.parse(), start.parse::<u64>()) else { return false };
    match place() {
        Some((our_boot, our_namespace)) if our_boot == boot && our_namespace == namespace => {
            start_of(id) != Some(start)
        }
        _ => false,
    }
}

/// When a process started, in ticks since boot: field 22 of its `stat`, counted after the command's closing bracket.
fn start_of(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    let (_, rest) = stat.rsplit_once(')')?;
    let mut fields = rest.split_ascii_whitespace();
    // A process that has ended and that nobody has asked about yet writes nothing any more.
    if matches!(fields.next()?, "Z" | "X") {
        return None;
    }
    fields.nth(18)?.parse().ok()
}

/// The boot and the namespace of process ids.
fn place() -> Option<(String, String)> {
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    let namespace = std::fs::read_link(Path::new("/proc/self/ns/pid")).ok()?;
    let digits = |text: &str| text.chars().filter(char::is_ascii_alphanumeric).collect::<String>();
    Some((digits(boot.trim()), digits(&namespace.to_string_lossy())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_is_not_dead_and_what_cannot_be_told_is_not_either() {
        assert!(!is_dead(&name()));
        assert!(!is_dead("4711-0123456789abcdef"));
        assert!(!is_dead("1-2-otherboot-pid1-00"));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_process_of_another_start_has_ended() {
        let own = name();
        let mut parts: Vec<&str> = own.split('-').collect();
        assert!(parts[1].parse::<u64>().is_ok(), "{own}");
        parts[1] = "1";
        assert!(is_dead(&parts.join("-")));
    }
}
