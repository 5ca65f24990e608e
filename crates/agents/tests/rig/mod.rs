//! A pool of its own, in a folder of its own, and the ends of its attempts.

#![allow(dead_code, reason = "not every test uses everything")]
#![allow(clippy::unwrap_used, reason = "these are tests, only outside of a #[test]")]

use relaymesh_agents::{Agents, End, Ended, Key, Launch, Meter, Pool};
use relaymesh_core::{
    content::Media,
    id::{StepId, TaskId},
};
use std::{
    path::{Path, PathBuf},
    sync::mpsc,
    time::{Duration, Instant},
};

/// Long enough for anything here; reached only when something is wrong.
pub(crate) const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) struct Rig {
    pub(crate) folder: tempfile::TempDir,
    pub(crate) pool: Option<Pool>,
    pub(crate) ends: mpsc::Receiver<(Key, Ended)>,
    pub(crate) owner: String,
}

impl Rig {
    pub(crate) fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        let owner = format!("test-{}", folder.path().display());
        let (tell, ends) = mpsc::channel();
        let pool = Pool::new(&owner, &[folder.path().join("secrets")], move |key, end| drop(tell.send((key, end))));
        Self { folder, pool: Some(pool), ends, owner }
    }

    pub(crate) fn attempt(&self, index: u16) -> PathBuf {
        self.folder.path().join(format!("attempt-{index}"))
    }

    /// Starts a shell script as attempt `index`; `extra` are more lines of its entry.
    pub(crate) fn start(&self, index: u16, script: &str, extra: &str, input: &str) -> Key {
        let name = format!("{index}.sh");
        std::fs::write(self.folder.path().join(&name), script).unwrap();
        let text = format!("[agents.a]\ncommand = [\"sh\", \"{name}\"]\n{extra}");
        let agents = Agents::parse(&text, self.folder.path()).unwrap();
        let key = (StepId { task: TaskId::from_bytes([1; 16]), index }, 1);
        self.pool.as_ref().unwrap().launch(Launch {
            key,
            process: agents.get(&"a".parse().unwrap()).unwrap().process().unwrap().clone().into(),
            folder: self.attempt(index),
            files: self.attempt(index),
            input: Box::new({
                let input = input.as_bytes().to_vec();
                move || Ok(input.into())
            }),
            env: vec![("RELAYMESH_STEP".to_owned(), "s".to_owned())],
            tag: format!("{}/{index}", self.owner),
            meter: Meter::default(),
            workdir: None,
            opened: Vec::new(),
            workspace: None,
            result_schema: None,
        });
        key
    }

    pub(crate) fn end(&self) -> End {
        self.ends.recv_timeout(PATIENCE).unwrap().1.end
    }

    pub(crate) fn run(&self, script: &str, extra: &str, input: &str) -> End {
        self.start(0, script, extra, input);
        self.end()
    }
}

pub(crate) fn done(media: Media, result: &str) -> End {
    End::Done { media, result: result.as_bytes().to_vec() }
}

/// Waits until the file is there and gives what is in it.
pub(crate) fn appears(path: &Path) -> String {
    until(|| std::fs::read_to_string(path).ok().filter(|text| text.ends_with('\n')))
}

pub(crate) fn until<T>(look: impl Fn() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = look() {
            return found;
        }
        assert!(Instant::now() < end, "it never came");
        std::thread::yield_now();
    }
}

/// Alive, and not merely waiting to be buried.
pub(crate) fn is_alive(pid: &str) -> bool {
    std::fs::read_to_string(format!("/proc/{}/stat", pid.trim())).is_ok_and(|stat| !stat.contains(") Z "))
}
