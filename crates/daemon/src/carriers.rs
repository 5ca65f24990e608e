//! Who carries messages in the daemon: the post, for agents that run here, and the file bus, for programs that only rename files.
//! Each has a thread of its own.

use crate::{
    Home, agents,
    live::Live,
    log::{Level, Log},
    root,
    session::Session,
};
use relaymesh_agents::Agents;
use relaymesh_api::{
    error::{Code, Error},
    time,
};
use relaymesh_core::{id::NodeId, name::Name};
use relaymesh_runtime::{
    driver::Caller,
    file_bus::{self, Bell, FileBus, Means, Told},
    post::{self, Post},
};
use serde_json::json;
use std::{
    io,
    sync::{
        Arc,
        mpsc::{self, Sender},
    },
    thread::{self, JoinHandle},
};

/// Both carriers.
pub(crate) struct Carriers {
    post: (Sender<post::News>, JoinHandle<()>),
    bus: (Sender<file_bus::News>, Bell, JoinHandle<()>),
}

impl Carriers {
    /// Starts both. What waits already comes first.
    pub(crate) fn start(
        home: &Home,
        session: &Session,
        node: NodeId,
        live: &Arc<Live>,
        log: &Log,
    ) -> Result<Self, Error> {
        let agents = agents::read(&home.root)?;
        let as_source = |source: &str| {
            let source = source.parse::<Name>().map_err(|error| Error::new(Code::Internal, error.to_string()))?;
            Ok::<_, Error>(Caller::new(home.caller.author.clone(), source))
        };
        let warns = log.clone();
        let (posted, to_post) = mpsc::channel();
        let post = Post::new(
            (root::read(&home.root)?, session.blobs()),
            (session.handle().clone(), as_source("post")?),
            node,
            agents.clone(),
            posted.clone(),
            move |words| warns.say(Level::Error, "messages_undelivered", json!({ "error": words })),
        );
        let posting = spawn("post", move || post.run(&to_post))?;
        let (live, says) = (Arc::clone(live), log.clone());
        let (bus, bell) = FileBus::new(Means {
            root: home.root.clone(),
            reader: root::read(&home.root)?,
            blobs: session.blobs(),
            handle: session.handle().clone(),
            caller: as_source("bus")?,
            node,
            agents,
            settings: Box::new(move || live.settings()),
            now_ms: time::now_ms,
            tell: Box::new(move |Told { is_problem, event, about }| {
                says.say(if is_problem { Level::Warn } else { Level::Info }, event, about);
            }),
        })
        .map_err(|error| failed("open the file bus", &error))?;
        let (news, to_bus) = mpsc::channel();
        let carrying = spawn("bus", move || bus.run(&to_bus))?;
        Ok(Self { post: (posted, posting), bus: (news, bell, carrying) })
    }

    /// Takes news of the agents.
    pub(crate) fn agents(&self) -> impl Fn(&Agents) + Send + Sync + 'static {
        let (post, bus, bell) = (self.post.0.clone(), self.bus.0.clone(), self.bus.1.clone());
        move |agents| {
            // A session that has ended needs no new agents.
            let _ = post.send(post::News::Agents(agents.clone()));
            let _ = bus.send(file_bus::News::Agents(Box::new(agents.clone())));
            bell.ring();
        }
    }

    /// Ends both.
    pub(crate) fn end(self) {
        let _ = self.post.0.send(post::News::End);
        let _ = self.bus.0.send(file_bus::News::End);
        self.bus.1.ring();
        let _ = self.post.1.join();
        let _ = self.bus.2.join();
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> Result<JoinHandle<()>, Error> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map_err(|error| failed("start a thread", &error))
}

fn failed(what: &str, error: &io::Error) -> Error {
    Error::new(Code::DaemonFailed, format!("the daemon cannot {what}: {error}"))
}
