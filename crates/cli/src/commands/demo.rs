//! `relaymesh demo`

use crate::{
    agents,
    args::{Context, Key},
    drive::{Patience, Start, drive},
    error::{Code, Error},
    exit::Exit,
    flow,
    link::Missing,
    output, root,
    watch::Watch,
};
use relaymesh_agents::config::FILE;
use relaymesh_runtime::driver::{Submit, Until};
use serde_json::json;
use std::{fs, io, path::Path};

const EXAMPLES: &str = "\
Examples:
  relaymesh demo                    draws ./relaymesh-demo.svg
  relaymesh demo --ask              and waits for your `relaymesh approve` in another terminal

Its flow, scripts and agents are put into the root, where you can read and change them: demo/ and agents.toml.";

/// The flow and what its agents run, by name.
const FILES: [(&str, &str); 5] = [
    (FLOW, include_str!("../../../../examples/demo/flow.yaml")),
    ("texts.sh", include_str!("../../../../examples/demo/texts.sh")),
    ("words.sh", include_str!("../../../../examples/demo/words.sh")),
    ("chart.sh", include_str!("../../../../examples/demo/chart.sh")),
    ("publish.sh", include_str!("../../../../examples/demo/publish.sh")),
];
const AGENTS: &str = include_str!("../../../../examples/demo/agents.toml");
const FLOW: &str = "flow.yaml";
const PICTURE: &str = "relaymesh-demo.svg";

/// Run a small graph of agents, and look at what they made
///
/// Four script agents and builtin ones: a list that fans out, a retry, an approval, and a picture as the result. The daemon goes on
/// afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Do not approve what it asks: wait for `relaymesh approve`
    #[arg(long)]
    ask: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if context.no_daemon {
        let error = Error::new(Code::Usage, "the demo shows the daemon at work");
        return Err(error.hint("leave out --no-daemon, or unset RELAYMESH_NO_DAEMON"));
    }
    let failed = |error: io::Error| Error::new(Code::StoreIo, format!("cannot prepare the demo: {error}"));
    if !root::exists(&context.root) {
        root::create(&context.root, &Default::default())?;
    }
    let folder = context.root.join("demo");
    prepare(&context.root, &folder).map_err(failed)?;
    // Its agents write in the root; what comes of it is put here afterwards.
    let path = std::path::absolute(folder.join(PICTURE)).map_err(failed)?;
    let picture = path.to_string_lossy();
    if picture.contains(['"', '\\']) {
        return Err(Error::new(Code::Usage, format!("the demo cannot work with {picture}"))
            .hint("use a root with a plainer name (--root)"));
    }
    let input = json!({ "path": picture }).to_string();
    let request = flow::read(&folder.join(FLOW), &agents::read(&context.root)?)?;
    let request = flow::given(request, Some(&input))?;
    let prepared = Key::anew().prepare(&request, context)?;
    let submit = Submit::new(context.namespace.clone(), prepared, Until::Accepted);
    let (start, mut watch) = (Start::Submit(Box::new(submit)), Watch::new(context, true));
    let exit = drive(context, Missing::Make, start, &mut watch, Patience { yes: !args.ask, ..Patience::default() })?;
    if matches!(exit, Exit::Done) {
        fs::copy(&path, PICTURE).map_err(failed)?;
        output::note(&format!(
            "\nLook at {PICTURE}. The daemon goes on: `relaymesh status` shows it, `relaymesh task list` what it did, \
             `relaymesh down` stops it."
        ));
    }
    Ok(exit)
}

/// Puts the demo's files into the root. What is there already is the user's, and stays.
fn prepare(root: &Path, folder: &Path) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    for (name, text) in FILES {
        let file = folder.join(name);
        if !file.exists() {
            fs::write(file, text)?;
        }
    }
    let file = root.join(FILE);
    let there = match fs::read_to_string(&file) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => String::new(),
        read => read?,
    };
    if there.contains("[agents.demo-texts]") {
        return Ok(());
    }
    let gap = if there.is_empty() || there.ends_with("\n\n") { "" } else { "\n" };
    fs::write(&file, format!("{there}{gap}{AGENTS}"))
}
