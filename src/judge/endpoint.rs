//! Where a judge lives: address, key, headers, time-outs.
