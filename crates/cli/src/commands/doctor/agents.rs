//! The agents of the root: whether their file can be read, and whether their programs are there.

use super::report::Report;
use crate::{agents, args::Context, error::Code};
use relaymesh_agents::{
    Agents,
    config::FILE,
    confine::{self, Level},
    program,
};

pub(super) fn check(context: &Context, report: &mut Report) {
    let agents = match agents::read(&context.root) {
        Ok(agents) => agents,
        Err(error) => {
            let place = error
                .place
                .as_ref()
                .map_or_else(String::new, |at| format!(" (line {}, column {})", at.line, at.column));
            return report.fail("agents", error.code, format!("{FILE}: {}{place}", error.message), "correct the file");
        }
    };
    confined(&agents, report);
    let commands = agents.iter().filter_map(|(name, agent)| Some((name, agent.process()?.command.first()?)));
    let missing = commands.filter(|(_, file)| program(file).is_none());
    let missing: Vec<String> = missing.map(|(name, file)| format!("{name} ({file})")).collect();
    match missing.len() {
        0 => report.ok("agents", format!("{} in {FILE}; all programs found", agents.iter().count())),
        count => report.fail(
            "agents",
            Code::BadAgents,
            format!("{count} programs not found: {}", missing.join(", ")),
            "install them, or use full paths; the daemon has the PATH of the shell that started it",
        ),
    }
}

/// How well this machine can confine agents, and which of them are confined less than that.
fn confined(agents: &Agents, report: &mut Report) {
    let machine = confine::machine();
    let level = machine.level.as_str();
    let less: Vec<String> = agents
        .iter()
        .filter_map(|(name, agent)| Some((name, confine::level(agent.process()?))))
        .filter(|(_, found)| found.level < machine.level)
        .map(|(name, found)| format!("{name} is {} ({})", found.level.as_str(), found.why))
        .collect();
    let less = if less.is_empty() { String::new() } else { format!("; but {}", less.join(", ")) };
    match machine.level {
        Level::Full => report.ok("confine", format!("agents are fully confined, {}{less}", machine.why)),
        Level::Partial | Level::None => report.warn(
            "confine",
            format!("confinement: {level}: {}{less}", machine.why),
            "run agents that you trust, or a kernel with Landlock (Linux 6.12 or later); docs/how-to/containment.md says what holds",
        ),
    }
}
