//! /openapi/v2 and /openapi/v3, built lazily per group version.
