//! A lock user: takes keys and globs that overlap with those of others, keeps them, changes their mode, gives them back;
//! or falls silent for longer than they last and then speaks with the old fence.

use super::{Party, Phase, View};
use crate::{
    call::{Word, name},
    keys::{KEYS, Lockable},
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{
    id::{LeaseToken, RepositoryId},
    lock::{Key, Mode, RepositoryName},
    name::Name,
    op::HeldLock,
};
use relaymesh_runtime::driver::{Answer, Command, Error, LockCommand};

const TRIES_MAX: u32 = 4;

#[derive(Debug)]
pub(crate) struct Locker {
    holder: Name,
    rng: Rng,
    /// Locks that it believes to hold.
    grips: Vec<Grip>,
    /// Locks that were its own once.
    old: Vec<(Lockable, HeldLock)>,
    /// An acquire with a token of its own whose end it did not learn, and how often it has tried.
    unsure: Option<(LockCommand, Lockable, u32)>,
    /// What the acquire that is under way is about.
    wanted: Option<Lockable>,
    /// A namespace that it makes before it asks again.
    makes: Option<Name>,
    grips_max: usize,
}

#[derive(Debug)]
struct Grip {
    of: Lockable,
    held: HeldLock,
    mode: Mode,
    /// When it says the next word about it.
    speaks: Ns,
    renewals: u32,
    tries: u32,
}

impl Locker {
    pub(crate) fn new(index: usize, mut rng: Rng) -> Self {
        let grips_max = 1 + rng.index(3);
        let holder = name(&format!("locker-{index}"));
        Self { holder, rng, grips: Vec::new(), old: Vec::new(), unsure: None, wanted: None, makes: None, grips_max }
    }

    /// Takes something new. Where all is well it looks first whether that is free.
    fn acquire(&mut self, view: &View<'_>) -> Option<LockCommand> {
        let of = *self.rng.pick(&KEYS)?;
        if !view.ledger.has_namespace(&name(of.namespace)) && self.rng.chance(800) {
            self.makes = Some(name(of.namespace));
            return None;
        }
        let mode = if self.rng.chance(450) { Mode::Shared } else { Mode::Exclusive };
        if view.healthy() && !is_free(of, mode, view) {
            return None;
        }
        self.wanted = Some(of);
        // With a token of its own it can ask again; without one, what it does not hear of runs out by itself.
        let token = self.rng.chance(700).then(|| LeaseToken::from_bytes(self.rng.wide().to_be_bytes()));
        let ttl_ms = match self.rng.weighted(&[60, 30, 10, if view.healthy() { 0 } else { 3 }]) {
            0 => self.rng.between(1_000, 5_000),
            1 => self.rng.between(5_000, 20_000),
            2 => 30_000,
            _ => self.rng.between(0, 999),
        };
        Some(self.acquires(of, mode, token, ttl_ms))
    }

    fn acquires(&self, of: Lockable, mode: Mode, token: Option<LeaseToken>, ttl_ms: u64) -> LockCommand {
        LockCommand::Acquire {
            namespace: name(of.namespace),
            repository: repository(of),
            key: key(of),
            mode,
            case: of.case,
            holder: self.holder.clone(),
            token,
            ttl_ms,
            purpose: "to edit".to_owned(),
        }
    }

    /// The word about a lock whose time has come.
    fn speak(&mut self, view: &View<'_>) -> Option<LockCommand> {
        let now = view.now;
        let place = self.grips.iter().position(|grip| grip.speaks <= now)?;
        let ttl_ms = self.rng.between(1_000, 12_000);
        let grip = &mut self.grips[place];
        grip.speaks = Ns::MAX; // until it is answered
        grip.tries += 1;
        let (of, held, mode) = (grip.of, grip.held, grip.mode);
        let (namespace, repository) = (name(of.namespace), repository(of));
        if grip.renewals == 0 || view.phase == Phase::Drain {
            return Some(LockCommand::Release { namespace, repository, held });
        }
        grip.renewals -= 1;
        if self.rng.chance(250) {
            let other = if mode == Mode::Shared { Mode::Exclusive } else { Mode::Shared };
            self.wanted = Some(of);
            return Some(self.acquires(of, other, Some(held.token), ttl_ms));
        }
        Some(LockCommand::Renew { namespace, repository, held, ttl_ms })
    }

    /// A word about a lock that is not its own any more.
    fn stale(&mut self) -> Option<LockCommand> {
        let (of, held) = *self.rng.pick(&self.old)?;
        let (namespace, repository) = (name(of.namespace), repository(of));
        if self.rng.chance(500) {
            return Some(LockCommand::Renew { namespace, repository, held, ttl_ms: 5_000 });
        }
        Some(LockCommand::Release { namespace, repository, held })
    }

    /// When it speaks next about a lock that lasts that long.
    fn next_word(&mut self, ttl_ms: u64, view: &View<'_>) -> Ns {
        let silent = !view.healthy() && self.rng.chance(200);
        let after_ms =
            if silent { self.rng.between(ttl_ms, ttl_ms * 3) } else { self.rng.between(ttl_ms / 5, ttl_ms * 3 / 4) };
        view.now + after_ms * MS
    }

    fn locked(&mut self, of: Lockable, held: HeldLock, mode: Mode, ttl_ms: u64, view: &View<'_>) {
        let speaks = self.next_word(ttl_ms, view);
        if let Some(grip) = self.grips.iter_mut().find(|grip| grip.held.token == held.token) {
            (grip.held, grip.mode, grip.speaks, grip.tries) = (held, mode, speaks, 0);
            return;
        }
        let renewals = u32::try_from(self.rng.between(0, 3)).unwrap_or(0);
        self.grips.push(Grip { of, held, mode, speaks, renewals, tries: 0 });
    }

    fn heard_acquire(&mut self, command: &LockCommand, word: &Word, view: &View<'_>) {
        let LockCommand::Acquire { token, mode, ttl_ms, .. } = command else { return };
        if let Word::Answer(Err(Error::NoNamespace { name, .. })) = word {
            self.makes = Some(name.clone());
        }
        let Some(of) = self.wanted.take() else { return };
        let tries = self.unsure.take().map_or(1, |(_, _, tries)| tries + 1);
        if let Word::Answer(Ok(Answer::Locked { held, .. })) = word {
            self.locked(of, *held, *mode, *ttl_ms, view);
        } else if word.is_unsure() && token.is_some() && tries < TRIES_MAX {
            self.unsure = Some((command.clone(), of, tries));
        } else {
            // A change of mode that was refused leaves the lock as it was.
            let grip = self.grips.iter_mut().find(|grip| Some(grip.held.token) == *token);
            grip.into_iter().for_each(|grip| grip.speaks = view.now);
        }
    }

    fn heard_about(&mut self, held: &HeldLock, ttl_ms: Option<u64>, word: &Word, view: &View<'_>) {
        let Some(place) = self.grips.iter().position(|grip| grip.held == *held) else { return };
        if let (Word::Answer(Ok(Answer::Locked { .. })), Some(ttl_ms)) = (word, ttl_ms) {
            let speaks = self.next_word(ttl_ms, view);
            (self.grips[place].speaks, self.grips[place].tries) = (speaks, 0);
        } else if word.is_unsure() && self.grips[place].tries < TRIES_MAX {
            self.grips[place].speaks = view.now + self.rng.spread(50, 2_000) * MS;
        } else {
            let grip = self.grips.remove(place);
            self.old.push((grip.of, grip.held));
        }
    }
}

impl Party for Locker {
    fn act(&mut self, view: &View<'_>) -> Option<Command> {
        if let Some(name) = self.makes.take_if(|_| view.phase != Phase::Drain) {
            return Some(Command::CreateNamespace { name, about: "what is locked together".to_owned() });
        }
        if let Some((command, of, _)) = &self.unsure {
            self.wanted = Some(*of);
            return Some(Command::Lock(command.clone()));
        }
        let stale = if !view.healthy() && self.rng.chance(80) { self.stale() } else { None };
        let new = |locker: &mut Self| {
            let room = locker.grips.len() < locker.grips_max && view.phase != Phase::Drain;
            if room { locker.acquire(view) } else { None }
        };
        stale.or_else(|| self.speak(view)).or_else(|| new(self)).map(Command::Lock)
    }

    fn hear(&mut self, command: &Command, word: &Word, view: &View<'_>) {
        if let Command::CreateNamespace { name, .. } = command {
            self.makes = (word.is_unsure() && self.rng.chance(700)).then(|| name.clone());
        }
        let Command::Lock(command) = command else { return };
        match command {
            LockCommand::Acquire { .. } => self.heard_acquire(command, word, view),
            LockCommand::Renew { held, ttl_ms, .. } => self.heard_about(held, Some(*ttl_ms), word, view),
            LockCommand::Release { held, .. } => self.heard_about(held, None, word, view),
        }
    }

    fn pause(&mut self) -> Ns {
        self.rng.spread(200, 3_000) * MS
    }

    fn patience(&mut self, healthy: bool) -> Ns {
        if healthy { 30_000 * MS } else { self.rng.spread(200, 8_000) * MS }
    }

    fn is_idle(&self) -> bool {
        self.grips.is_empty() && self.unsure.is_none()
    }
}

fn key(of: Lockable) -> Key {
    of.key.parse().expect("a key")
}

fn repository(of: Lockable) -> RepositoryName {
    of.repository.parse().expect("the name of a repository")
}

/// Whether nothing that is held, as far as anybody can read, is in the way.
fn is_free(of: Lockable, mode: Mode, view: &View<'_>) -> bool {
    let id = RepositoryId::of(&name(of.namespace), of.repository);
    let locks = view.ledger.repositories.get(&id).into_iter().flat_map(|rows| rows.locks.values());
    locks.into_iter().all(|lock| !lock.conflicts(&key(of), mode, of.case))
}
