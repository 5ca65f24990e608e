//! The fake model as a program, to try agent tools by hand.

use clap::Parser;
use relaymesh_fake_model::{FakeModel, Turn};
use std::path::PathBuf;

/// A scripted language model on loopback
#[derive(Parser)]
struct Args {
    /// The port; 0 is any that is free
    #[arg(long, default_value_t = 0)]
    port: u16,
    /// Requests without tools are beside the conversation and take no turn
    #[arg(long)]
    tools: bool,
    /// A file with the turns: [{"say": "hello"}, {"call": {"name": "shell", "arguments": {}}}, …]
    script: PathBuf,
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let args = Args::parse();
    let script: Vec<Turn> = serde_json::from_slice(&std::fs::read(&args.script)?)?;
    let model = FakeModel::on(args.port, script, args.tools)?;
    println!("{}", model.url());
    let mut told = 0;
    loop {
        for asked in model.asked().iter().skip(told) {
            println!("{} {}", asked.uri, asked.body);
            told += 1;
        }
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
}
