//! The file bus and a power cut: what had a receipt is there afterwards, once (D4).
//!
//! A kill cannot show it, because the page cache outlives the process. So the root lies on a file system of its own, which is shut down in the
//! middle of everything: from then on nothing reaches its disk, not even what it was about to write, and what it finds when it is mounted
//! again is what a machine finds after its power was cut. Where nothing may be mounted, `bus_kills.rs` strikes at each call instead.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on should stop")]

use crate::common::{house::House, until};
use serde_json::{Value, json};
use std::{
    collections::{BTreeMap, BTreeSet},
    fs,
    path::{Path, PathBuf},
    process::{Child, Command, Stdio},
};

const CUTS: usize = 6;
/// Files that are handed in before each cut, of which some have a receipt by then.
const FILES: usize = 24;

/// Shuts a file system down without writing anything more (`EXT4_IOC_SHUTDOWN`, no flush of its journal).
const SHUT_DOWN: &str = "import fcntl, os, struct, sys\n\
                         fd = os.open(sys.argv[1], os.O_RDONLY)\n\
                         fcntl.ioctl(fd, 0x8004587d, struct.pack('I', 2))\n";

fn done(program: &str, arguments: &[&str]) -> bool {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

/// A disk whose power can be cut, mounted on a folder.
struct Disk {
    image: tempfile::NamedTempFile,
    folder: PathBuf,
}

impl Disk {
    /// `None`: nothing may be mounted here, and that was said.
    fn mounted(folder: &Path) -> Option<Self> {
        let image = tempfile::NamedTempFile::new().unwrap();
        image.as_file().set_len(256 << 20).unwrap();
        let disk = Self { image, folder: folder.to_owned() };
        let is_made = done("mkfs.ext4", &["-q", "-F", disk.image.path().to_str().unwrap()]);
        if is_made && done("python3", &["-c", "import fcntl"]) && disk.mount() {
            return Some(disk);
        }
        eprintln!(
            "SKIPPED: a power cut needs a file system that may be mounted, and Python; the kills at each call stand in for it"
        );
        None
    }

    fn mount(&self) -> bool {
        done("mount", &["-o", "loop", self.image.path().to_str().unwrap(), self.folder.to_str().unwrap()])
    }

    fn cut(&self) {
        assert!(done("python3", &["-c", SHUT_DOWN, self.folder.to_str().unwrap()]), "it cannot be shut down");
    }

    fn power_on(&self) {
        until("nobody uses the disk", || done("umount", &[self.folder.to_str().unwrap()]));
        assert!(self.mount(), "it cannot be mounted again");
    }
}

impl Drop for Disk {
    fn drop(&mut self) {
        done("umount", &["-l", self.folder.to_str().unwrap()]);
    }
}

/// A program that does what the guide says: it writes, syncs, renames, and syncs the folder.
fn put(folder: &Path, name: &str, text: &str) -> std::io::Result<()> {
    let own = folder.join(format!(".{name}"));
    fs::write(&own, text)?;
    fs::File::open(&own)?.sync_all()?;
    fs::rename(own, folder.join(name))?;
    fs::File::open(folder)?.sync_all()
}

fn receipts(root: &Path) -> BTreeSet<String> {
    let days = fs::read_dir(root.join("done")).into_iter().flatten().flatten().map(|day| day.path());
    let names = days.flat_map(|day| fs::read_dir(day).into_iter().flatten().flatten().map(|entry| entry.file_name()));
    names.filter_map(|name| name.to_str()?.strip_suffix(".receipt.json").map(str::to_owned)).collect()
}

/// A daemon in the foreground, so that it is ours to end: its own file with its number goes with the disk.
struct Up(Child);

impl Drop for Up {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

fn up(house: &House) -> Up {
    let mut command = house.command(&["up"]);
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    let daemon = Up(command.spawn().unwrap());
    until("it is up", || house.run(&["status", "--json"]).code == 0 && house.pid() == Some(daemon.0.id().into()));
    daemon
}

#[test]
fn d4_what_has_a_receipt_is_there_once_after_a_power_cut() {
    let house = House::new();
    let Some(disk) = Disk::mounted(house.0.folder.path()) else { return };
    let root = house.0.root();
    let mut acknowledged = BTreeSet::new();
    let mut cut_short = 0;
    for cut in 0..CUTS {
        let daemon = up(&house);
        let before = receipts(&root).len();
        let ids: Vec<String> = (0..FILES).map(|number| format!("m-{cut}-{number}")).collect();
        for id in &ids {
            put(&root.join("payload"), &format!("{id}.payload.json"), &format!("\"{id}\"")).unwrap();
            let meta = json!({ "to": "nobody", "from": "me" });
            put(&root.join("inbox/normal"), &format!("{id}.meta.json"), &meta.to_string()).unwrap();
        }
        // At another place each time.
        until("some have a receipt", || receipts(&root).len() > before + cut * (FILES / CUTS));
        let seen = receipts(&root);
        disk.cut();
        cut_short += usize::from(ids.iter().any(|id| !seen.contains(id)));
        acknowledged.extend(seen);
        // It finds out by itself that its store cannot be trusted, or is idle: either way the power is gone.
        drop(daemon);
        disk.power_on();
    }
    let daemon = up(&house);
    let said = || -> BTreeMap<String, usize> {
        let lines: Vec<Value> = house.run(&["msg", "inbox", "--agent", "nobody", "--limit", "10000", "--json"]).lines();
        lines.iter().fold(BTreeMap::new(), |mut count, message| {
            *count.entry(message["content"].as_str().unwrap().to_owned()).or_default() += 1;
            count
        })
    };
    // Those without a receipt were on the disk, too, and are taken in by now.
    until("all are there", || said().len() == CUTS * FILES);
    assert!(said().values().all(|count| *count == 1), "once each: {:?}", said());
    assert!(acknowledged.iter().all(|id| said().contains_key(id)), "acknowledged and lost");
    println!("{CUTS} cuts, {cut_short} of them between receipts; {} receipts seen before a cut", acknowledged.len());
    assert!(cut_short > 0, "no cut came between two receipts");
    assert_eq!(house.run(&["log", "verify"]).code, 0);
    assert_eq!(house.run(&["down"]).code, 0);
    drop((daemon, disk));
}
