//! Statistics on slices: resampling intervals, correlation, summaries. Seeded; `None` where undefined.
