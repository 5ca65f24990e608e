//! The agent tools that the benchmark runs, with us and without: where each is, what it is told, and how it finds the scripted model.

use serde_json::{Value, json};
use std::{
    io,
    path::{Path, PathBuf},
    process::Command,
};

/// A tool that is there.
pub(crate) struct Kit {
    pub(crate) name: &'static str,
    program: PathBuf,
    model: Option<&'static str>,
    /// What its user tells it.
    args: &'static [&'static str],
    /// What its adapter tells it besides.
    bare: &'static [&'static str],
    set: Vec<(&'static str, String)>,
}

impl Kit {
    /// Those of the five that are there. aider is not of npm, and is looked for beside the others.
    pub(crate) fn all(tools: &Path, home: &Path, url: &str) -> Vec<Self> {
        let path = format!("{}:/usr/bin:/bin", tools.display());
        let common = || vec![("HOME", home.display().to_string()), ("PATH", path.clone())];
        let x = || "x".to_owned();
        let kit = |name: &'static str, model, args, bare, more: Vec<(&'static str, String)>| {
            let of_npm = tools.join(name);
            let program = if of_npm.exists() { of_npm } else { tools.join("../../aider/bin").join(name) };
            Self { name, program, model, args, bare, set: [common(), more].concat() }
        };
        let all = [
            kit(
                "codex",
                None,
                &["-c", "sandbox_mode=\"danger-full-access\""],
                &["exec", "--json", "--skip-git-repo-check", "-"],
                vec![("KEY", x())],
            ),
            kit(
                "claude",
                None,
                &["--dangerously-skip-permissions"],
                &["-p", "--output-format", "stream-json", "--verbose"],
                vec![
                    ("ANTHROPIC_BASE_URL", url.to_owned()),
                    ("ANTHROPIC_API_KEY", x()),
                    ("CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC", "1".to_owned()),
                    ("IS_SANDBOX", "1".to_owned()),
                ],
            ),
            kit(
                "gemini",
                Some("gemini-2.5-flash"),
                &["--approval-mode", "yolo"],
                &["-o", "stream-json", "--skip-trust", "-m", "gemini-2.5-flash"],
                vec![("GEMINI_API_KEY", x()), ("GOOGLE_GEMINI_BASE_URL", url.to_owned())],
            ),
            kit(
                "opencode",
                Some("fake/m"),
                &[],
                &["run", "--format", "json", "-m", "fake/m"],
                vec![
                    ("OPENCODE_CONFIG", home.join("opencode.json").display().to_string()),
                    ("OPENCODE_DISABLE_MODELS_FETCH", "1".to_owned()),
                ],
            ),
            kit(
                "aider",
                Some("openai/m"),
                // The root may lie in somebody's repository, which is none of its business.
                &["--no-git"],
                &[
                    "--yes-always",
                    "--no-stream",
                    "--no-pretty",
                    "--no-check-update",
                    "--no-show-model-warnings",
                    "--no-analytics",
                    "--model",
                    "openai/m",
                    "--message-file",
                    "/dev/stdin",
                ],
                vec![("OPENAI_API_BASE", format!("{url}/v1")), ("OPENAI_API_KEY", x())],
            ),
        ];
        all.into_iter().filter(|kit| kit.program.exists()).collect()
    }

    /// Its entry in `agents.toml`.
    pub(crate) fn entry(&self) -> String {
        let set: Vec<String> = self.set.iter().map(|(name, value)| format!("{name} = {value:?}")).collect();
        let model = self.model.map_or_else(String::new, |model| format!("model = {model:?}\n"));
        let (name, program, args, set) = (self.name, &self.program, self.args, set.join(", "));
        format!(
            "\n[agents.{name}]\ntool = {name:?}\ncommand = [{program:?}]\n{model}args = {args:?}\nset = {{ {set} }}\n"
        )
    }

    /// The same call without us.
    pub(crate) fn command(&self) -> Command {
        let mut command = Command::new(&self.program);
        let (last, first) = match self.bare {
            [first @ .., "-"] => (Some("-"), first),
            all => (None, all),
        };
        command.args(first).args(self.args).args(last).envs(self.set.iter().map(|(name, value)| (name, value)));
        command
    }
}

/// Tells the tools that read files where the model is.
pub(crate) fn settle(home: &Path, url: &str) -> io::Result<()> {
    let write = |file: &str, text: String| {
        let file = home.join(file);
        file.parent().map_or(Ok(()), std::fs::create_dir_all)?;
        std::fs::write(file, text)
    };
    let provider = format!("name = \"fake\"\nbase_url = \"{url}/v1\"\nenv_key = \"KEY\"\nwire_api = \"responses\"");
    write(
        ".codex/config.toml",
        format!("model = \"m\"\nmodel_provider = \"fake\"\n[model_providers.fake]\n{provider}\n"),
    )?;
    let auth: Value = json!({ "security": { "auth": { "selectedType": "gemini-api-key" } } });
    write(".gemini/settings.json", auth.to_string())?;
    let options = json!({ "baseURL": format!("{url}/v1"), "apiKey": "x" });
    let fake = json!({ "npm": "@ai-sdk/openai-compatible", "options": options, "models": { "m": {} } });
    let opencode = json!({ "provider": { "fake": fake }, "model": "fake/m", "autoupdate": false, "share": "disabled" });
    write("opencode.json", opencode.to_string())
}
