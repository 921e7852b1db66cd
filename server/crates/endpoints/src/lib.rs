//! One handler per verb: HTTP in, HTTP out, around the registry.
