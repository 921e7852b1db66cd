//! Field paths: `spec.containers[0].ports`, `metadata.labels[a/b]`.
