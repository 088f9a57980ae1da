//! Owners of leases: one is a process of some host, and its leases are void when it has ended.

use std::hash::{BuildHasher, Hasher, RandomState};

/// A name for one handle on the cache: `process|host|random`.
pub(super) fn owner_name() -> String {
    // The standard library's hasher keys are the random numbers at hand: two handles of one process differ.
    let random = RandomState::new().build_hasher().finish();
    format!("{}|{}|{random:016x}", std::process::id(), host())
}

/// True if the owner is a process of this host that has ended.
pub(super) fn has_ended(owner: &str) -> bool {
    let mut parts = owner.split('|');
    let (Some(process), Some(place)) = (parts.next(), parts.next()) else {
        return false;
    };
    // Of a process on another host nothing is known: its lease ends by time.
    place == host() && process.parse().is_ok_and(is_gone)
}

/// True if the owner is this process, by whatever handle.
pub(super) fn is_this_process(owner: &str) -> bool {
    let mut parts = owner.split('|');
    let process = parts.next();
    parts.next().is_some_and(|place| place == host())
        && process.is_some_and(|id| id == std::process::id().to_string())
}

/// The owner's process in words, if that is another process than this one.
pub(super) fn process_of(owner: &str) -> Option<String> {
    let mut parts = owner.split('|');
    let process = parts.next()?;
    let place = parts.next()?;
    if place != host() {
        let name = place.split('/').next().unwrap_or(place);
        return Some(format!("process {process} on {name}"));
    }
    (process != std::process::id().to_string()).then(|| format!("process {process}"))
}

/// Where process ids have a meaning: the host's name and, on Linux, the namespace (a container may share the name).
#[cfg(unix)]
fn host() -> String {
    let namespace = std::fs::read_link("/proc/self/ns/pid").unwrap_or_default();
    format!(
        "{}/{}",
        rustix::system::uname().nodename().to_string_lossy(),
        namespace.display()
    )
}

#[cfg(unix)]
fn is_gone(process: i32) -> bool {
    let pid = rustix::process::Pid::from_raw(process);
    // Only "no such process": a process of another user gives "not permitted", and is alive.
    pid.is_some_and(|pid| rustix::process::test_kill_process(pid) == Err(rustix::io::Errno::SRCH))
}

#[cfg(not(unix))]
fn host() -> String {
    String::new()
}

#[cfg(not(unix))]
fn is_gone(_process: i32) -> bool {
    false
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_process_of_this_host_can_be_known_to_have_ended() {
        assert!(!has_ended(&owner_name()));
        // beyond the largest process id of Linux, 2^22
        assert!(has_ended(&format!("99999999|{}|00", host())));
        assert!(!has_ended("99999999|another host|00"));
        assert!(!has_ended("unreadable"));
        assert!(is_this_process(&owner_name()));
        assert!(!is_this_process("99999999|another host|00"));
    }

    #[test]
    fn another_process_is_named_and_this_one_is_not() {
        assert_eq!(process_of(&owner_name()), None);
        assert_eq!(
            process_of(&format!("7|{}|00", host())).as_deref(),
            Some("process 7")
        );
        assert_eq!(
            process_of("7|gpu3/pid:[1]|00").as_deref(),
            Some("process 7 on gpu3")
        );
        assert_eq!(process_of("unreadable"), None);
    }
}
