//! `relaymesh clock`

use crate::{
    args::Context,
    error::{Code, Error},
    exit::Exit,
    output, root, time,
};
use relaymesh_runtime::{
    clock::{Source as _, System},
    root_clock::{self, CONFIRMED_FILE, RootClock},
};
use relaymesh_store::Reader as _;
use serde_json::json;

const EXAMPLES: &str = "\
Examples:
  relaymesh clock show            the system clock, the time of the root, and whether they are trusted
  relaymesh clock confirm --yes   the system clock is right: delete by age again";

/// Show or confirm the time
///
/// RelayMesh deletes nothing by age while the system clock is far ahead of the last time that the root is sure of.
#[derive(Debug, clap::Subcommand)]
#[command(after_help = EXAMPLES)]
pub(crate) enum Command {
    /// Show the system clock, the time of the root, and the time by which ages are judged
    #[command(after_help = EXAMPLES)]
    Show,
    /// Confirm that the system clock is right
    ///
    /// Ages are judged by it at once. Time stamps follow when the daemon is started again; they never go back.
    #[command(after_help = EXAMPLES)]
    Confirm {
        /// Do not ask for confirmation
        #[arg(long)]
        yes: bool,
    },
}

pub(crate) fn run(command: &Command, context: &Context) -> Result<Exit, Error> {
    root::there(&context.root)?;
    match command {
        Command::Show => show(context),
        Command::Confirm { yes } => confirm(*yes, context),
    }
}

fn show(context: &Context) -> Result<Exit, Error> {
    let newest_ms = root::read(&context.root)?.head()?.hlc().map_or(0, |hlc| hlc.wall_ms);
    let clock = RootClock::glance(&context.root, newest_ms);
    let (system_ms, root_ms, ages_ms) = (System.wall_ms(), clock.now_ms(), clock.aged_ms());
    let problem = clock.problem();
    if context.json {
        output::value(&json!({
            "system": time::rfc3339(system_ms), "root": time::rfc3339(root_ms), "ages_by": time::rfc3339(ages_ms),
            "problem": problem,
        }));
        return Ok(Exit::Done);
    }
    output::line(&format!("system clock   {}", time::rfc3339(system_ms)));
    output::line(&format!("time of root   {}", time::rfc3339(root_ms)));
    output::line(&format!("ages judged by {}", time::rfc3339(ages_ms)));
    match problem {
        Some(problem) => output::note(&format!("warning: {problem}")),
        None => output::line("the system clock is trusted"),
    }
    Ok(Exit::Done)
}

fn confirm(yes: bool, context: &Context) -> Result<Exit, Error> {
    let now = time::rfc3339(System.wall_ms());
    let is_sure = || output::is_interactive() && output::ask(&format!("the system clock shows {now}; is that right?"));
    if !yes && !is_sure() {
        let message = format!("this would confirm that it is {now}, and needs confirmation");
        return Err(Error::new(Code::NotConfirmed, message).hint("confirm with `--yes`"));
    }
    let failed = |error: std::io::Error| {
        Error::new(Code::StoreIo, format!("cannot write {}: {error}", context.root.join(CONFIRMED_FILE).display()))
    };
    let confirmed = time::rfc3339(root_clock::confirm(&context.root).map_err(failed)?);
    if context.json {
        output::value(&json!({ "confirmed": confirmed }));
    } else {
        output::line(&format!("confirmed: it is {confirmed}"));
        output::note(
            "note: ages are judged by it within a second; time stamps follow when the daemon is started again",
        );
    }
    Ok(Exit::Done)
}
