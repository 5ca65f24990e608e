//! Writes the seeds of every target, and a dictionary, where libFuzzer finds them: `seeds FOLDER`.

use relaymesh_fuzz::{TARGETS, mutate::WORDS};
use std::{fs, io, path::PathBuf};

fn main() -> io::Result<()> {
    let folder = PathBuf::from(std::env::args_os().nth(1).unwrap_or_else(|| ".".into()));
    for target in TARGETS {
        let folder = folder.join(target.name);
        fs::create_dir_all(&folder)?;
        for (number, seed) in (target.seeds)().iter().enumerate() {
            fs::write(folder.join(format!("seed-{number:02}")), seed)?;
        }
    }
    let quoted = |word: &&str| word.bytes().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let lines: Vec<String> = WORDS.iter().map(|word| format!("\"{}\"\n", quoted(word))).collect();
    fs::write(folder.join("words.dict"), lines.concat())
}
