//! A sender: says something to somebody, says it again with the same message id when it does not know whether it was
//! heard, and has what came to nothing delivered again.

use super::{Party, Phase, View, letter};
use crate::{
    call::{Word, name},
    rng::Rng,
    time::{MS, Ns},
};
use relaymesh_core::{
    id::{MessageId, ThreadId},
    message::State,
    name::Name,
};
use relaymesh_runtime::driver::{Answer, Command, Letter, MessageCommand};

/// How often a sender says the same again before it gives up.
const TRIES_MAX: u32 = 8;
/// A thread with this many messages is left alone.
const THREAD_MAX: usize = 30;

#[derive(Debug)]
pub(crate) struct Sender {
    from: Name,
    rng: Rng,
    /// Letters that were sent, to be sent again.
    sent: Vec<Letter>,
    threads: Vec<ThreadId>,
    /// What it does not know the end of, and how often it has tried.
    asking: Option<(Letter, u32)>,
}

impl Sender {
    pub(crate) fn new(index: usize, rng: Rng) -> Self {
        let from = name(letter::AGENTS[index % letter::AGENTS.len()]);
        Self { from, rng, sent: Vec::new(), threads: Vec::new(), asking: None }
    }

    fn say(&mut self, view: &View<'_>) -> Letter {
        let wild = !view.healthy();
        let mut letter = letter::random(&self.from, &mut self.rng, view);
        if self.rng.chance(550) {
            self.go_on(&mut letter, view);
        }
        if self.rng.chance(100) {
            letter.thread = None; // the node makes the names, and nobody can say it again
            letter.reply_to = None;
        }
        if self.rng.chance(100) {
            letter.message = None;
        }
        if self.rng.chance(250) {
            letter.ttl_ms = Some(self.rng.spread(500, 20_000));
        }
        if self.rng.chance(40) {
            letter.to = name(letter::NOBODY);
            letter.ttl_ms = Some(self.rng.between(500, 10_000));
        }
        if wild && self.rng.chance(30) {
            self.spoil(&mut letter);
        }
        letter
    }

    /// Goes on in a thread that is there, perhaps about one of its messages.
    fn go_on(&mut self, letter: &mut Letter, view: &View<'_>) {
        let Some(thread) = self.rng.pick(&self.threads).copied() else { return };
        let Some(rows) = view.ledger.threads.get(&thread) else { return };
        if rows.messages.len() >= THREAD_MAX {
            return self.threads.retain(|other| *other != thread);
        }
        letter.thread = Some(thread);
        if self.rng.chance(500) {
            let all: Vec<MessageId> = rows.messages.keys().copied().collect();
            letter.reply_to = self.rng.pick(&all).copied();
        }
    }

    /// Something that must be refused.
    fn spoil(&mut self, letter: &mut Letter) {
        match self.rng.index(4) {
            0 => letter.ttl_ms = Some(0),
            1 => letter.max_deliveries = 0,
            2 => letter.reply_to = Some(MessageId::new(1, self.rng.wide())),
            _ => letter.content = letter::too_long(),
        }
    }

    /// A letter that was sent before; with other words it is another one, and must be refused.
    fn repeat(&mut self, view: &View<'_>, other: bool) -> Option<Letter> {
        let mut letter = self.rng.pick(&self.sent)?.clone();
        if other {
            letter.content = letter::content(&mut self.rng, view);
        }
        Some(letter)
    }

    fn redrive(&mut self, view: &View<'_>) -> Option<MessageCommand> {
        let wild = !view.healthy() && self.rng.chance(200);
        let broken = |state: State| matches!(state, State::Failed | State::Dead);
        let all: Vec<(ThreadId, MessageId)> = view
            .ledger
            .messages()
            .filter(|(_, row)| wild || broken(row.state))
            .map(|(thread, row)| (thread, row.draft.id))
            .collect();
        let (thread, message) = *self.rng.pick(&all)?;
        Some(MessageCommand::Redrive { thread, message, reason: "another try".to_owned() })
    }
}

impl Party for Sender {
    fn act(&mut self, view: &View<'_>) -> Option<Command> {
        if let Some((letter, _)) = &self.asking {
            return Some(Command::Message(MessageCommand::Send(Box::new(letter.clone()))));
        }
        if view.phase == Phase::Drain {
            return None;
        }
        let wild = if view.healthy() { 0 } else { 5 };
        let chosen = match self.rng.weighted(&[70, 10, wild, 15]) {
            0 => None,
            1 => self.repeat(view, false),
            2 => self.repeat(view, true),
            _ => {
                if let Some(command) = self.redrive(view) {
                    return Some(Command::Message(command));
                }
                None
            }
        };
        let letter = chosen.unwrap_or_else(|| self.say(view));
        self.asking = Some((letter.clone(), 0));
        Some(Command::Message(MessageCommand::Send(Box::new(letter))))
    }

    fn hear(&mut self, command: &Command, word: &Word, _view: &View<'_>) {
        let Command::Message(MessageCommand::Send(letter)) = command else { return };
        if let Word::Answer(Ok(Answer::Message { thread, .. })) = word {
            self.threads.push(*thread);
            if letter.message.is_some() && letter.thread.is_some() {
                self.sent.push((**letter).clone());
            }
        }
        let named = letter.message.is_some() && letter.thread.is_some();
        let tries = self.asking.take().map_or(TRIES_MAX, |(_, tries)| tries + 1);
        if word.is_unsure() && named && tries < TRIES_MAX {
            self.asking = Some(((**letter).clone(), tries));
        }
    }

    fn pause(&mut self) -> Ns {
        self.rng.spread(200, 4_000) * MS
    }

    fn patience(&mut self, healthy: bool) -> Ns {
        if healthy { 30_000 * MS } else { self.rng.spread(200, 8_000) * MS }
    }

    fn is_idle(&self) -> bool {
        self.asking.is_none()
    }
}
