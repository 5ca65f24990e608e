//! What is true of a machine after every call: every bound holds. A broken rule is a bug here.

use super::node::Sync;

impl<R> Sync<R> {
    /// Checks every rule; the first broken one is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        let config = &self.config;
        let of_peers = self.peers.keys().map(|peer| self.wanted.asked_of(*peer));
        let rules = [
            (self.wanted.len() <= config.wanted_feeds_max, "no more feeds are wanted than may be"),
            (self.wanted.is_bounded(), "few heads of a feed are remembered, and few peers for each"),
            (
                of_peers.clone().all(|asked| asked <= config.wants_per_peer_max),
                "a peer is asked for few runs at a time",
            ),
            (of_peers.sum::<usize>() == self.wanted.asked(), "only peers are asked"),
            (self.untaken.len() <= config.accepted_max, "no more runs wait to be taken than may"),
            (self.untaken.bytes() <= config.accepted_bytes_max, "they are no longer than they may be"),
            (self.accepted.len() <= self.untaken.len(), "what is in the queue is not taken"),
            (self.quarantine.is_bounded(config), "no more is in quarantine than may be"),
            (self.contents.is_bounded(config), "no more contents are fetched than may be"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
