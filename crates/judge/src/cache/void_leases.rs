//! Removes leases that nobody holds any more.

use rusqlite::Connection;

use super::lease_clock::now_ms;
use super::owner::has_ended;

const OWNERS: &str = "SELECT DISTINCT owner FROM leases";
const RELEASE_EXPIRED: &str = "DELETE FROM leases WHERE expires_at <= ?1";
const RELEASE_ALL: &str = "DELETE FROM leases WHERE owner = ?1";

/// Gives back the leases of these owners, of processes of this host that have ended, and those that are over. What is left in
/// a closed file is a sign that a command was using it when it was copied.
pub(super) fn release_void(
    connection: &Connection,
    is_over: impl Fn(&str) -> bool,
) -> rusqlite::Result<()> {
    connection.execute(RELEASE_EXPIRED, [now_ms()])?;
    let owners: Vec<String> = connection
        .prepare(OWNERS)?
        .query_map([], |row| row.get(0))?
        .collect::<rusqlite::Result<_>>()?;
    for owner in owners {
        if is_over(&owner) || has_ended(&owner) {
            connection.execute(RELEASE_ALL, [&owner])?;
        }
    }
    Ok(())
}
