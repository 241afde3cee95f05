//! The examples are run, and what they print is what their readers are promised.

mod examples;
