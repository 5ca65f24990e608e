//! `relaymesh completions`

use crate::{
    args::{Cli, Context},
    error::Error,
    exit::Exit,
    output,
};
use clap::CommandFactory as _;
use clap_complete::Shell;

const EXAMPLES: &str = "\
Examples:
  relaymesh completions bash > ~/.local/share/bash-completion/completions/relaymesh
  relaymesh completions zsh > ~/.zfunc/_relaymesh        with ~/.zfunc in fpath
  relaymesh completions fish > ~/.config/fish/completions/relaymesh.fish
  relaymesh completions powershell >> $PROFILE";

/// Print a shell completion script
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    let mut script = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "relaymesh", &mut script);
    output::text(context, "script", &String::from_utf8_lossy(&script));
    Ok(Exit::Done)
}
