//! The agent against Node, nginx and Go.

mod go;
mod load;
mod nginx;
mod node;
mod sweep;
