//! Every target for a few seconds: seeds, the saved corpus, every truncation, every byte bent, and random mutations.
//! What is run is the same each time.

use relaymesh_fuzz::{
    TARGETS, Target,
    mutate::{Random, mutated},
};
use std::{fs, panic::catch_unwind, path::PathBuf};

const SEED: u64 = 7;
const MUTATIONS: usize = 2_500;

fn target(name: &str) -> &'static Target {
    TARGETS.iter().find(|target| target.name == name).expect("a target has this name")
}

/// Runs the target on one input; if it breaks, says what to save.
fn run(target: &Target, data: &[u8]) {
    if catch_unwind(|| (target.run)(data)).is_err() {
        let name = target.name;
        panic!("{name} breaks on {} bytes; save them in fuzz/corpus/{name}/: {}", data.len(), data.escape_ascii());
    }
}

fn corpus(target: &Target) -> Vec<Vec<u8>> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target.name);
    let entries = fs::read_dir(folder).expect("a target has a corpus");
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be listed").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("a corpus file can be read")).collect()
}

fn all(name: &str) {
    let target = target(name);
    let seeds = (target.seeds)();
    let mut inputs = [seeds.clone(), corpus(target)].concat();
    inputs.iter().for_each(|input| run(target, input));
    for seed in seeds {
        for at in 0..seed.len() {
            run(target, &seed[..at]);
            for bits in [0xff, 1 << (at % 8)] {
                let mut bent = seed.clone();
                bent[at] ^= bits;
                run(target, &bent);
            }
        }
    }
    inputs.retain(|input| input.len() < 4096);
    let mut random = Random::new(SEED);
    for _ in 0..MUTATIONS {
        run(target, &mutated(&inputs, &mut random));
    }
}

macro_rules! targets {
    ($($name:ident)*) => {
        $(#[test]
        fn $name() {
            all(stringify!($name));
        })*

        #[test]
        fn every_target_is_run() {
            assert_eq!(TARGETS.iter().map(|target| target.name).collect::<Vec<_>>(), [$(stringify!($name)),*]);
            let libfuzzer = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("libfuzzer");
            let manifest = fs::read_to_string(libfuzzer.join("Cargo.toml")).unwrap();
            for name in [$(stringify!($name)),*] {
                assert!(manifest.contains(&format!("name = \"{name}\"")), "{name} has no libFuzzer binary");
                let text = fs::read_to_string(libfuzzer.join(format!("targets/{name}.rs"))).unwrap();
                assert!(text.contains(&format!("{name}::target(data)")), "{text}");
            }
        }
    };
}

targets! { op row ids canonical request workflow sidecar content locks expr settings sse bus backup capability envelope parcel door bulk feed auth }
