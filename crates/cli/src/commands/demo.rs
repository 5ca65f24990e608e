//! `relaymesh demo`

use crate::{
    args::{Context, Key},
    client::Start,
    error::{Code, Error},
    exit::Exit,
    flow,
    follow::{Patience, follow},
    output, root,
    watch::Watch,
};
use relaymesh_agents::config::FILE;
use serde_json::json;
use std::{fs, io, path::Path};

const EXAMPLES: &str = "\
Examples:
  relaymesh demo                    write ./relaymesh-demo.svg
  relaymesh demo --ask              wait for `relaymesh approve` in another terminal

The flow and its scripts are written to demo/ in the root, its agents to agents.toml there.";

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

/// Run a small flow of agents and draw a picture
///
/// Uses four script agents and built-in ones: a fan-out over a list, a retry, an approval, and a picture as the
/// result. The daemon keeps running afterwards.
#[derive(Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct Args {
    /// Wait for `relaymesh approve` instead of approving automatically
    #[arg(long)]
    ask: bool,
}

pub(crate) fn run(args: &Args, context: &Context) -> Result<Exit, Error> {
    if context.no_daemon {
        let error = Error::new(Code::Usage, "the demo needs the daemon");
        return Err(error.hint("remove --no-daemon, or unset RELAYMESH_NO_DAEMON"));
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
        return Err(Error::new(Code::Usage, format!("the demo cannot use the path {picture}"))
            .hint("choose a root without quotes and backslashes in its path (--root)"));
    }
    let input = json!({ "path": picture }).to_string();
    let client = context.client();
    let flow = flow::read(&folder.join(FLOW), client.known()?)?.given(Some(&input))?;
    let start = Start::Submit(Box::new(Key::anew().submission(flow, context)?));
    let patience = Patience { yes: !args.ask, ..Patience::default() };
    let exit = follow(&*client, start, &mut Watch::new(context, true), patience)?;
    if matches!(exit, Exit::Done) {
        fs::copy(&path, PICTURE).map_err(failed)?;
        output::note(&format!(
            "\nOpen {PICTURE}. The daemon keeps running: see `relaymesh status` and `relaymesh task list`, and stop \
             it with `relaymesh down`."
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
