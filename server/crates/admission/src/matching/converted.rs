//! The objects of a request in the version that matched.

use apiwright_json::Value;
use apiwright_meta::status::Result;

use super::Matched;
use crate::attributes::Attributes;

/// The objects of a request as another version has them, where a webhook or a policy is about that.
#[derive(Debug, Default)]
pub struct Converted {
    object: Option<Value>,
    old: Option<Value>,
}

impl Converted {
    /// Converts where what matched is not the version of the request.
    ///
    /// # Errors
    /// Those of the conversion.
    pub async fn of(
        request: &Attributes<'_>,
        matched: Matched<'_>,
        object: Option<&Value>,
        old: Option<&Value>,
    ) -> Result<Self> {
        let Some(version) = matched.conversion() else { return Ok(Self::default()) };
        let mut converted = Self::default();
        for (from, to) in [(object, &mut converted.object), (old, &mut converted.old)] {
            if let Some(from) = from {
                *to = Some(request.forms.convert(from, version).await?);
            }
        }
        Ok(converted)
    }

    /// The converted objects, or those of the request.
    pub fn objects<'a>(
        &'a self,
        object: Option<&'a Value>,
        old: Option<&'a Value>,
    ) -> (Option<&'a Value>, Option<&'a Value>) {
        (self.object.as_ref().or(object), self.old.as_ref().or(old))
    }

    /// The converted object, to be changed.
    pub fn take_object(self) -> Option<Value> {
        self.object
    }
}
