//! Answers that any link gives: Status objects in the negotiated form, plain texts.
