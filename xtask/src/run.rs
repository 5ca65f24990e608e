//! Processes: where the workspace is, how a program is started, and what is said when it fails.
//!
//! Progress goes to stderr, with the seconds a step took; the program's own output passes through untouched.

use std::ffi::OsString;
use std::fmt;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};
use std::time::Instant;

/// Why a command failed, in words for the person at the terminal.
#[derive(Debug)]
pub(crate) struct Failure(pub(crate) String);

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

pub(crate) type Result<T = ()> = std::result::Result<T, Failure>;

/// The checkout this command works on, and where cargo puts what it builds.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    pub(crate) target: PathBuf,
    /// What `cargo metadata` says about our own packages.
    pub(crate) metadata: serde_json::Value,
}

impl Workspace {
    pub(crate) fn locate() -> Result<Workspace> {
        let here = std::env::current_dir().map_err(|error| Failure(format!("no current folder: {error}")))?;
        let text = Cmd::cargo("metadata --format-version 1 --no-deps --locked").read(&here)?;
        let metadata: serde_json::Value = serde_json::from_str(&text)
            .map_err(|error| Failure(format!("`cargo metadata` gave no readable JSON: {error}")))?;
        let folder = |key: &str| match metadata[key].as_str() {
            Some(path) => Ok(PathBuf::from(path)),
            None => Err(Failure(format!("`cargo metadata` named no {key}"))),
        };
        Ok(Workspace { root: folder("workspace_root")?, target: folder("target_directory")?, metadata })
    }

    /// Builds the binary of a package and gives its absolute path.
    pub(crate) fn binary(&self, profile: &str, package: &str) -> Result<PathBuf> {
        Cmd::cargo(&format!("build --profile {profile} --locked -p {package}")).run(&self.root)?;
        let binary = self.target.join(profile).join(format!("{package}{}", std::env::consts::EXE_SUFFIX));
        if binary.is_file() {
            Ok(binary)
        } else {
            Err(Failure(format!("the build left no binary at {}; is build.target set?", binary.display())))
        }
    }
}

/// One program with its arguments and extra environment. Its `Display` is what you would type to repeat it.
#[derive(Clone)]
pub(crate) struct Cmd {
    program: OsString,
    shown: String,
    arguments: Vec<String>,
    environment: Vec<(&'static str, OsString)>,
}

impl Cmd {
    /// `line` is split at spaces.
    pub(crate) fn new(program: impl AsRef<Path>, line: &str) -> Cmd {
        let program = program.as_ref();
        let shown = program.display().to_string();
        let arguments = line.split_whitespace().map(String::from).collect();
        Cmd { program: program.into(), shown, arguments, environment: Vec::new() }
    }

    /// The very cargo that runs us, so that a `+toolchain` carries over.
    pub(crate) fn cargo(line: &str) -> Cmd {
        let program = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        Cmd { shown: "cargo".into(), ..Cmd::new(program, line) }
    }

    pub(crate) fn arg(mut self, argument: impl Into<String>) -> Cmd {
        self.arguments.push(argument.into());
        self
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Cmd {
        self.environment.push((name, value.into()));
        self
    }

    /// Runs it with our own stdin, stdout and stderr.
    pub(crate) fn run(&self, folder: &Path) -> Result {
        eprintln!("    $ {self}");
        let status = self.command(folder).status().map_err(|error| self.not_started(&error))?;
        self.outcome(status)
    }

    /// Runs it in silence and gives its stdout.
    pub(crate) fn read(&self, folder: &Path) -> Result<String> {
        let child = self.command(folder).stderr(Stdio::inherit()).output();
        let output = child.map_err(|error| self.not_started(&error))?;
        self.outcome(output.status)?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Is it there, and does it end well? Says nothing.
    pub(crate) fn works(&self, folder: &Path) -> bool {
        let child = self.command(folder).stdout(Stdio::null()).stderr(Stdio::null()).status();
        child.is_ok_and(|status| status.success())
    }

    /// Like `run`, and hands each line of stdout to `see` as it passes.
    pub(crate) fn run_seeing(&self, folder: &Path, mut see: impl FnMut(&str)) -> Result {
        eprintln!("    $ {self}");
        let mut child =
            self.command(folder).stdout(Stdio::piped()).spawn().map_err(|error| self.not_started(&error))?;
        if let Some(stdout) = child.stdout.take() {
            for line in BufReader::new(stdout).split(b'\n').map_while(std::result::Result::ok) {
                let line = String::from_utf8_lossy(&line);
                println!("{line}");
                see(&line);
            }
        }
        let status = child.wait().map_err(|error| self.not_started(&error))?;
        self.outcome(status)
    }

    fn command(&self, folder: &Path) -> Command {
        let mut command = Command::new(&self.program);
        command.args(&self.arguments).current_dir(folder);
        command.envs(self.environment.iter().map(|(name, value)| (name, value)));
        command
    }

    fn not_started(&self, error: &std::io::Error) -> Failure {
        Failure(format!("could not run `{self}`: {error}; is {} installed and on the PATH?", self.shown))
    }

    fn outcome(&self, status: ExitStatus) -> Result {
        if status.success() { Ok(()) } else { Err(Failure(format!("`{self}` failed ({status})"))) }
    }
}

impl fmt::Display for Cmd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let quoted = |text: &str| {
            if text.contains(char::is_whitespace) { format!("'{text}'") } else { text.to_string() }
        };
        for (name, value) in &self.environment {
            write!(f, "{name}={} ", quoted(&value.to_string_lossy()))?;
        }
        f.write_str(&quoted(&self.shown))?;
        self.arguments.iter().try_for_each(|argument| write!(f, " {}", quoted(argument)))
    }
}

/// Seconds since `start`, for a person.
pub(crate) fn elapsed(start: Instant) -> String {
    format!("{:.1}s", start.elapsed().as_secs_f64())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_shows_what_repeats_it() {
        let command = Cmd::cargo("doc --locked").env("RUSTDOCFLAGS", "-D warnings").arg("a b");
        assert_eq!(command.to_string(), "RUSTDOCFLAGS='-D warnings' cargo doc --locked 'a b'");
    }

    #[test]
    fn a_missing_program_is_named() {
        let failure = Cmd::new("no-such-program-here", "--version").run(Path::new(".")).unwrap_err();
        assert!(failure.0.contains("is no-such-program-here installed"), "{failure}");
    }

    #[test]
    fn a_failing_program_is_named() {
        let failure = Cmd::cargo("no-such-subcommand").read(Path::new(".")).unwrap_err();
        assert!(failure.0.starts_with("`cargo no-such-subcommand` failed"), "{failure}");
    }

    #[test]
    fn lines_are_seen_as_they_pass() {
        let mut lines = Vec::new();
        Cmd::cargo("--version").run_seeing(Path::new("."), |line| lines.push(line.to_string())).unwrap();
        assert!(lines[0].starts_with("cargo "), "{lines:?}");
    }
}
