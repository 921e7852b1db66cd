//! Whether the controllers that run once may run here: no other replica leads, and no real
//! kube-controller-manager is at work.
//!
//! A store that only this process has needs no election.

use std::sync::Arc;

use apiwright_chain::Drain;
use apiwright_controllers::election::Election;
use apiwright_controllers::{Lease, Standby};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use uuid::Uuid;

use super::Assembly;
use crate::identity::hostname;

/// The lease of kube-controller-manager.
const MANAGER: &str = "kube-system/kube-controller-manager";
/// The lease of ours.
const OURS: &str = "apiwright-controllers";

/// Follows both; gives whether they may run, and the election, which ends with the drain. Nobody asks where
/// all of them are switched off.
pub(super) fn follow(
    assembly: &mut Assembly<'_>,
    drain: &Drain,
) -> Result<(watch::Receiver<bool>, Option<JoinHandle<()>>), String> {
    let (may_run, answer) = watch::channel(false);
    if !assembly.manages() {
        return Ok((answer, None));
    }
    let leases = assembly.parts.store("coordination.k8s.io", "v1", "leases")?;
    let (leads, leading) = watch::channel(!assembly.parts.is_shared);
    let election = assembly.parts.is_shared.then(|| {
        let identity = format!("{}_{}", hostname(), Uuid::new_v4());
        let election = Election::new(Lease { store: leases.clone(), name: OURS }, identity);
        tokio::spawn(election.run(leads.clone(), drain.clone()))
    });
    let standby = Standby::new(MANAGER);
    let (aside, stands_aside) = watch::channel(false);
    let informers = assembly.controllers.informers();
    informers.listen(&leases, standby.clone());
    let informed = informers.synced();
    tokio::spawn(standby.clone().run(aside));
    // The election ends before the workers do; they keep their answer until then.
    tokio::spawn(join(may_run, leading, standby, stands_aside, informed, leads, drain.clone()));
    Ok((answer, election))
}

/// Leads, and does not stand aside, and knows whether it does.
async fn join(
    may_run: watch::Sender<bool>,
    mut leading: watch::Receiver<bool>,
    standby: Arc<Standby>,
    mut aside: watch::Receiver<bool>,
    mut informed: watch::Receiver<bool>,
    _leads: watch::Sender<bool>,
    mut drain: Drain,
) {
    if informed.wait_for(|informed| *informed).await.is_err() {
        return;
    }
    loop {
        aside.mark_unchanged();
        let may = *leading.borrow_and_update() && !standby.is_held();
        may_run.send_if_modified(|before| std::mem::replace(before, may) != may);
        tokio::select! {
            changed = leading.changed() => if changed.is_err() { return },
            changed = aside.changed() => if changed.is_err() { return },
            () = drain.begun() => return,
        }
    }
}
