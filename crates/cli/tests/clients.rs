//! The OpenAPI document as strangers use it: a validator that none of us wrote, and clients that are generated from it.
//!
//! The tempting test compares the document with what our own code expects of it; it was green while the most used generator for Python
//! refused every line. So here the document of a running daemon goes through the tools, and what they make talks to that daemon.
//! `cargo xtask tools` installs them. Where one is not, its test says `SKIPPED`; in the continuous integration it fails.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, web::Web};
use serde_json::json;
use std::{
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
};

/// A daemon, its document in a file, and a token for everything.
struct Scene {
    house: House,
    url: String,
    token: String,
    document: PathBuf,
}

impl Scene {
    fn new() -> Self {
        let house = House::new();
        assert_eq!(house.run(&["up", "--detach"]).code, 0);
        let url = house.json(&["status"])["http"].as_str().unwrap().to_owned();
        let token = house.run(&["token", "create", "admin", "--scope", "admin"]).stdout.trim().to_owned();
        let got = Web::of(&house).get("/openapi.json");
        assert_eq!(got.status, 200);
        let document = house.0.folder.path().join("openapi.json");
        fs::write(&document, got.body).unwrap();
        Self { house, url, token, document }
    }

    fn folder(&self) -> &Path {
        self.house.0.folder.path()
    }

    /// Runs it in the folder of the scene; it must succeed.
    fn run(&self, program: &Path, arguments: &[&str]) -> String {
        let done = Command::new(program).args(arguments).current_dir(self.folder()).output().unwrap();
        let said = format!("{}{}", String::from_utf8_lossy(&done.stdout), String::from_utf8_lossy(&done.stderr));
        assert!(done.status.success(), "{} {arguments:?}: {said}", program.display());
        said
    }
}

/// A program that `cargo xtask tools` installs.
fn tool(path: &str) -> Option<PathBuf> {
    let found = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tools").join(path);
    if found.exists() {
        return Some(found);
    }
    let is_ci = std::env::var_os("CI").is_some_and(|value| value == "true");
    assert!(!is_ci, "{path} is not installed: `cargo xtask tools`");
    eprintln!("SKIPPED: {path} is not installed here; `cargo xtask tools` does it");
    None
}

#[test]
fn the_document_is_valid_openapi() {
    let Some(validator) = tool("openapi-spec-validator/bin/openapi-spec-validator") else { return };
    let scene = Scene::new();
    let said = scene.run(&validator, &["--schema", "3.1", scene.document.to_str().unwrap()]);
    assert!(said.contains("OK"), "{said}");
}

#[test]
fn a_python_client_that_is_generated_from_the_document_works() {
    let Some(generator) = tool("openapi-python-client/bin/openapi-python-client") else { return };
    let scene = Scene::new();
    // Without the formatters that would run over what it made: nobody reads it.
    let config = scene.house.0.file("config.yaml", "post_hooks: []\n").to_owned();
    let package = scene.folder().join("relaymesh_client");
    let (document, package) = (scene.document.to_str().unwrap(), package.to_str().unwrap());
    let said = scene.run(
        &generator,
        &["generate", "--path", document, "--output-path", package, "--meta", "none", "--config", &config],
    );
    // It knows no body of lines, and no YAML; everything else must be there.
    let warned: Vec<&str> = said.lines().filter(|line| line.contains("WARNING")).collect();
    let known = ["POST /api/v1/flows within", "POST /api/v1/flows/check within", "POST /api/v1/tasks/bulk within"];
    assert_eq!(warned.len(), known.len(), "{said}");
    known.iter().for_each(|known| assert!(warned.iter().any(|line| line.contains(known)), "{known}: {said}"));
    for operation in ["flows/flows_submit.py", "flows/flows_check.py"] {
        assert!(Path::new(package).join("api").join(operation).exists(), "{operation} takes JSON all the same");
    }
    fs::write(scene.folder().join("accept.py"), include_str!("clients/accept.py")).unwrap();
    let python = generator.with_file_name("python");
    let said = scene.run(&python, &["accept.py", &scene.url, &scene.token]);
    assert!(said.contains("accepted"), "{said}");
}

#[test]
fn a_typescript_client_that_is_generated_from_the_document_works() {
    let Some(generator) = tool("node_modules/.bin/openapi-typescript") else { return };
    let scene = Scene::new();
    let document = scene.document.to_str().unwrap();
    scene.run(&generator, &[document, "--output", "schema.d.ts"]);
    symlink(generator.parent().unwrap().parent().unwrap(), scene.folder().join("node_modules")).unwrap();
    fs::write(scene.folder().join("accept.ts"), include_str!("clients/accept.ts")).unwrap();
    fs::write(scene.folder().join("package.json"), "{\"type\": \"module\"}\n").unwrap();
    let strict = ["--noEmit", "--strict", "--target", "es2022", "--module", "esnext", "--moduleResolution", "bundler"];
    let arguments = [&strict[..], &["--allowImportingTsExtensions", "--lib", "es2022,dom", "accept.ts"]].concat();
    scene.run(&generator.with_file_name("tsc"), &arguments);
    let said = scene.run(&generator.with_file_name("node"), &["accept.ts", &scene.url, &scene.token]);
    assert!(said.contains("accepted"), "{said}");
}

#[test]
fn numbers_in_addresses_are_taken_or_refused_as_the_document_says() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    let document = web.get("/openapi.json").expect(200);
    let task = web.post("/tasks?wait_ms=10000", &json!({ "agent": "echo", "input": 1 })).expect(201)["task"].clone();
    let mut tried = Vec::new();
    for (path, item) in document["paths"].as_object().unwrap() {
        let url = path.strip_prefix("/api/v1").unwrap_or(path).replace("{id}", task.as_str().unwrap());
        let url = url.replace("{step}", "echo").replace("{agent}", "reviewer");
        for parameter in item["get"]["parameters"].as_array().into_iter().flatten() {
            let (name, schema) = (parameter["name"].as_str().unwrap(), &parameter["schema"]);
            if parameter["in"] != "query" || schema["type"] != "integer" {
                continue;
            }
            let (min, max) = (schema["minimum"].as_u64().unwrap(), schema["maximum"].as_u64().unwrap());
            let status = |value: &str| web.get(&format!("{url}?{name}={value}")).status;
            assert_eq!(status(&(max + 1).to_string()), 400, "{url} {name}: more than {max}");
            assert_eq!(status("9223372036854775808"), 400, "{url} {name}: 2^63");
            assert!(min == 0 || status(&(min - 1).to_string()) == 400, "{url} {name}: less than {min}");
            if path != "/api/v1/events" {
                assert_eq!(status(&max.to_string()), 200, "{url} {name}: {max}");
                assert_eq!(status(&min.to_string()), 200, "{url} {name}: {min}");
            }
            tried.push(format!("{path} {name}"));
        }
    }
    assert!(tried.len() >= 10, "{tried:?}");
    let said = web.get("/tasks?limit=0").expect(400);
    assert_eq!(said["detail"], "query string: limit: must be a whole number from 1 to 500");
}

#[test]
fn the_type_of_a_problem_leads_to_its_explanation() {
    let house = House::new();
    assert_eq!(house.run(&["up", "--detach"]).code, 0);
    let web = Web::of(&house);
    let problem = web.post("/tasks", &json!({ "agent": "ecko" })).expect(422);
    let page = problem["type"].as_str().unwrap().strip_prefix("/api/v1").unwrap();
    let nobody = Web { token: None, ..web.clone() };
    let said = nobody.get(page).expect(200);
    assert_eq!(
        (&said["code"], &said["number"], &said["status"]),
        (&json!("unknown_agent"), &problem["number"], &json!(422))
    );
    for part in ["means", "changed", "advice"] {
        assert!(said[part].as_str().is_some_and(|text| !text.is_empty()), "{said}");
    }
    assert_eq!(nobody.get("/errors/RM0009").expect(200)["code"], "no_task");
    assert_eq!(nobody.get("/errors/nothing").expect(404)["code"], "no_route");
}
