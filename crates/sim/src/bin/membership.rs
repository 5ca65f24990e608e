//! `cargo run -p relaymesh-sim --bin membership`: measures membership in simulated meshes, prints the table, and with
//! `--write` puts it and its plot into the documentation.

use clap::Parser;
use relaymesh_sim::gossip::{LOSSES, SIZES, page, plot, summary, table};
use std::{fs, path::PathBuf, process::ExitCode, time::Instant};

#[derive(Parser)]
#[command(name = "membership", about = "How fast a death is noticed, and what that costs")]
struct Arguments {
    /// The sizes to measure
    #[arg(long, value_delimiter = ',', default_values_t = SIZES)]
    nodes: Vec<usize>,
    /// How many worlds of each size; without it, fewer of the large ones
    #[arg(long)]
    worlds: Option<usize>,
    /// Write docs/internals/membership.md and membership.svg below this folder
    #[arg(long, value_name = "ROOT")]
    write: Option<PathBuf>,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let mut rows = Vec::new();
    for &nodes in &arguments.nodes {
        for loss in LOSSES {
            let worlds = arguments.worlds.unwrap_or(if nodes <= 10 { 20 } else { (1_000 / nodes).clamp(2, 10) });
            let began = Instant::now();
            rows.push(summary(nodes, loss, worlds.max(1)));
            eprintln!("{nodes} nodes, {} % loss: {:.1} s", loss / 10, began.elapsed().as_secs_f64());
        }
    }
    print!("{}", table(&rows));
    let Some(root) = arguments.write else { return ExitCode::SUCCESS };
    let path = root.join("docs/internals/membership.md");
    let written = fs::read_to_string(&path).and_then(|text| {
        let text = page(&text, &rows).ok_or_else(|| std::io::Error::other("the page has no place for the table"))?;
        fs::write(&path, text)?;
        fs::write(path.with_extension("svg"), plot(&rows))
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: cannot write {}: {error}", path.display());
            ExitCode::FAILURE
        }
    }
}
