//! The folder: whose it is, and who else may look into it.

use super::report::Report;
use crate::{args::Context, error::Code};
use relaymesh_core::name::Name;
use relaymesh_daemon::private;
use relaymesh_runtime::{
    root_clock::RootClock,
    token::{FIRST_FILE, FIRST_NAME, Tokens},
};
use std::{
    fs,
    os::unix::fs::{MetadataExt as _, PermissionsExt as _},
    path::Path,
};

const FOLDER_MODE: u32 = 0o700;
/// What group and others may not do.
const OTHERS: u32 = 0o077;

/// Prefixes of the names of our own files. Other files in the root, such as scripts, belong to the user, and the root is closed anyway.
const KEPT: [&str; 9] =
    ["relaymesh.db", "head", "held", "blobs", "attempts", "secrets", "daemon.", "quarantine", "clock"];

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
    tokens(&context.root, report);
}

/// The files of tokens.
fn tokens(root: &Path, report: &mut Report) {
    if let Some((name, error)) = private::damaged(root) {
        let advice = "restore it from a backup, or remove it and create tokens anew";
        return report.fail("tokens", Code::Damaged, format!("cannot use {name}: {error}"), advice);
    }
    let named = Tokens::read(root).ok().flatten().unwrap_or_default();
    let has_first = FIRST_NAME.parse::<Name>().is_ok_and(|first| named.tokens.contains_key(&first));
    match fs::read_to_string(root.join(FIRST_FILE)) {
        Ok(token) if named.find(token.trim(), RootClock::glance(root, 0).now_ms()).is_some() => {
            report.ok("tokens", format!("{} tokens; the one in {FIRST_FILE} is valid", named.tokens.len()));
        }
        Ok(_) if has_first => report.warn(
            "tokens",
            format!("the token in {FIRST_FILE} is not valid any more"),
            "remove the file, or replace its token with the one of `relaymesh token rotate first`",
        ),
        Err(_) if has_first => report.warn(
            "tokens",
            format!("there is a token `{FIRST_NAME}`, but no file {FIRST_FILE}"),
            "nothing if you removed it; otherwise get another with `relaymesh token rotate first`",
        ),
        Ok(_) | Err(_) => report.ok("tokens", format!("{} tokens", named.tokens.len())),
    }
}

fn modes(root: &Path, mode: u32, report: &mut Report) {
    if mode != FOLDER_MODE {
        let found = format!(
            "the root has mode {mode:04o} instead of {FOLDER_MODE:04o}: other users may read prompts and results"
        );
        return report.fail("modes", Code::Unusable, found, &format!("chmod 700 {}", root.display()));
    }
    let private = private::open_to_others(root);
    if !private.is_empty() {
        let names: Vec<&str> = private.iter().map(|(name, _)| *name).collect();
        let found =
            format!("accessible to other users, although private: {}; the daemon does not start", names.join(", "));
        let advice = format!("run `chmod 600` on them in {}, and replace what others may have read", root.display());
        return report.fail("modes", Code::Refused, found, &advice);
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
