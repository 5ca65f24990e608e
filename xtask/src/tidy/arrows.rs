//! Who may depend on whom. The table is the architecture; the manifests have to agree with it.
//!
//! `cli → daemon → api → runtime → {agents, store} → core` is what one machine runs; `mesh → bus → store → core` is what several nodes need.
//! A concrete store is known to the daemon, the binary, the benchmarks and the fuzz targets alone. There is one exception: `bus` names one behind a
//! feature that is off, for whoever embeds a bus and has no binary of ours (A4). Simulator and benchmarks stand beside the binary: nothing depends on them.

use serde_json::Value;

use super::Finding;
use super::tree::Tree;

struct Arrows {
    package: &'static str,
    /// What it ships with.
    normal: &'static [&'static str],
    /// What it ships with only if a feature says so.
    optional: &'static [&'static str],
    /// What its tests may use besides.
    dev: &'static [&'static str],
}

const CORE: &str = "relaymesh-core";
const STORE: &str = "relaymesh-store";
const SQLITE: &str = "relaymesh-store-sqlite";
const RUNTIME: &str = "relaymesh-runtime";
const AGENTS: &str = "relaymesh-agents";
const API: &str = "relaymesh-api";
const CLI: &str = "relaymesh";
const FUZZ: &str = "relaymesh-fuzz";
const SIM: &str = "relaymesh-sim";
const BUS: &str = "relaymesh-bus";
const MESH: &str = "relaymesh-mesh";
const DAEMON: &str = "relaymesh-daemon";
const BENCH: &str = "relaymesh-bench";
const FAKE: &str = "relaymesh-fake-model";

const TABLE: [Arrows; 15] = [
    Arrows { package: CORE, normal: &[], optional: &[], dev: &[] },
    Arrows { package: STORE, normal: &[CORE], optional: &[], dev: &[] },
    Arrows { package: SQLITE, normal: &[STORE, CORE], optional: &[], dev: &[] },
    Arrows { package: AGENTS, normal: &[CORE], optional: &[], dev: &[FAKE] },
    Arrows { package: RUNTIME, normal: &[AGENTS, STORE, CORE], optional: &[], dev: &[SQLITE] },
    // The tests of an embedded bus run on both stores: by a dependency on itself with the feature.
    Arrows { package: BUS, normal: &[STORE, CORE], optional: &[SQLITE], dev: &[BUS, SQLITE] },
    Arrows { package: MESH, normal: &[BUS, CORE], optional: &[], dev: &[] },
    Arrows { package: API, normal: &[RUNTIME, AGENTS, STORE, CORE], optional: &[], dev: &[] },
    Arrows { package: DAEMON, normal: &[API, RUNTIME, AGENTS, SQLITE, STORE, CORE], optional: &[], dev: &[] },
    Arrows { package: CLI, normal: &[DAEMON, API, RUNTIME, AGENTS, SQLITE, STORE, CORE], optional: &[], dev: &[FAKE] },
    // A tool for developers: it calls every decoder, wherever it is.
    Arrows { package: FUZZ, normal: &[CLI, MESH, BUS, SQLITE, STORE, CORE], optional: &[], dev: &[] },
    Arrows { package: SIM, normal: &[RUNTIME, MESH, BUS, STORE, CORE], optional: &[], dev: &[] },
    // Benchmarks measure every part.
    Arrows {
        package: BENCH,
        normal: &[DAEMON, API, RUNTIME, AGENTS, MESH, BUS, SQLITE, STORE, CORE],
        optional: &[],
        dev: &[],
    },
    // A model that real agent tools talk to in tests.
    Arrows { package: FAKE, normal: &[], optional: &[], dev: &[] },
    Arrows { package: "xtask", normal: &[], optional: &[], dev: &[] },
];

/// Packages whose code computes and does nothing else.
const PURE: [&str; 4] = [CORE, STORE, BUS, MESH];

const BANNED: [(&str, &str); 18] = [
    ("tokio", "an async runtime belongs to the runtime crate"),
    ("async-std", "an async runtime belongs to the runtime crate"),
    ("smol", "an async runtime belongs to the runtime crate"),
    ("mio", "sockets belong to the runtime crate"),
    ("socket2", "sockets belong to the runtime crate"),
    ("hyper", "HTTP belongs above the runtime"),
    ("reqwest", "HTTP belongs above the runtime"),
    ("rand", "randomness comes in as an argument"),
    ("fastrand", "randomness comes in as an argument"),
    ("getrandom", "randomness comes in as an argument"),
    ("uuid", "ids are ulids made from a time and bytes that come in as arguments"),
    ("chrono", "time comes in as an argument"),
    ("time", "time comes in as an argument"),
    ("jiff", "time comes in as an argument"),
    ("uhlc", "it reads the clock; it is for tests to compare with"),
    ("rusqlite", "a database belongs to its own store crate"),
    ("libc", "system calls belong to the runtime crate"),
    ("crossbeam-channel", "threads belong to the runtime crate"),
];

pub(super) fn check(tree: &Tree, metadata: &Value) -> Vec<Finding> {
    let packages = metadata["packages"].as_array().map(Vec::as_slice).unwrap_or_default();
    let ours: Vec<&str> = packages.iter().filter_map(|package| package["name"].as_str()).collect();
    let root = metadata["workspace_root"].as_str().unwrap_or_default();
    let mut findings = Vec::new();
    for package in packages {
        let name = package["name"].as_str().unwrap_or_default();
        let manifest = package["manifest_path"].as_str().unwrap_or_default();
        let manifest = manifest.strip_prefix(root).unwrap_or(manifest).trim_start_matches('/');
        let Some(arrows) = TABLE.iter().find(|arrows| arrows.package == name) else {
            let problem = format!("package {name} is not in the table of arrows");
            findings.push(Finding::new(manifest, 1, problem, "add it to the table in xtask/src/tidy/arrows.rs"));
            continue;
        };
        for dependency in package["dependencies"].as_array().map(Vec::as_slice).unwrap_or_default() {
            let target = dependency["name"].as_str().unwrap_or_default();
            let is_dev = dependency["kind"].as_str() == Some("dev");
            let is_optional = dependency["optional"].as_bool() == Some(true);
            if is_optional && arrows.optional.contains(&target) {
                continue;
            }
            if let Some((problem, remedy)) = wrong(arrows, target, is_dev, ours.contains(&target)) {
                findings.push(Finding::new(manifest, tree.line_of(manifest, target), problem, remedy));
            }
        }
    }
    findings
}

fn wrong(arrows: &Arrows, target: &str, is_dev: bool, is_ours: bool) -> Option<(String, String)> {
    let name = arrows.package;
    if !is_ours {
        let ban = BANNED.iter().find(|(banned, _)| *banned == target && !is_dev && PURE.contains(&name))?;
        return Some((format!("{name} is pure and depends on {target}"), ban.1.into()));
    }
    let allowed = arrows.normal.contains(&target) || (is_dev && (arrows.dev.contains(&target) || name == CLI));
    if allowed {
        return None;
    }
    if target == SQLITE && !is_dev {
        let remedy = "only the daemon and the binary name a concrete store: take the Store trait instead";
        return Some((format!("{name} depends on {SQLITE}"), remedy.into()));
    }
    let kind = if is_dev { "its tests may use" } else { "it may depend on" };
    let list = [arrows.normal, if is_dev { arrows.dev } else { &[] }].concat();
    let list = if list.is_empty() { "none of ours".into() } else { list.join(", ") };
    Some((format!("{name} points at {target}, against the arrows"), format!("{kind} {list}")))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn found(package: &str, dependencies: &[(&str, Option<&str>)]) -> Vec<String> {
        let deps: Vec<_> = dependencies.iter().map(|(name, kind)| json!({ "name": name, "kind": kind })).collect();
        let mut packages: Vec<_> = TABLE.iter().map(|a| json!({ "name": a.package, "dependencies": [] })).collect();
        packages.push(json!({ "name": package, "manifest_path": "/w/crates/x/Cargo.toml", "dependencies": deps }));
        let tree = Tree::of(&[("crates/x/Cargo.toml", "[dependencies]\n\nrelaymesh-runtime = 1\nrand = 1\n")]);
        let metadata = json!({ "workspace_root": "/w", "packages": packages });
        check(&tree, &metadata).iter().map(ToString::to_string).collect()
    }

    #[test]
    fn the_arrows_of_the_table_pass() {
        for arrows in &TABLE {
            let normal: Vec<_> = arrows.normal.iter().map(|name| (*name, None)).collect();
            assert_eq!(found(arrows.package, &normal), [""; 0]);
        }
        assert_eq!(found(RUNTIME, &[(SQLITE, Some("dev"))]), [""; 0]);
        assert_eq!(found(CORE, &[("serde", None), ("rand", Some("dev"))]), [""; 0]);
    }

    #[test]
    fn an_arrow_against_the_table_is_found_where_it_is_written() {
        let found = found(STORE, &[(RUNTIME, None)]);
        assert_eq!(found.len(), 1);
        assert!(
            found[0].starts_with("crates/x/Cargo.toml:3: relaymesh-store points at relaymesh-runtime"),
            "{found:?}"
        );
    }

    #[test]
    fn build_and_dev_dependencies_are_arrows_too() {
        assert_eq!(found(CORE, &[(STORE, Some("build"))]).len(), 1);
        assert_eq!(found(STORE, &[(SQLITE, Some("dev"))]).len(), 1);
    }

    #[test]
    fn a_concrete_store_is_for_the_binary_alone() {
        assert!(found(RUNTIME, &[(SQLITE, None)])[0].contains("only the daemon and the binary name a concrete store"));
    }

    #[test]
    fn an_embedded_bus_names_a_store_behind_a_feature_alone() {
        let dependency = |optional: bool| json!({ "name": SQLITE, "kind": null, "optional": optional });
        let check = |package: &str, optional| {
            let package = json!({ "name": package, "manifest_path": "/w/m", "dependencies": [dependency(optional)] });
            let known = TABLE.iter().map(|a| json!({ "name": a.package, "dependencies": [] }));
            let packages: Vec<_> = known.chain([package]).collect();
            check(&Tree::of(&[]), &json!({ "workspace_root": "/w", "packages": packages })).len()
        };
        assert_eq!([check(BUS, true), check(BUS, false), check(RUNTIME, true)], [0, 1, 1]);
    }

    #[test]
    fn a_pure_package_shuns_what_is_banned() {
        assert!(found(CORE, &[("rand", None)])[0].contains(":4: relaymesh-core is pure and depends on rand"));
        assert_eq!(found(RUNTIME, &[("rand", None)]), [""; 0]);
    }

    #[test]
    fn an_unknown_package_has_to_be_placed() {
        assert!(found("relaymesh-new", &[])[0].contains("add it to the table"));
    }
}
