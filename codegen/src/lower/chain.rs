//! The chain and the bootstrap objects: what was written is what is meant.

use crate::diagnostic::Spanned;
use crate::ir::{BootstrapObject, Chain, ChainServer, Probe};
use crate::spec::{self, Spec};

pub(super) fn chain(of: &spec::Chain) -> Chain {
    Chain {
        servers: of
            .servers
            .iter()
            .map(|one| ChainServer {
                kind: one.kind.value,
                groups: (!one.rest).then(|| values(&one.groups)),
                controllers: values(&one.controllers),
            })
            .collect(),
        admission: of.admission.iter().map(|one| (one.name.value.clone(), one.default)).collect(),
        probes: of
            .probes
            .iter()
            .map(|one| Probe {
                name: one.name.value.clone(),
                asked_by: values(&one.asked_by),
                after: one.after.as_ref().map(|stage| stage.value),
            })
            .collect(),
    }
}

pub(super) fn bootstrap(spec: &Spec) -> Vec<BootstrapObject> {
    let objects = spec.bootstrap.iter().flat_map(|file| file.objects.iter().map(move |json| (file, json)));
    objects
        .map(|(file, json)| BootstrapObject {
            group: file.group.clone(),
            version: file.version.clone(),
            plural: file.plural.clone(),
            mends: file.mends,
            json: json.clone(),
        })
        .collect()
}

fn values(of: &[Spanned<String>]) -> Vec<String> {
    of.iter().map(|one| one.value.clone()).collect()
}
