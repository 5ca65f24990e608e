//! What the person wants to see: keys, and what they have come to.

use super::seen::{Agent, Running};
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

/// The longest filter.
const FILTER_CHARS_MAX: usize = 40;

/// What is to be shown.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Want {
    /// How far down the list of steps.
    pub(super) scroll: usize,
    pub(super) has_help: bool,
    pub(super) filter: String,
    /// Whether keys go to the filter now.
    pub(super) is_typing: bool,
}

/// What follows from a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Next {
    Draw,
    End,
}

impl Want {
    /// A key was pressed.
    pub(super) fn press(&mut self, key: KeyEvent) -> Next {
        if key.kind == KeyEventKind::Release {
            return Next::Draw;
        }
        if key.modifiers.contains(KeyModifiers::CONTROL) {
            return if key.code == KeyCode::Char('c') { Next::End } else { Next::Draw };
        }
        if self.is_typing {
            self.type_in(key.code);
            return Next::Draw;
        }
        if key.code == KeyCode::Char('q') {
            return Next::End;
        }
        if key.code == KeyCode::Esc && !self.has_help && self.filter.is_empty() {
            return Next::End;
        }
        if let KeyCode::Char('?' | 'h') = key.code {
            self.has_help = !self.has_help;
        } else if self.has_help {
            self.has_help = false;
        } else if let KeyCode::Char('f' | '/') = key.code {
            self.is_typing = true;
        } else if key.code == KeyCode::Esc {
            self.filter.clear();
        } else {
            self.go(key.code);
        }
        Next::Draw
    }

    /// How far each key goes; what is too far is cut when it is drawn.
    fn go(&mut self, code: KeyCode) {
        let by: isize = match () {
            () if matches!(code, KeyCode::Up | KeyCode::Char('k')) => -1,
            () if matches!(code, KeyCode::Down | KeyCode::Char('j')) => 1,
            () if code == KeyCode::PageUp => -10,
            () if code == KeyCode::PageDown => 10,
            () if code == KeyCode::Home => isize::MIN,
            () if code == KeyCode::End => isize::MAX,
            () => 0,
        };
        self.scroll = self.scroll.saturating_add_signed(by);
    }

    fn type_in(&mut self, code: KeyCode) {
        self.scroll = 0;
        if let KeyCode::Char(typed) = code {
            if self.filter.chars().count() < FILTER_CHARS_MAX && !typed.is_control() {
                self.filter.push(typed);
            }
        } else if code == KeyCode::Backspace {
            self.filter.pop();
        } else if code == KeyCode::Enter {
            self.is_typing = false;
        } else if code == KeyCode::Esc {
            self.filter.clear();
            self.is_typing = false;
        }
    }

    /// Whether this step is to be shown.
    pub(super) fn has_step(&self, step: &Running) -> bool {
        let Running { task, name, step, agent, namespace, .. } = step;
        [task, name, step, agent, namespace].iter().any(|text| self.fits(text))
    }

    /// Whether this agent is to be shown.
    pub(super) fn has_agent(&self, agent: &Agent) -> bool {
        self.fits(&agent.name)
    }

    fn fits(&self, text: &str) -> bool {
        text.to_lowercase().contains(&self.filter.to_lowercase())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pressed(want: &mut Want, codes: &[KeyCode]) -> Next {
        codes.iter().map(|code| want.press(KeyEvent::from(*code))).last().unwrap()
    }

    #[test]
    fn keys_do_what_the_help_says() {
        let mut want = Want::default();
        assert_eq!(pressed(&mut want, &[KeyCode::Down, KeyCode::Down, KeyCode::Up, KeyCode::Char('x')]), Next::Draw);
        assert_eq!(want.scroll, 1);
        assert_eq!((pressed(&mut want, &[KeyCode::PageDown]), want.scroll), (Next::Draw, 11));
        assert_eq!((pressed(&mut want, &[KeyCode::Home]), want.scroll), (Next::Draw, 0));
        assert_eq!((pressed(&mut want, &[KeyCode::Char('?')]), want.has_help), (Next::Draw, true));
        assert_eq!((pressed(&mut want, &[KeyCode::Esc]), want.has_help), (Next::Draw, false), "any key closes it");
        assert_eq!(pressed(&mut want, &[KeyCode::Char('q')]), Next::End);
        assert_eq!(pressed(&mut want, &[KeyCode::Esc]), Next::End);
        assert_eq!(want.press(KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL)), Next::End);
    }

    #[test]
    fn what_is_typed_after_f_is_the_filter_and_q_is_a_letter_there() {
        let mut want = Want::default();
        let typed = ['f', 'q', 'U', 'x'].map(KeyCode::Char);
        assert_eq!(pressed(&mut want, &typed), Next::Draw);
        pressed(&mut want, &[KeyCode::Backspace, KeyCode::Enter]);
        assert_eq!((want.filter.as_str(), want.is_typing), ("qU", false));
        let agent = |name: &str| Agent { name: name.to_owned(), running: 0, limit: None, held: None };
        assert!(want.has_agent(&agent("re-Qu-est")) && !want.has_agent(&agent("other")));
        assert_eq!((pressed(&mut want, &[KeyCode::Esc]), want.filter.as_str()), (Next::Draw, ""));
        pressed(&mut want, &[KeyCode::Char('/')]);
        for _ in 0..100 {
            pressed(&mut want, &[KeyCode::Char('y')]);
        }
        assert_eq!(want.filter.len(), FILTER_CHARS_MAX);
    }
}
