//! The providers of a resource: the first one seals, whichever knows a value opens it.

use std::sync::Arc;

use futures::future::BoxFuture;

use crate::transform::{Fault, Opened, Transform};

/// What every sealed value begins with.
pub(crate) const SEALED: &[u8] = b"k8s:enc:";

/// Transforms by what their values begin with, in the order of preference.
pub struct Providers {
    of: Vec<(Vec<u8>, Arc<dyn Transform>)>,
    /// What is said of a value that none of them knows.
    unknown: &'static str,
}

impl Providers {
    /// Those of a resource.
    pub(crate) fn of_resource(of: Vec<(Vec<u8>, Arc<dyn Transform>)>) -> Self {
        Self { of, unknown: "no matching prefix found" }
    }

    /// The keys of one provider.
    pub(crate) fn keys(of: Vec<(Vec<u8>, Arc<dyn Transform>)>, unknown: &'static str) -> Self {
        Self { of, unknown }
    }

    /// Whether values are written as they are from now on.
    pub(crate) fn seals_plainly(&self) -> bool {
        self.of.first().is_some_and(|(prefix, _)| prefix.is_empty())
    }
}

impl Transform for Providers {
    fn seal(&self, value: &[u8], place: &str) -> Result<Vec<u8>, Fault> {
        let Some((prefix, first)) = self.of.first() else { return Err(Fault::lasting(self.unknown)) };
        let sealed = first.seal(value, place)?;
        let mut out = Vec::with_capacity(prefix.len() + sealed.len());
        out.extend_from_slice(prefix);
        out.extend_from_slice(&sealed);
        Ok(out)
    }

    fn open<'a>(&'a self, sealed: &'a [u8], place: &'a str) -> BoxFuture<'a, Result<Opened, Fault>> {
        Box::pin(async move {
            let mut faults: Vec<Fault> = Vec::new();
            for (at, (prefix, provider)) in self.of.iter().enumerate() {
                let Some(rest) = sealed.strip_prefix(prefix.as_slice()) else { continue };
                match provider.open(rest, place).await {
                    Ok(opened) => return Ok(Opened { is_stale: opened.is_stale || at > 0, ..opened }),
                    // Another one may know it; a key's name may be used twice while keys are exchanged.
                    Err(_) if prefix.is_empty() => {}
                    Err(fault) if faults.iter().any(|other| other.text == fault.text) => {}
                    Err(fault) => faults.push(fault),
                }
            }
            Err(match faults.as_slice() {
                [] => Fault::lasting(self.unknown),
                [only] => only.clone(),
                several => {
                    let texts: Vec<&str> = several.iter().map(|fault| fault.text.as_str()).collect();
                    let is_passing = several.iter().any(|fault| fault.is_passing);
                    Fault { text: format!("[{}]", texts.join(", ")), is_passing }
                }
            })
        })
    }
}

/// `identity`: values as they are.
pub(crate) struct Identity;

impl Transform for Identity {
    fn seal(&self, value: &[u8], _: &str) -> Result<Vec<u8>, Fault> {
        Ok(value.to_vec())
    }

    fn open<'a>(&'a self, sealed: &'a [u8], _: &'a str) -> BoxFuture<'a, Result<Opened, Fault>> {
        let opened = if sealed.starts_with(SEALED) {
            Err(Fault::lasting("identity transformer tried to read encrypted data"))
        } else {
            Ok(Opened { value: sealed.to_vec(), is_stale: false })
        };
        Box::pin(std::future::ready(opened))
    }
}
