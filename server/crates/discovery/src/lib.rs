//! /api, /apis and aggregated discovery.
