//! The folder: whose it is, and who else may look into it.

use super::report::Report;
use crate::{args::Context, error::Code};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

const FOLDER_MODE: u32 = 0o700;
/// What group and others may not do.
const OTHERS: u32 = 0o077;

/// Prefixes of the names of our own files. Other files in the root, such as scripts, belong to the user, and the root is closed anyway.
const KEPT: [&str; 8] = ["relaymesh.db", "head", "held", "blobs", "attempts", "secrets", "daemon.", "quarantine"];

pub(super) fn check(context: &Context, report: &mut Report) {
    let shown = context.root.display();
    match fs::metadata(&context.root) {
        Err(error) => {
            report.fail("root", Code::StoreIo, format!("cannot read {shown}: {error}"), "check its permissions")
        }
        Ok(found) if found.uid() != rustix::process::geteuid().as_raw() => report.fail(
            "root",
            Code::Unusable,
            format!(
                "{shown} belongs to user {}, but this is user {}",
                found.uid(),
                rustix::process::geteuid().as_raw()
            ),
            "run as that user, or change the owner of the root",
        ),
        Ok(found) => {
            report.ok("root", shown.to_string());
            modes(&context.root, found.permissions().mode() & 0o7777, report);
        }
    }
}

fn modes(root: &Path, mode: u32, report: &mut Report) {
    if mode != FOLDER_MODE {
        let found = format!(
            "the root has mode {mode:04o} instead of {FOLDER_MODE:04o}: other users may read prompts and results"
        );
        return report.fail("modes", Code::Unusable, found, &format!("chmod 700 {}", root.display()));
    }
    let open = |entry: &fs::DirEntry| entry.metadata().is_ok_and(|found| found.permissions().mode() & OTHERS != 0);
    let files = fs::read_dir(root).into_iter().flatten().flatten();
    let names = files.filter(open).map(|entry| entry.file_name().to_string_lossy().into_owned());
    let names: Vec<String> = names.filter(|name| KEPT.iter().any(|kept| name.starts_with(kept))).collect();
    match names.len() {
        0 => report.ok("modes", "mode 0700; nothing in it is accessible to other users"),
        _ => report.warn(
            "modes",
            format!("accessible to other users, although the root is not: {}", names.join(", ")),
            &format!("run `chmod go=` on them in {}; the daemon corrects its own files at every start", root.display()),
        ),
    }
}
