//! The folders of attempts.
//!
//! ```text
//! root/attempts/<task>/
//!   <step>.<epoch>/                       0700, where one attempt works
//!   <step>.<epoch>.stdout, .stderr        what it said
//!   <step>.<epoch>.ran                    what was run, and how it ended
//!   <step>.<epoch>.input                  what it was given, if that is long
//!   <step>.0/                             where all attempts of an agent tool work
//!   <step>.0.session                      its conversation
//! ```

use relaymesh_core::{id::TaskId, name::Name};
use std::{
    io,
    path::{Path, PathBuf},
};

/// The folder of all attempts, in the root.
const FOLDER: &str = "attempts";

/// The folder of all working trees, in the root, unless they are put elsewhere.
const WORKSPACES: &str = relaymesh_agents::workspace::FOLDER;

/// The file with what an attempt said on `stdout` or `stderr`. It is there once there is something in it.
pub fn said(root: &Path, task: TaskId, step: &Name, epoch: u32, stream: &str) -> PathBuf {
    folder(root, task, step, epoch).with_added_extension(stream)
}

/// Where an attempt works.
pub fn folder(root: &Path, task: TaskId, step: &Name, epoch: u32) -> PathBuf {
    root.join(FOLDER).join(task.to_string()).join(format!("{step}.{epoch}"))
}

/// Removes the folders of tasks that are no more. Says how many; what is not understood stays.
pub fn sweep_folders<E: From<io::Error>>(
    root: &Path,
    is_there: &mut dyn FnMut(TaskId) -> Result<bool, E>,
) -> Result<usize, E> {
    let left = left_folders(root, is_there)?;
    left.iter().try_for_each(std::fs::remove_dir_all)?;
    Ok(left.len())
}

/// The folders of tasks that are no more.
pub fn left_folders<E: From<io::Error>>(
    root: &Path,
    is_there: &mut dyn FnMut(TaskId) -> Result<bool, E>,
) -> Result<Vec<PathBuf>, E> {
    let mut left = Vec::new();
    for around in [FOLDER, WORKSPACES] {
        let entries = match std::fs::read_dir(root.join(around)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            entries => entries?,
        };
        for entry in entries {
            let entry = entry?;
            let Some(task) = entry.file_name().to_str().and_then(|name| name.parse::<TaskId>().ok()) else { continue };
            if !is_there(task)? {
                left.push(entry.path());
            }
        }
    }
    Ok(left)
}
