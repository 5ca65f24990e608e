//! The agents of the root: whether their file can be read, and whether their programs are there.

use super::report::Report;
use crate::{agents, args::Context, error::Code};
use relaymesh_agents::{Script, config::FILE, program};

pub(super) fn check(context: &Context, report: &mut Report) {
    let agents = match agents::read(&context.root) {
        Ok(agents) => agents,
        Err(error) => {
            let place = error
                .place
                .as_ref()
                .map_or_else(String::new, |at| format!(" (line {}, column {})", at.line, at.column));
            return report.fail("agents", error.code, format!("{FILE}: {}{place}", error.message), "mend the file");
        }
    };
    let is_missing =
        |script: &Script| !script.inbox && script.command.first().is_none_or(|name| program(name).is_none());
    let missing: Vec<String> = agents
        .iter()
        .filter(|(_, script)| is_missing(script))
        .map(|(name, script)| format!("{name} ({})", script.command.first().map_or("", String::as_str)))
        .collect();
    match missing.len() {
        0 => report.ok("agents", format!("{} in {FILE}, and their programs are there", agents.iter().count())),
        count => report.fail(
            "agents",
            Code::BadAgents,
            format!("{count} programs are not found: {}", missing.join(", ")),
            "install them, or give the full path; the daemon has the PATH of whoever started it",
        ),
    }
}
