//! Values and messages, as their users see them.

mod messages;
mod values;
