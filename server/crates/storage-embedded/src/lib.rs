//! The default engine: an in-memory multi-version map, made durable by redb.
