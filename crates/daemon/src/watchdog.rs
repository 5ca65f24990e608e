//! The service manager's watchdog: a sign of life as long as the driver moves.
//!
//! A thread that sends one every few seconds is the tempting way, and says only that this thread lives. Here the sign is sent on the thread
//! that serves the local socket, after the driver's thread has answered a question, and only if the writer is not stuck in a commit. A disk
//! that hangs, a driver in a loop and a socket that nobody serves end the signs, and the manager starts the daemon again: what was
//! acknowledged is durable. Shrinking the database takes as long as it takes, and does not count as stuck.

use crate::notify;
use relaymesh_runtime::driver::Handle;
use std::{env, time::Duration};
use tokio::{sync::oneshot, time};

/// Set by the manager: how long it waits for a sign, in microseconds, and for which process.
const INTERVAL: &str = "WATCHDOG_USEC";
const PROCESS: &str = "WATCHDOG_PID";

/// How long the manager waits for a sign, if it does at all.
pub(crate) fn interval() -> Option<Duration> {
    let (interval, process) = (env::var(INTERVAL).ok()?, env::var(PROCESS).ok());
    parse(&interval, process.as_deref(), std::process::id())
}

fn parse(interval: &str, process: Option<&str>, own: u32) -> Option<Duration> {
    let is_ours = process.is_none_or(|process| process.parse() == Ok(own));
    let micros: u64 = interval.parse().ok().filter(|micros| *micros > 0 && is_ours)?;
    Some(Duration::from_micros(micros))
}

/// Gives signs for ever: three in the time of one, so that one may be late.
pub(crate) async fn run(driver: Handle, interval: Duration) {
    let every = (interval / 3).max(Duration::from_millis(1));
    let mut ticks = time::interval(every);
    ticks.set_missed_tick_behavior(time::MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        if moves(&driver, every).await {
            notify::tell("WATCHDOG=1");
        }
    }
}

/// Whether the driver answers in time, and its writer has not been at one commit for longer than that.
async fn moves(driver: &Handle, patience: Duration) -> bool {
    if driver.meter().committing_for().is_some_and(|since| since > patience) {
        return false;
    }
    let (told, answer) = oneshot::channel();
    driver.look(move |glance| {
        // Nobody waits any more once the time is over.
        let _ = told.send(glance);
    });
    matches!(time::timeout(patience, answer).await, Ok(Ok(_)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use relaymesh_core::{id::NodeId, name::Name};
    use relaymesh_runtime::{
        driver::{Caller, Command, Config, Driver},
        host::Host,
    };
    use relaymesh_store::{Batch, Error, Store, memory::MemoryStore};
    use std::sync::mpsc::{self, Receiver, Sender};

    /// A store whose commits hang until they are let go on.
    struct Hanging {
        store: MemoryStore,
        begun: Sender<()>,
        go_on: Receiver<()>,
    }

    impl Store for Hanging {
        type Reader = <MemoryStore as Store>::Reader;
        type Blobs = <MemoryStore as Store>::Blobs;

        fn reader(&self) -> Result<Self::Reader, Error> {
            self.store.reader()
        }

        fn blobs(&self) -> Self::Blobs {
            self.store.blobs()
        }

        fn commit(&mut self, batch: &Batch) -> Result<(), Error> {
            let _ = self.begun.send(());
            let _ = self.go_on.recv();
            self.store.commit(batch)
        }
    }

    #[test]
    fn a_driver_whose_disk_hangs_gives_no_sign_of_life_until_it_goes_on() {
        let (begun, has_begun) = mpsc::channel();
        let (release, go_on) = mpsc::channel();
        let store = Hanging { store: MemoryStore::new(NodeId::new(1, 1)), begun, go_on };
        let blobs = store.blobs();
        let driver = Driver::start(store, Config::default(), |handle| Host::new(0, blobs, None, handle.late(), |_| {}));
        let driver = driver.unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build().unwrap();
        let moves = |patience| runtime.block_on(moves(driver.handle(), patience));
        assert!(moves(Duration::from_secs(60)), "an idle driver lives");
        let name = |text: &str| text.parse::<Name>().unwrap();
        let (done, is_done) = mpsc::channel();
        let command = Command::CreateNamespace { name: name("a"), about: String::new() };
        let caller = Caller::new(name("me"), name("test"));
        driver.handle().send(caller, command, move |answer| drop(done.send(answer)));
        has_begun.recv().unwrap();
        // The driver's thread answers; the commit takes longer than anybody has patience for.
        assert!(moves(Duration::from_secs(60)), "a commit may take a while");
        while driver.handle().meter().committing_for().is_none_or(|since| since < Duration::from_millis(2)) {
            std::thread::yield_now();
        }
        assert!(!moves(Duration::from_millis(1)), "and no longer");
        release.send(()).unwrap();
        is_done.recv().unwrap().unwrap();
        while driver.handle().meter().committing_for().is_some() {
            std::thread::yield_now();
        }
        assert!(moves(Duration::from_secs(60)));
        drop(release);
        let handle = driver.handle().clone();
        driver.stop().unwrap();
        assert!(!runtime.block_on(super::moves(&handle, Duration::from_secs(60))), "one that has ended does not move");
    }

    #[test]
    fn the_managers_words_are_for_one_process() {
        let second = Some(Duration::from_secs(1));
        let table = [
            ("1000000", None, second),
            ("1000000", Some("7"), second),
            ("1000000", Some("8"), None),
            ("1000000", Some(""), None),
            ("0", None, None),
            ("soon", None, None),
        ];
        for (interval, process, expected) in table {
            assert_eq!(parse(interval, process, 7), expected, "{interval} {process:?}");
        }
    }
}
