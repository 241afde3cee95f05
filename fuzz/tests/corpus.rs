//! Every target over its seeds and over mutations of them, on stable.

use std::fs;
use std::path::Path;

use warmwire_fuzz::mutate::{Numbers, mutate};

const MUTATIONS: usize = 20_000;

/// The same in every run; a failure prints the input itself.
const SEED: u64 = 9112;

fn run(corpus: &str, target: fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(corpus);
    let mut paths: Vec<_> = fs::read_dir(folder).unwrap().map(|e| e.unwrap().path()).collect();
    paths.sort();
    let seeds: Vec<_> = paths.iter().map(|path| fs::read(path).unwrap()).collect();
    seeds.iter().for_each(|seed| target(seed));

    let mut numbers = Numbers::new(SEED);
    for _ in 0..MUTATIONS {
        let seed = &seeds[numbers.below(seeds.len())];
        target(&mutate(seed, &mut numbers));
    }
}

#[test]
fn response_vs_hyper() {
    run("response", warmwire_fuzz::response_vs_hyper);
}

#[test]
fn response_splits() {
    run("response", warmwire_fuzz::response_splits);
}

#[test]
fn keep_alive() {
    run("keep_alive", warmwire_fuzz::keep_alive);
}

#[test]
fn amp() {
    run("amp", warmwire_fuzz::amp);
}
