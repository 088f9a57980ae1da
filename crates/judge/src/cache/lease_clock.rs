//! The clock of leases: the milliseconds since the machine started, which all its processes share and nobody can set.
//!
//! With the time of day, a clock that is set forward in one process's view would end the leases of all others.

/// Milliseconds since the machine started, sleep included.
#[cfg(any(target_os = "linux", target_os = "android"))]
pub(super) fn now_ms() -> i64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
    now.tv_sec
        .saturating_mul(1000)
        .saturating_add(now.tv_nsec / 1_000_000)
}

/// Milliseconds since 1970: other systems have no such clock that the standard library reads.
#[cfg(not(any(target_os = "linux", target_os = "android")))]
pub(super) fn now_ms() -> i64 {
    let since = std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .unwrap_or_default();
    i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
}
