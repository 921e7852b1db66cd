//! Derives for typed Kubernetes objects.
