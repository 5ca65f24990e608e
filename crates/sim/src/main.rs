//! `cargo xtask sim` ends up here: one seed with its whole trace, or many seeds with their totals.

use clap::Parser;
use relaymesh_sim::{
    Report, Totals,
    net::{self, NetTotals},
    run,
};
use std::{
    process::ExitCode,
    sync::atomic::{AtomicU64, Ordering},
    thread,
    time::Instant,
};

/// Threads that run seeds; each run is on one of them alone.
const THREADS_MAX: usize = 2;
/// Failures that are told in full.
const TOLD_MAX: u64 = 3;

#[derive(Parser)]
#[command(name = "relaymesh-sim", about = "The production driver in a seeded world")]
struct Arguments {
    /// Run this seed alone and print everything that happened
    #[arg(long, conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Run this many seeds
    #[arg(long, default_value_t = 200)]
    seeds: u64,
    /// The first of them
    #[arg(long, default_value_t = 0)]
    from: u64,
    /// Threads, one or two
    #[arg(long, default_value_t = THREADS_MAX)]
    threads: usize,
    /// One JSON object a line
    #[arg(long)]
    json: bool,
    /// Meshes of several nodes in a hostile network
    #[arg(long)]
    net: bool,
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let failed = match arguments.seed {
        Some(seed) if arguments.net => one_mesh(seed),
        Some(seed) => one(seed, arguments.json),
        None if arguments.net => many_meshes(&arguments),
        None => many(&arguments),
    };
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}

/// Runs one seed and prints its trace; true when it failed.
fn one(seed: u64, json: bool) -> bool {
    let began = Instant::now();
    let report = run(seed);
    let real = began.elapsed().as_secs_f64();
    for record in report.trace.records() {
        if json {
            println!("{}", serde_json::to_string(record).expect("plain data"));
        } else {
            println!("{record}");
        }
    }
    eprintln!("trace hash {:016x}", report.trace.hash());
    eprint!("{}", first_lines(&report, real));
    !report.passed()
}

fn first_lines(report: &Report, real: f64) -> String {
    let mut totals = Totals::default();
    totals.add(report);
    let failures: String = totals.failed.iter().map(|(_, why)| format!("{why}\n")).collect();
    format!("{}{failures}", totals.summary(real, real))
}

/// Runs many seeds; true when one failed.
fn many(arguments: &Arguments) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let told = AtomicU64::new(0);
    let end = arguments.from + arguments.seeds;
    let threads = arguments.threads.clamp(1, THREADS_MAX);
    let mut totals = Totals::default();
    thread::scope(|scope| {
        let work = || scope.spawn(|| share(&next, end, arguments, &told));
        let running: Vec<_> = (0..threads).map(|_| work()).collect();
        for thread in running {
            totals.merge(thread.join().expect("a run catches its own panics"));
        }
    });
    let real = began.elapsed().as_secs_f64();
    let summary = totals.summary(real, real * threads as f64);
    if arguments.json {
        println!("{}", serde_json::json!({ "seeds": totals.seeds, "failed": totals.failed, "summary": summary }));
    } else {
        print!("{summary}");
        totals.failed.iter().for_each(|(_, why)| println!("{why}"));
    }
    !totals.failed.is_empty()
}

/// Takes seeds until none is left.
fn share(next: &AtomicU64, end: u64, arguments: &Arguments, told: &AtomicU64) -> Totals {
    let mut totals = Totals::default();
    loop {
        let seed = next.fetch_add(1, Ordering::Relaxed);
        if seed >= end {
            return totals;
        }
        let report = run(seed);
        totals.add(&report);
        if !report.passed() && told.fetch_add(1, Ordering::Relaxed) < TOLD_MAX {
            eprintln!("{}", report.failure());
        }
        let done = seed + 1 - arguments.from;
        if done.is_multiple_of((arguments.seeds / 20).max(1)) {
            eprintln!("  {done} of {} seeds", arguments.seeds);
        }
    }
}

/// Runs one mesh; true when it failed.
fn one_mesh(seed: u64) -> bool {
    let began = Instant::now();
    let report = net::run(seed);
    let mut totals = NetTotals::default();
    totals.add(&report);
    println!("hash of all events {}", report.events);
    print!("{}", totals.summary(began.elapsed().as_secs_f64()));
    totals.failed.iter().for_each(|(_, why)| println!("{why}"));
    !report.passed()
}

/// Runs many meshes; true when one failed.
fn many_meshes(arguments: &Arguments) -> bool {
    let began = Instant::now();
    let next = AtomicU64::new(arguments.from);
    let end = arguments.from + arguments.seeds;
    let mut totals = NetTotals::default();
    let share = || {
        let mut totals = NetTotals::default();
        loop {
            let seed = next.fetch_add(1, Ordering::Relaxed);
            if seed >= end {
                return totals;
            }
            let report = net::run(seed);
            totals.add(&report);
            if !report.passed() {
                eprintln!("{}", report.failure());
            }
            let done = seed + 1 - arguments.from;
            if done.is_multiple_of((arguments.seeds / 20).max(1)) {
                eprintln!("  {done} of {} seeds", arguments.seeds);
            }
        }
    };
    thread::scope(|scope| {
        let running: Vec<_> = (0..arguments.threads.clamp(1, THREADS_MAX)).map(|_| scope.spawn(share)).collect();
        for thread in running {
            totals.merge(thread.join().expect("a run catches its own panics"));
        }
    });
    let summary = totals.summary(began.elapsed().as_secs_f64());
    if arguments.json {
        println!("{}", serde_json::json!({ "seeds": totals.seeds, "failed": totals.failed, "summary": summary }));
    } else {
        print!("{summary}");
        totals.failed.iter().for_each(|(_, why)| println!("{why}"));
    }
    !totals.failed.is_empty()
}
