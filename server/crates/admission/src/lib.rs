//! Admission: mutating plugins, then validating ones, in the order that the chain declares.
