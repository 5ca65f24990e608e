//! How long a tool may try again by itself.
//!
//! Some never give up: they wait for a window of two hours in their own process, say so to nobody, keep a place meanwhile, and whoever else
//! uses the same provider runs into the same wall. Waiting is better done here, where it is seen, shared and survives a restart. So a tool that
//! was turned away is ended at once, and one that was cut off some times in a row is, too. The next attempt goes on with its conversation.

use super::{Event, Stop};

/// How often in a row it may be cut off.
const TRIES_MAX: u32 = 3;

/// What is left of it.
#[derive(Debug, Default)]
pub(super) struct Patience {
    tries: u32,
    over: Option<Stop>,
}

impl Patience {
    /// Takes in what it said.
    pub(super) fn heed(&mut self, event: &Event) {
        match event {
            Event::Again(stop) => {
                self.tries += 1;
                if self.tries >= TRIES_MAX || matches!(stop, Stop::Limited { .. }) {
                    self.over.get_or_insert_with(|| stop.clone());
                }
            }
            Event::Text(_) | Event::Thought(_) | Event::Tool { .. } | Event::ToolEnded { .. } | Event::Used(_) => {
                self.tries = 0;
            }
            Event::Session(_) | Event::Trouble(_) | Event::Unknown(_) => {}
        }
    }

    /// How it ended, if it is to try no more.
    pub(super) fn over(&self) -> Option<&Stop> {
        self.over.as_ref()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn after(events: &[Event]) -> Option<Stop> {
        let mut patience = Patience::default();
        events.iter().for_each(|event| patience.heed(event));
        patience.over().cloned()
    }

    #[test]
    fn it_is_over_when_turned_away_once_or_cut_off_three_times_in_a_row() {
        let cut = |number: u32| Event::Again(Stop::Failed(format!("cut {number}")));
        let away = Stop::Limited { message: "slow down".to_owned(), until_ms: None };
        let text = || Event::Text("half".to_owned());
        let session = || Event::Session("s".to_owned());
        assert_eq!(after(&[cut(1), session(), cut(2)]), None);
        assert_eq!(after(&[cut(1), cut(2), session(), cut(3), cut(4)]), Some(Stop::Failed("cut 3".to_owned())));
        assert_eq!(after(&[cut(1), cut(2), text(), cut(3), cut(4)]), None, "it went on in between");
        assert_eq!(after(&[cut(1), Event::Again(away.clone()), text()]), Some(away));
    }
}
