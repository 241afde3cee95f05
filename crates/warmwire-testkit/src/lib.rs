//! Scripted peers and helpers for Warmwire's tests.
