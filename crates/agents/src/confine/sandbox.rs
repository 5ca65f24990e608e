//! The sandbox of one attempt: the rules that the kernel holds it to.

use super::{Confine, Confinement, Level, own_folders, reads::Reads};
use crate::agent::Process;
use landlock::{
    ABI, Access as _, AccessFs, BitFlags, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::{
    fs::{Mode, OFlags},
    process::{DumpableBehavior, Resource, Rlimit},
    thread::CapabilitySet,
};
use std::{
    io,
    os::fd::OwnedFd,
    path::{Path, PathBuf},
    sync::OnceLock,
};

/// The newest rules that are asked for: signals and abstract sockets stay inside. Older kernels know fewer, and do what they can.
const RULES: ABI = ABI::V6;

/// Devices that everybody may write to. Terminals are folders of them.
const DEVICES: [&str; 8] =
    ["/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom", "/dev/tty", "/dev/ptmx", "/dev/pts"];

/// What root may not do in a sandbox: each of these goes around it, or around a limit.
const POWERS: CapabilitySet = CapabilitySet::SYS_PTRACE
    .union(CapabilitySet::SYS_ADMIN)
    .union(CapabilitySet::SYS_MODULE)
    .union(CapabilitySet::SYS_RAWIO)
    .union(CapabilitySet::SYS_BOOT)
    .union(CapabilitySet::SYS_RESOURCE)
    .union(CapabilitySet::MKNOD)
    .union(CapabilitySet::BPF)
    .union(CapabilitySet::PERFMON)
    .union(CapabilitySet::CHECKPOINT_RESTORE);

/// A sandbox that a thread can enter. There is no way back.
pub(crate) struct Sandbox {
    writes: RulesetCreated,
    reads: Option<RulesetCreated>,
}

impl Sandbox {
    /// Puts the calling thread, and all that it starts, into the sandbox.
    pub(crate) fn enter(self) -> io::Result<()> {
        for layer in [Some(self.writes), self.reads].into_iter().flatten() {
            let status = layer.restrict_self().map_err(io::Error::other)?;
            if status.ruleset == RulesetStatus::NotEnforced {
                return Err(io::Error::other("the kernel does not enforce it"));
            }
        }
        let mut held = rustix::thread::capabilities(None)?;
        if held.permitted.intersects(POWERS) {
            // Nothing that it runs gets them back: entering a sandbox rules out new privileges.
            held.permitted.remove(POWERS);
            held.effective.remove(POWERS);
            held.inheritable.remove(POWERS);
            rustix::thread::set_capabilities(None, held)?;
        }
        Ok(())
    }
}

/// Makes the sandboxes of attempts.
pub(crate) struct SandboxBuilder {
    devices: Vec<OwnedFd>,
    reads: Reads,
}

impl SandboxBuilder {
    /// Whatever is called like one of `hidden`, or like one of them and more (`secrets`, `secrets.key`), is not read.
    pub(crate) fn new(hidden: &[PathBuf]) -> Self {
        let devices = DEVICES.iter().filter_map(|path| handle(Path::new(path)).ok()).collect();
        Self { devices, reads: Reads::new(hidden) }
    }

    /// The sandbox of an attempt that works in this folder and may write to these places besides. `None`: it has none, as its entry or this
    /// machine has it.
    pub(crate) fn build(&self, process: &Process, folder: &Path, also: &[PathBuf]) -> io::Result<Option<Sandbox>> {
        if process.confine == Confine::Off || machine().level == Level::None {
            return Ok(None);
        }
        let mut writes = ruleset().map_err(io::Error::other)?;
        let rule = |rules: RulesetCreated, place: &OwnedFd, rights| {
            rules.add_rule(PathBeneath::new(place, rights)).map_err(io::Error::other)
        };
        for device in &self.devices {
            writes = rule(writes, device, in_files())?;
        }
        writes = rule(writes, &handle(folder)?, in_folders())?;
        let own = own_folders(process);
        for path in process.writable.iter().map(PathBuf::from).chain(own).chain(also.iter().cloned()) {
            let place = handle(&path).map_err(|error| {
                let name = path.display();
                io::Error::new(
                    error.kind(),
                    format!("the folder {name} of `writable` cannot be opened ({error}): create it first"),
                )
            })?;
            let kind = rustix::fs::FileType::from_raw_mode(rustix::fs::fstat(&place)?.st_mode);
            writes = rule(writes, &place, if kind.is_dir() { in_folders() } else { in_files() })?;
        }
        let is_hidden = process.confine == Confine::All && !process.opens_root;
        let reads = is_hidden.then(|| self.reads.layer()).transpose()?.flatten();
        Ok(Some(Sandbox { writes, reads }))
    }
}

fn ruleset() -> Result<RulesetCreated, RulesetError> {
    Ruleset::default().handle_access(AccessFs::from_write(RULES))?.scope(Scope::from_all(RULES))?.create()
}

/// What may be done in a folder: everything but to make devices, through which root would reach every disk.
fn in_folders() -> BitFlags<AccessFs> {
    AccessFs::from_write(RULES) & !(AccessFs::MakeChar | AccessFs::MakeBlock)
}

fn in_files() -> BitFlags<AccessFs> {
    AccessFs::WriteFile | AccessFs::Truncate | AccessFs::IoctlDev
}

/// A handle that says which place is meant, and opens nothing.
fn handle(path: &Path) -> io::Result<OwnedFd> {
    Ok(rustix::fs::open(path, OFlags::PATH | OFlags::CLOEXEC, Mode::empty())?)
}

/// Closes this process to whoever is of the same user: no memory, environment or descriptors of it under `/proc`, no core dumps of it or of
/// those that it starts.
pub(crate) fn protect_daemon() {
    // A system that refuses has said how it wants it; `machine` says what follows.
    let _ = rustix::process::setrlimit(Resource::Core, Rlimit { current: Some(0), maximum: Some(0) });
    let _ = rustix::process::set_dumpable_behavior(DumpableBehavior::NotDumpable);
}

/// Tried once, on a thread that is then gone.
pub(super) fn machine() -> Confinement {
    static FOUND: OnceLock<Confinement> = OnceLock::new();
    FOUND.get_or_init(|| std::thread::spawn(tried).join().unwrap_or_else(|_| none("it cannot be tested"))).clone()
}

fn none(why: &str) -> Confinement {
    Confinement { level: Level::None, why: why.to_owned() }
}

fn tried() -> Confinement {
    use landlock::LandlockStatus as Kernel;
    let status = match ruleset().and_then(RulesetCreated::restrict_self) {
        Ok(status) => status,
        Err(error) => return none(&format!("Landlock refuses: {error}")),
    };
    match (status.ruleset, status.landlock) {
        (_, Kernel::NotImplemented) => none("this kernel has no Landlock (it came with Linux 5.13)"),
        (_, Kernel::NotEnabled) => {
            none("Landlock is switched off on this machine (`lsm=` on the kernel's command line)")
        }
        (RulesetStatus::NotEnforced, _) => none("Landlock does not enforce anything here"),
        (RulesetStatus::PartiallyEnforced, Kernel::Available { effective_abi, .. }) => {
            let why =
                format!("Landlock {effective_abi} of this kernel lacks some rules; Linux 6.12 and later have all");
            Confinement { level: Level::Partial, why }
        }
        (RulesetStatus::FullyEnforced, Kernel::Available { effective_abi, .. }) => {
            Confinement { level: Level::Full, why: format!("by Landlock {effective_abi}") }
        }
    }
}
