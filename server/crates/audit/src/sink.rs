//! Where events go, who waits for that, and what is left of an event that is too long.

use std::io;
use std::sync::Arc;

use bytes::Bytes;

use crate::Lost;
use crate::buffer::{Batching, Buffer};

/// Takes events somewhere: one JSON object or one line each, without a newline.
pub trait Deliver: Send + Sync + 'static {
    /// As metrics and logs name it.
    fn name(&self) -> &'static str;

    /// Takes them, and waits until they are there; gives whether they are. Faults are logged.
    fn deliver(&self, events: Vec<Bytes>) -> bool;

    /// Takes them without anybody waiting, if that is worth while.
    fn hand_over(&self, events: Vec<Bytes>) {
        self.deliver(events);
    }

    /// The server is about to serve: its runtime is there.
    fn begin(&self) {}

    /// Waits a while for what was handed over.
    fn settle(&self) {}
}

/// Who waits for an event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The request does.
    Blocking,
    /// The request does, and it fails when the event cannot be kept.
    BlockingStrict,
    /// Nobody; what does not fit into the buffer is lost.
    Batch(Batching),
}

/// How events look.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Form {
    /// JSON.
    #[default]
    Json,
    /// A line for people, with the most important of it.
    Legacy,
}

/// A place where events go.
pub struct Sink {
    pub(crate) name: &'static str,
    pub(crate) form: Form,
    /// How long an event may be: of longer ones the objects are left out.
    pub(crate) event_bytes_max: Option<usize>,
    deliver: Arc<dyn Deliver>,
    way: Way,
}

enum Way {
    Direct { is_strict: bool },
    Buffered(Buffer),
}

impl Sink {
    /// Takes events in a mode.
    ///
    /// # Errors
    /// When there can be no thread for it.
    pub fn new(deliver: Arc<dyn Deliver>, mode: Mode) -> io::Result<Self> {
        let way = match mode {
            Mode::Blocking => Way::Direct { is_strict: false },
            Mode::BlockingStrict => Way::Direct { is_strict: true },
            Mode::Batch(batching) => Way::Buffered(Buffer::start(Arc::clone(&deliver), batching)?),
        };
        Ok(Self { name: deliver.name(), form: Form::default(), event_bytes_max: None, deliver, way })
    }

    /// In another form.
    #[must_use]
    pub fn with_form(self, form: Form) -> Self {
        Self { form, ..self }
    }

    /// Without the objects of events that are longer than this.
    #[must_use]
    pub fn with_limit(self, event_bytes_max: usize) -> Self {
        Self { event_bytes_max: Some(event_bytes_max), ..self }
    }

    /// Takes one event; gives whether it is kept, and fails where the request has to.
    pub(crate) fn take(&self, event: Bytes) -> Result<bool, Lost> {
        match &self.way {
            Way::Buffered(buffer) => Ok(buffer.take(event)),
            Way::Direct { is_strict } => match self.deliver.deliver(vec![event]) {
                true => Ok(true),
                false if *is_strict => Err(Lost),
                false => Ok(false),
            },
        }
    }

    pub(crate) fn begin(&self) {
        self.deliver.begin();
    }

    pub(crate) fn flush(&self) {
        match &self.way {
            Way::Buffered(buffer) => buffer.flush(),
            Way::Direct { .. } => self.deliver.settle(),
        }
    }
}
