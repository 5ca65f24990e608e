//! The project's chores: `cargo xtask <command>`. This file holds the arguments alone; each command is its own file.

mod bench;
mod docs;
mod fix;
mod fuzz;
mod generate;
mod run;
mod sim;
mod test;
mod tidy;
mod tools;
mod torture;
mod verify;

use std::process::ExitCode;

use clap::{Parser, Subcommand};
use run::Workspace;

const EXAMPLES: &str = "\
Examples:
  cargo xtask verify               before you push: everything the continuous integration checks
  cargo xtask fix                  mend what verify says about format and lints
  cargo xtask gen                  make the pages again that are made from the program itself
  cargo xtask tidy --report        arrows, purity, sizes, links, rows; and how large our files are
  cargo xtask docs                 build the docs site, and check its links
  cargo xtask test                 all tests
  cargo xtask tools                programs that some tests run: agent tools, validators, generators of clients
  cargo xtask sim --seeds 1000     the driver in a thousand simulated worlds that break and heal
  cargo xtask torture --seed 42    kill the binary again and again, the same way each time
  cargo xtask fuzz op              bend the bytes of ops for a minute, led by coverage
  cargo xtask bench kernel         how many tasks a second this machine does";

#[derive(Parser)]
#[command(name = "xtask", bin_name = "cargo xtask", about = "The gate and the chores of this repository")]
#[command(after_help = EXAMPLES, disable_help_subcommand = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Check everything, change nothing: format, lints, tidy, tests, docs
    #[command(after_help = "Example: cargo xtask verify")]
    Verify,
    /// Mend what can be mended: format the code and apply the lints' own suggestions
    #[command(after_help = "Example: cargo xtask fix")]
    Fix,
    /// Make the pages and the kept help texts again that come from the command line's own definition
    #[command(after_help = "Example: cargo xtask gen")]
    Gen,
    /// Check the rules no compiler knows: arrows, purity, sizes, links, conformance rows, examples
    #[command(after_help = "Example: cargo xtask tidy --report")]
    Tidy {
        /// Also print the median and the three largest files and functions
        #[arg(long)]
        report: bool,
    },
    /// Build the docs site into target/docs and check every link of it
    #[command(after_help = "Example: cargo xtask docs\n\nInstalls mdBook into target/mdbook the first time.")]
    Docs,
    /// Build and run all tests
    #[command(
        after_help = "Example: cargo xtask test\n\nUses cargo-nextest where it is installed, cargo test elsewhere."
    )]
    Test,
    /// Install the programs that some tests run, from npm, PyPI and Debian, into target/tools
    #[command(after_help = "Example: cargo xtask tools")]
    Tools,
    /// Kill the release binary at random moments and check that it lost nothing
    #[command(after_help = "Example: cargo xtask torture --seed 42 --quick")]
    Torture {
        /// Repeat one run exactly; without it a fresh seed is drawn and printed
        #[arg(long)]
        seed: Option<u64>,
        /// A short run, to see that the harness works
        #[arg(long)]
        quick: bool,
    },
    /// Run the fuzz targets under libFuzzer; needs cargo-fuzz
    #[command(after_help = "Example: cargo xtask fuzz op --seconds 600")]
    Fuzz {
        /// The target; all of them, one after the other, when none is named
        target: Option<String>,
        /// How long each target runs
        #[arg(long, default_value_t = 60)]
        seconds: u32,
    },
    /// Run the driver in simulated worlds: one seed decides everything that happens in one of them
    #[command(
        after_help = "Examples: cargo xtask sim --seeds 10000\n          cargo xtask sim --seed 42 | less\n          cargo xtask sim --net --seeds 10000"
    )]
    Sim {
        /// Run this seed alone and print everything that happens
        #[arg(long, conflicts_with_all = ["seeds", "from"])]
        seed: Option<u64>,
        /// How many seeds
        #[arg(long, default_value_t = 200)]
        seeds: u64,
        /// The first of them
        #[arg(long, default_value_t = 0)]
        from: u64,
        /// One JSON object a line
        #[arg(long)]
        json: bool,
        /// Meshes of several nodes in a hostile network instead of one node
        #[arg(long)]
        net: bool,
    },
    /// Build the program as packages have it and measure it, passing the arguments on
    #[command(after_help = "Example: cargo xtask bench kernel --quick")]
    Bench {
        /// The benchmark (kernel when none is named) and its own arguments
        #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "BENCHMARK|ARGUMENT")]
        arguments: Vec<String>,
    },
}

fn main() -> ExitCode {
    let command = Arguments::parse().command;
    let outcome = Workspace::locate().and_then(|workspace| match command {
        Command::Verify => verify::run(&workspace),
        Command::Fix => fix::run(&workspace),
        Command::Gen => generate::run(&workspace),
        Command::Tidy { report } => tidy::run(&workspace, report),
        Command::Docs => docs::run(&workspace),
        Command::Test => test::run(&workspace, test::Writes::Allowed),
        Command::Tools => tools::run(&workspace),
        Command::Torture { seed, quick } => torture::run(&workspace, seed, quick),
        Command::Fuzz { target, seconds } => fuzz::run(&workspace, target.as_deref(), seconds),
        Command::Sim { seed, seeds, from, json, net } => {
            let worlds = seed.map_or(sim::Worlds::Many { seeds, from }, sim::Worlds::One);
            let nodes = if net { sim::Nodes::Mesh } else { sim::Nodes::One };
            sim::run(&workspace, &worlds, nodes, json)
        }
        Command::Bench { arguments } => bench::run(&workspace, arguments),
    });
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => {
            eprintln!("error: {failure}");
            ExitCode::FAILURE
        }
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn every_command_has_one_line_and_an_example() {
        Arguments::command().debug_assert();
        for command in Arguments::command().get_subcommands() {
            let name = command.get_name();
            assert!(command.get_about().is_some(), "{name} says nothing of itself");
            let example = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            assert!(example.contains(&format!("cargo xtask {name}")), "{name} has no example");
            assert!(EXAMPLES.contains(&format!("cargo xtask {name}")), "{name} is not among the examples");
        }
    }

    #[test]
    fn bench_passes_flags_on() {
        let parsed = Arguments::try_parse_from(["xtask", "bench", "kernel", "--quick", "--tasks", "9"]).unwrap();
        assert!(
            matches!(parsed.command, Command::Bench { arguments } if arguments == ["kernel", "--quick", "--tasks", "9"])
        );
        let parsed = Arguments::try_parse_from(["xtask", "bench", "--quick"]).unwrap();
        assert!(matches!(parsed.command, Command::Bench { arguments } if arguments == ["--quick"]));
    }
}
