//! Objects on their way out: the stored bytes with the resourceVersion spliced in.

/// An object ready to be written.
#[derive(Debug)]
pub struct Presented {
    _private: (),
}

impl Presented {
    /// How many bytes [`Presented::write`] appends.
    pub fn len(&self, type_meta: Option<(&str, &str)>) -> usize {
        let _ = type_meta;
        todo!()
    }

    /// Appends the object: with this kind and apiVersion, or without any (items of lists).
    pub fn write(&self, out: &mut Vec<u8>, type_meta: Option<(&str, &str)>) {
        let _ = (out, type_meta);
        todo!()
    }
}
