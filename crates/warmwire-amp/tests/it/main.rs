//! Values and messages, as their users see them.

mod golden;
mod messages;
mod page;
mod values;
