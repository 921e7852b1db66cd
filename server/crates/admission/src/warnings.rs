//! Texts for Warning headers that plugins collect.

use std::sync::Mutex;

/// What plugins warn of during one request, each text once.
#[derive(Debug, Default)]
pub struct Warnings(Mutex<Vec<String>>);

impl Warnings {
    /// Adds a text.
    pub fn add(&self, text: impl Into<String>) {
        let text = text.into();
        let mut texts = self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        if !texts.contains(&text) {
            texts.push(text);
        }
    }

    /// Takes all texts out.
    pub fn take(&self) -> Vec<String> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(std::sync::PoisonError::into_inner))
    }
}
