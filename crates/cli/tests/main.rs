//! The tests of the program, from outside, in one test program: fifty of them take fifty times to link.
//!
//! Each file is a topic. `common` has a root, the binary and a daemon; `harness` has what kills it and checks what is left.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

mod common;
mod harness;

mod agents;
mod api;
mod api_answers;
mod api_events;
mod api_kills;
mod api_limits;
mod api_tls;
mod audit;
mod backup;
mod budgets;
mod bus;
mod bus_kills;
mod bus_power;
mod canaries;
mod clients;
mod clocks;
mod container;
mod content;
mod crash;
mod crowds;
mod daemon;
mod dead;
mod deciding;
mod doctor;
mod doors;
mod expressions;
mod feral;
mod first_steps;
mod flows;
mod full_disk;
mod help;
mod hostile_page;
mod http;
mod json;
mod kill;
mod kills;
mod logs;
mod looking;
mod messages;
mod metrics;
mod mistakes;
mod namespaces;
mod narrow;
mod newcomers;
mod outputs;
mod pauses;
mod reading;
mod remote;
mod schemathesis;
mod scripts;
mod secrets;
mod service;
mod settings;
mod streams;
mod talking;
mod tools;
mod top;
mod torture;
mod traces;
mod tutorials;
mod upgrade;
mod upkeep;
mod words;
mod workspaces;

/// A file that nobody declares is a file that nobody compiles.
#[test]
fn every_file_of_tests_is_declared() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("tests");
    let names = folder.read_dir().unwrap().map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let written: Vec<String> = names.filter(|name| name.ends_with(".rs") && name != "main.rs").collect();
    let declared = include_str!("main.rs");
    assert!(written.len() > 50, "{written:?}");
    for name in written {
        assert!(declared.contains(&format!("\nmod {};\n", name.trim_end_matches(".rs"))), "{name} is not declared");
    }
}
