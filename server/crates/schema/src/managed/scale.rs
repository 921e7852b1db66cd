//! Ownership through the scale subresource: the replicas of the object, seen as those of a Scale.

use apiwright_json::{Str, Value};

use super::managers::{Invalid, Managers, Owner};
use crate::fieldset::{Element, Path, Set};

/// The version that entries have as long as they are a Scale's.
const SCALE: &str = "autoscaling/v1";

/// How the owners of an object and those of its Scale correspond.
#[derive(Clone, Debug)]
pub struct Scale {
    /// The version of the object in the request.
    pub api_version: Str,
    /// Each version of the object with the path of its replicas; `None` where it has no scale.
    pub replicas: Vec<(Str, Option<Path>)>,
}

impl Scale {
    /// The path of a dotted one, `spec.replicas`.
    pub fn path(dotted: &str) -> Path {
        dotted.split('.').map(Element::field).collect()
    }

    /// The Scale's entries: of each of the object's owners, the replicas.
    ///
    /// # Errors
    /// When an entry is not valid.
    pub fn to_scale(&self, entries: Option<&Value>) -> Result<Option<Value>, Invalid> {
        let mut scale = Managers::default();
        for owner in Managers::decode(entries)?.0 {
            if let Some(Some(path)) = self.replicas_in(&owner.api_version)
                && owner.fields.to_set().has(path)
            {
                scale.put(Owner { api_version: SCALE.into(), fields: scale_replicas().into(), ..owner });
            }
        }
        Ok(scale.encode())
    }

    /// The object's entries after the Scale was written: who no longer owns the Scale's replicas
    /// has lost the object's.
    ///
    /// # Errors
    /// When an entry is not valid.
    pub fn to_object(
        &self,
        entries: Option<&Value>,
        scale: Option<&Value>,
    ) -> Result<Option<Value>, Invalid> {
        let mut scale = Managers::decode(scale)?;
        let mut object = Managers::default();
        for mut owner in Managers::decode(entries)?.0 {
            let Some(path) = self.replicas_in(&owner.api_version) else { continue };
            let Some(path) = path.as_ref().filter(|path| owner.fields.to_set().has(path)) else {
                object.put(owner);
                continue;
            };
            // An owner by update has another version there, and so is another owner: as upstream,
            // its replicas get an entry of their own below.
            if scale.take(&owner).is_none() {
                let mut replicas = Set::new();
                replicas.insert(path);
                owner.fields.remove_all(&replicas);
            }
            if !owner.fields.is_empty() {
                object.put(owner);
            }
        }
        let Some(Some(path)) = self.replicas_in(&self.api_version) else { return Ok(object.encode()) };
        for owner in scale.0 {
            if !owner.fields.to_set().has(&replicas_path()) {
                continue;
            }
            let mut set = Set::new();
            set.insert(path);
            // As upstream, it has no time unless it was an owner already.
            let before = object.take(&owner);
            let time = before.and_then(|before| before.time);
            object.0.push(Owner { api_version: self.api_version.clone(), time, fields: set.into(), ..owner });
        }
        Ok(object.encode())
    }

    fn replicas_in(&self, api_version: &str) -> Option<&Option<Path>> {
        self.replicas.iter().find(|(version, _)| version == api_version).map(|(_, path)| path)
    }
}

fn replicas_path() -> Path {
    Scale::path("spec.replicas")
}

fn scale_replicas() -> Set {
    Set::of_fields(&[&["spec", "replicas"]])
}
