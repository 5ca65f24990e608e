//! What is true of an inbox after every admission. A broken rule is a bug here.

use super::Inbox;

impl Inbox {
    /// Checks every rule; the first broken one is the answer.
    pub fn validate(&self) -> Result<(), &'static str> {
        let kept: usize = self.peers.values().map(|peer| peer.queue.len()).sum();
        let each = |rule: fn(&super::admit::Peer) -> bool| self.peers.values().all(rule);
        let rules = [
            (kept == self.nonces, "the count is that of the queues"),
            (kept <= self.limits.nonces_max, "no more nonces than allowed"),
            (self.peers.len() <= self.limits.peers_max, "no more senders than allowed"),
            (each(|peer| peer.queue.len() == peer.seen.len()), "queue and set are the same"),
            (each(|peer| peer.queue.iter().all(|(_, nonce)| peer.seen.contains(nonce))), "queue and set are the same"),
            (each(|peer| peer.queue.iter().is_sorted_by(|one, next| one.0 < next.0)), "the oldest comes first"),
        ];
        rules.into_iter().find(|(holds, _)| !holds).map_or(Ok(()), |(_, rule)| Err(rule))
    }
}
