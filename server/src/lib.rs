//! The apiwright server: library.

pub mod access;
pub mod acts;
pub mod audit;
pub mod bootstrap;
pub mod chain;
mod client;
pub mod config;
pub mod controllers;
pub mod encryption;
pub mod explain;
pub mod flags;
pub mod generated;
pub mod hooks;
mod identity;
pub mod issuer;
pub mod kubeconfig;
pub mod logging;
mod permits;
pub mod pki;
pub mod probes;
mod requester;
pub mod resolver;
pub mod resources;
pub mod run;
pub mod services;
pub mod snapshot;
pub mod storage;
