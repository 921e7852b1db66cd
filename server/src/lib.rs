//! The apiwright server: library.
