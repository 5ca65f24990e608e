//! One file per command. A new command is its module, its variant and its arm.

pub(crate) mod agent;
pub(crate) mod approvals;
pub(crate) mod approve;
pub(crate) mod audit;
pub(crate) mod backup;
pub(crate) mod clock;
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
pub(crate) mod metrics;
pub(crate) mod msg;
pub(crate) mod ns;
pub(crate) mod open;
pub(crate) mod purge;
pub(crate) mod reach;
pub(crate) mod reference;
pub(crate) mod restore;
pub(crate) mod run;
pub(crate) mod secret;
pub(crate) mod settings;
pub(crate) mod status;
pub(crate) mod submit;
pub(crate) mod task;
pub(crate) mod token;
pub(crate) mod top;
pub(crate) mod up;
pub(crate) mod usage;

use crate::{args::Context, error::Error, exit::Exit};
use clap::Subcommand;

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    Demo(demo::Args),
    Init(init::Args),
    Up(up::Args),
    Down(down::Args),
    Status(status::Args),
    Top(top::Args),
    Submit(submit::Args),
    Run(run::Args),
    #[command(subcommand)]
    Flow(flow::Command),
    #[command(subcommand)]
    Task(task::Command),
    #[command(subcommand)]
    Approvals(approvals::Command),
    Approve(approve::Args),
    Deny(deny::Args),
    #[command(subcommand)]
    Dead(dead::Command),
    #[command(subcommand)]
    Agent(agent::Command),
    #[command(subcommand, alias = "message")]
    Msg(msg::Command),
    #[command(subcommand)]
    Lock(lock::Command),
    #[command(subcommand)]
    Ns(ns::Command),
    Usage(usage::Args),
    Purge(purge::Args),
    #[command(subcommand)]
    Settings(settings::Command),
    ReloadSettings(settings::ReloadArgs),
    SettingsHistory(settings::HistoryArgs),
    #[command(subcommand)]
    Secret(secret::Command),
    #[command(subcommand)]
    Token(token::Command),
    Open(open::Args),
    #[command(subcommand)]
    Audit(audit::Command),
    #[command(subcommand)]
    Log(log::Command),
    Metrics(metrics::Args),
    Backup(backup::Args),
    Restore(restore::Args),
    Doctor(doctor::Args),
    #[command(subcommand)]
    Clock(clock::Command),
    Explain(explain::Args),
    Completions(completions::Args),
    Man(man::Args),
    #[command(hide = true)]
    Reference(reference::Args),
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
            Self::Top(args) => top::run(&args, context),
            Self::Submit(args) => submit::run(&args, context),
            Self::Run(args) => run::run(&args, context),
            Self::Flow(command) => flow::run(&command, context),
            Self::Task(command) => task::run(command, context),
            Self::Approvals(command) => approvals::run(command, context),
            Self::Approve(args) => approve::run(&args, context),
            Self::Deny(args) => deny::run(&args, context),
            Self::Dead(command) => dead::run(command, context),
            Self::Agent(command) => agent::run(&command, context),
            Self::Msg(command) => msg::run(command, context),
            Self::Lock(command) => lock::run(command, context),
            Self::Ns(command) => ns::run(command, context),
            Self::Usage(args) => usage::run(&args, context),
            Self::Purge(args) => purge::run(&args, context),
            Self::Settings(command) => settings::run(&command, context),
            Self::ReloadSettings(args) => settings::reload(&args, context),
            Self::SettingsHistory(args) => settings::history(&args, context),
            Self::Secret(command) => secret::run(&command, context),
            Self::Token(command) => token::run(command, context),
            Self::Open(args) => open::run(&args, context),
            Self::Audit(command) => audit::run(command, context),
            Self::Log(command) => log::run(command, context),
            Self::Metrics(args) => metrics::run(&args, context),
            Self::Backup(args) => backup::run(&args, context),
            Self::Restore(args) => restore::run(&args, context),
            Self::Doctor(args) => doctor::run(&args, context),
            Self::Clock(command) => clock::run(&command, context),
            Self::Explain(args) => explain::run(&args, context),
            Self::Completions(args) => completions::run(&args, context),
            Self::Man(args) => man::run(&args, context),
            Self::Reference(args) => reference::run(&args, context),
        }
    }
}
