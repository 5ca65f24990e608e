//! One file per command. A new command is its module, its variant and its arm.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod bench;
pub(crate) mod completions;
pub(crate) mod dead;
mod decide;
pub(crate) mod demo;
pub(crate) mod deny;
pub(crate) mod doctor;
pub(crate) mod down;
pub(crate) mod explain;
pub(crate) mod flow;
pub(crate) mod init;
pub(crate) mod lock;
pub(crate) mod log;
pub(crate) mod man;
pub(crate) mod message;
pub(crate) mod ns;
pub(crate) mod purge;
pub(crate) mod reference;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod task;
pub(crate) mod up;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Init(init::Args),
    Up(up::Args),
    Down(down::Args),
    Status(status::Args),
    Submit(submit::Args),
    Run(run::Args),
    Flow(flow::Args),
    Task(task::Args),
    Approvals(approvals::Args),
    Approve(approve::Args),
    Deny(deny::Args),
    Dead(dead::Args),
    Agent(agent::Args),
    Message(message::Args),
    Lock(lock::Args),
    Ns(ns::Args),
    Purge(purge::Args),
    Settings(settings::Args),
    ReloadSettings(settings::ReloadArgs),
    SettingsHistory(settings::HistoryArgs),
    Secret(secret::Args),
    Audit(audit::Args),
    Log(log::Args),
    Doctor(doctor::Args),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Reference(reference::Args),
    Bench(bench::Args),
}

impl Command {
    /// Does it.
    pub(crate) fn run(self, context: &Context) -> Result<Exit, Error> {
        match self {
            Self::Demo(args) => demo::run(&args, context),
            Self::Init(args) => init::run(&args, context),
            Self::Up(args) => up::run(&args, context),
            Self::Down(args) => down::run(&args, context),
            Self::Status(args) => status::run(&args, context),
            Self::Submit(args) => submit::run(&args, context),
            Self::Run(args) => run::run(&args, context),
            Self::Flow(args) => flow::run(&args, context),
            Self::Task(args) => task::run(args, context),
            Self::Approvals(args) => approvals::run(args, context),
            Self::Approve(args) => approve::run(&args, context),
            Self::Deny(args) => deny::run(&args, context),
            Self::Dead(args) => dead::run(args, context),
            Self::Agent(args) => agent::run(&args, context),
            Self::Message(args) => message::run(args, context),
            Self::Lock(args) => lock::run(args, context),
            Self::Ns(args) => ns::run(&args, context),
            Self::Purge(args) => purge::run(&args, context),
            Self::Settings(args) => settings::run(&args, context),
            Self::ReloadSettings(args) => settings::reload(&args, context),
            Self::SettingsHistory(args) => settings::history(&args, context),
            Self::Secret(args) => secret::run(&args, context),
            Self::Audit(args) => audit::run(args, context),
            Self::Log(args) => log::run(args, context),
            Self::Doctor(args) => doctor::run(&args, context),
            Self::Explain(args) => explain::run(&args, context),
            Self::Completions(args) => completions::run(&args, context),
            Self::Man(args) => man::run(&args, context),
            Self::Reference(args) => reference::run(&args, context),
            Self::Bench(args) => bench::run(&args, context),
        }
    }
}
