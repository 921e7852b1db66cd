//! What every request passes before a handler sees it: one file per filter, in order.
