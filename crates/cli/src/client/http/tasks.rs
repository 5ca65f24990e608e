//! Tasks of a daemon elsewhere.

use super::Http;
use crate::{
    client::{Change, Listed, Out, Stream, Submission, Tasks},
    error::{Code, Error},
    progress::Progress,
    remote::{self, Remote},
    view::Shown,
};
use relaymesh_agents::Agents;
use relaymesh_api::view::{
    Accepted, Changed, LogPart, Page, Reference, Results, ShownStep, Summary,
    asked::{self, Decided},
};
use relaymesh_core::{
    id::{RequestId, TaskId},
    name::Name,
    op::CancelMode,
    task::{Status, key::GivenKey, request::Request, spec::IdempotencyKey},
};
use serde::Serialize;
use serde_json::{Value, json};

/// The body of a submit.
#[derive(Serialize)]
struct Body<'a> {
    namespace: &'a Name,
    flow: &'a Request,
    #[serde(skip_serializing_if = "Option::is_none")]
    input: Option<&'a Value>,
    #[serde(skip_serializing_if = "Option::is_none")]
    key: Option<&'a GivenKey>,
    #[serde(skip_serializing_if = "Option::is_none")]
    request_id: Option<RequestId>,
}

/// Tasks that are asked for at once.
const PAGE: usize = 500;

impl Http<'_> {
    fn page(&self, status: Option<Status>, limit: usize, cursor: Option<String>) -> Result<Page, Error> {
        let query = [
            self.namespace(),
            ("status", status.map(|status| status.to_string())),
            ("limit", Some(limit.to_string())),
            ("cursor", cursor),
        ];
        self.remote.get(&["tasks"], &query)
    }
}

impl Http<'_> {
    /// The bytes that an answer names, of this task or thread.
    pub(super) fn bytes(&self, named: &Reference, owner: (&str, Option<String>)) -> Result<Vec<u8>, Error> {
        let mut all = Vec::new();
        let mut out = |bytes: &[u8]| {
            all.extend_from_slice(bytes);
            Ok(())
        };
        self.remote.parts(&["content", &named.hash.to_string()], &[owner], &mut out)?;
        Ok(all)
    }
}

impl Tasks for Http<'_> {
    fn known(&self) -> Result<Option<&Agents>, Error> {
        Ok(None)
    }

    fn submit(&self, submission: &Submission) -> Result<Accepted, Error> {
        self.remote.post_bytes(&["tasks"], body(submission)?)
    }

    fn change(&self, task: TaskId, change: &Change) -> Result<Changed, Error> {
        let id = task.to_string();
        match change {
            Change::Cancel { mode, reason } => {
                let body = json!({ "soft": *mode == CancelMode::Soft, "reason": reason });
                self.remote.post(&["tasks", &id, "cancel"], &body)
            }
            Change::Redrive { reason } => redrive(self.remote, task, reason),
            Change::Decide { step, ask, denied } => {
                let body = json!({ "ask": ask, "approve": denied.is_none(), "reason": denied });
                let Decided { task, status, .. } = self.remote.post(&["approvals", &id, step.as_str()], &body)?;
                Ok(Changed { task, status })
            }
        }
    }

    fn find(&self, text: &str) -> Result<TaskId, Error> {
        remote::task(self.remote, self.context, text)
    }

    fn task(&self, task: TaskId, history: bool) -> Result<Shown, Error> {
        self.remote.get(&["tasks", &task.to_string()], &[("history", history.then(|| history.to_string()))])
    }

    fn task_json(&self, task: TaskId, history: bool, results: Results, out: &mut Out<'_>) -> Result<(), Error> {
        let results = serde_json::to_value(results).ok().and_then(|name| name.as_str().map(str::to_owned));
        let query = [("history", history.then(|| history.to_string())), ("results", results)];
        self.remote.parts(&["tasks", &task.to_string()], &query, out)
    }

    fn content(&self, task: TaskId, named: &Reference) -> Result<Vec<u8>, Error> {
        self.bytes(named, ("task", Some(task.to_string())))
    }

    fn asked(&self, task: TaskId, step: &str) -> Result<asked::Shown, Error> {
        let mut asked: asked::Shown = self.remote.get(&["approvals", &task.to_string(), step], &[])?;
        if let Some(named) = asked.input_ref.take() {
            let bytes = self.content(task, &named)?;
            asked.input = serde_json::from_slice(&bytes).unwrap_or_default();
        }
        Ok(asked)
    }

    fn tasks(&self, wanted: &Listed<'_>) -> Result<(Vec<Summary>, Option<TaskId>), Error> {
        let mut cursor = match wanted.before {
            Some(text) if text.parse::<u64>().is_ok() => Some(text.to_owned()),
            Some(text) => Some(self.find(text)?.to_string()),
            None => None,
        };
        let mut found: Vec<Summary> = Vec::new();
        loop {
            let limit = (wanted.limit - found.len()).clamp(1, PAGE);
            let page = self.page(wanted.status, limit, cursor)?;
            found.extend(page.tasks);
            cursor = page.next.map(|next| next.to_string());
            if cursor.is_none() || found.len() >= wanted.limit {
                let last = found.last().map(|task| task.task).filter(|_| cursor.is_some());
                return Ok((found, last));
            }
        }
    }

    fn export(&self, task: TaskId, out: &mut Out<'_>) -> Result<(), Error> {
        self.remote.parts(&["tasks", &task.to_string(), "export"], &[], out)
    }

    fn export_all(&self, out: &mut Out<'_>) -> Result<(), Error> {
        let (mut all, mut cursor, mut is_last) = (Vec::new(), None, false);
        while !is_last {
            let page = self.page(None, PAGE, cursor)?;
            all.extend(page.tasks.iter().map(|task| task.task));
            cursor = page.next.map(|next| next.to_string());
            is_last = cursor.is_none();
        }
        let mut progress = Progress::new("exported:", all.len() as u64);
        // Lists begin with the newest.
        for (done, task) in (1..).zip(all.into_iter().rev()) {
            self.export(task, out)?;
            out(b"\n")?;
            progress.tell(done);
        }
        Ok(())
    }

    fn step(&self, task: TaskId, text: &str) -> Result<u16, Error> {
        Ok(self.remote.get::<ShownStep>(&["tasks", &task.to_string(), "steps", text], &[])?.index)
    }

    fn written(
        &self,
        task: TaskId,
        (step, epoch): (&Name, u32),
        stream: Stream,
        from: u64,
    ) -> Result<Option<(u64, Vec<u8>)>, Error> {
        let query = [
            ("epoch", Some(epoch.to_string())),
            ("stream", Some(stream.as_str().to_owned())),
            ("offset", Some(from.to_string())),
        ];
        let path = ["tasks", &task.to_string(), "steps", step.as_str(), "logs"];
        let part: LogPart = self.remote.get(&path, &query)?;
        Ok((part.next > from).then(|| (part.next, part.text.into_bytes())))
    }

    fn approvals(&self) -> Result<Vec<asked::Shown>, Error> {
        Ok(self.remote.get::<asked::All>(&["approvals"], &[self.namespace()])?.approvals)
    }
}

pub(super) fn redrive(remote: &Remote, task: TaskId, reason: &str) -> Result<Changed, Error> {
    remote.post(&["tasks", &task.to_string(), "retry"], &json!({ "reason": reason }))
}

/// The request, encoded once.
pub(super) fn body(submission: &Submission) -> Result<Vec<u8>, Error> {
    let Submission { namespace, request, key, .. } = submission;
    let (key, request_id) = match key {
        None | Some(IdempotencyKey::Request(_)) => (None, None),
        Some(IdempotencyKey::Given(key)) => (Some(key), None),
        Some(IdempotencyKey::RequestId(id)) => (None, Some(*id)),
    };
    let body = Body { namespace, flow: request, input: request.given.as_ref(), key, request_id };
    serde_json::to_vec(&body).map_err(|error| Error::new(Code::Internal, error.to_string()))
}
