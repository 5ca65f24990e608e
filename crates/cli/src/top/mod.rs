//! `relaymesh top`: the root at work, on one screen.
//!
//! Once a second it asks the daemon how it is, over the local socket, and reads the rest from the store as every reader does. So looking costs
//! the daemon one small answer a second, however much it works. What is drawn is a function of what was seen ([`seen`]) and of what the person wants to see ([`want`]); the
//! loop here only joins them.

mod draw;
mod seen;
mod want;

#[cfg(test)]
mod tests;

use crate::{
    args::Context,
    error::{Code, Error},
    output,
};
use ratatui::{
    DefaultTerminal,
    crossterm::event::{self, Event},
};
use seen::Looker;
use std::{
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::{Duration, Instant},
};
use want::{Next, Want};

/// How often it looks.
const EVERY: Duration = Duration::from_secs(1);
/// How soon it hears that it is to end.
const HEARS: Duration = Duration::from_millis(250);

/// Shows the root until the person has seen enough.
pub(crate) fn run(context: &Context) -> Result<(), Error> {
    let mut looker = Looker::new(context)?;
    let ended = Arc::new(AtomicBool::new(false));
    let told = Arc::clone(&ended);
    // A signal to end must leave the terminal as it was.
    ctrlc::set_handler(move || told.store(true, Ordering::Relaxed))
        .map_err(|error| Error::new(Code::Internal, error.to_string()))?;
    let mut terminal = ratatui::try_init().map_err(|error| failed(&error))?;
    let shown = show(&mut terminal, &mut looker, &ended);
    ratatui::restore();
    shown.map_err(|error| failed(&error))
}

fn show(terminal: &mut DefaultTerminal, looker: &mut Looker, ended: &AtomicBool) -> io::Result<()> {
    let has_colour = output::has_colour();
    let (mut want, mut seen, mut looked) = (Want::default(), looker.look(), Instant::now());
    while !ended.load(Ordering::Relaxed) {
        terminal.draw(|frame| draw::draw(frame, &seen, &mut want, has_colour))?;
        let left = EVERY.saturating_sub(looked.elapsed());
        if event::poll(left.min(HEARS))? {
            match event::read()? {
                Event::Key(key) => {
                    if want.press(key) == Next::End {
                        return Ok(());
                    }
                }
                Event::Resize(..) | Event::FocusGained | Event::FocusLost | Event::Mouse(_) | Event::Paste(_) => {}
            }
        }
        if looked.elapsed() >= EVERY {
            (seen, looked) = (looker.look(), Instant::now());
        }
    }
    Ok(())
}

fn failed(error: &io::Error) -> Error {
    Error::new(Code::StoreIo, format!("cannot use the terminal: {error}"))
}
