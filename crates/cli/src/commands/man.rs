//! `relaymesh man`

use crate::{
    args::{Cli, Context},
    error::{Code, Error},
    exit::Exit,
    output,
};
use clap::CommandFactory as _;
use serde_json::json;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  relaymesh man | man -l -                               show the main page
  relaymesh man --out ~/.local/share/man/man1            write all pages: `man relaymesh-task-show`";

/// Print the manual page, or write one for every command
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Write a page for every command into this folder
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let Some(folder) = &args.out else {
        let mut page = Vec::new();
        let written = clap_mangen::Man::new(Cli::command()).render(&mut page);
        written.map_err(|error| Error::new(Code::Internal, format!("cannot make the page: {error}")))?;
        output::text(context, "page", &String::from_utf8_lossy(&page));
        return Ok(Exit::Done);
    };
    let failed = |error| Error::new(Code::StoreIo, format!("cannot write to {}: {error}", folder.display()));
    std::fs::create_dir_all(folder).map_err(failed)?;
    clap_mangen::generate_to(Cli::command(), folder).map_err(failed)?;
    if context.json {
        output::value(&json!({ "out": folder.display().to_string() }));
    } else {
        output::note(&format!("wrote the pages to {}", folder.display()));
    }
    Ok(Exit::Done)
}
