//! What the server says it serves.
