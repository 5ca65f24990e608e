//! Locks at a daemon elsewhere.

use super::Http;
use crate::{client::Locks, error::Error};
use relaymesh_api::view::lock::{All, Held, Released, Shown};
use relaymesh_core::{
    lock::{Case, Mode},
    op::HeldLock,
};
use relaymesh_runtime::driver::LockCommand;
use serde_json::json;

impl Locks for Http<'_> {
    fn lock(&self, command: LockCommand) -> Result<Option<Held>, Error> {
        let proof = |held: HeldLock| format!("{}:{}", held.token, held.fence);
        match command {
            LockCommand::Acquire { namespace, repository, key, mode, case, holder, token, ttl_ms, purpose } => {
                let body = json!({
                    "namespace": namespace, "repository": repository, "key": key, "shared": mode == Mode::Shared,
                    "fold_case": case == Case::Folded, "holder": holder, "token": token, "ttl_ms": ttl_ms, "purpose": purpose,
                });
                self.remote.post(&["locks"], &body).map(Some)
            }
            LockCommand::Renew { namespace, repository, held, ttl_ms } => {
                let held = proof(held);
                let body = json!({ "namespace": namespace, "repository": repository, "held": held, "ttl_ms": ttl_ms });
                self.remote.post(&["locks", "renew"], &body).map(Some)
            }
            LockCommand::Release { namespace, repository, held } => {
                let body = json!({ "namespace": namespace, "repository": repository, "held": proof(held) });
                self.remote.post::<Released>(&["locks", "release"], &body).map(|_| None)
            }
        }
    }

    fn locks(&self) -> Result<Vec<Shown>, Error> {
        Ok(self.remote.get::<All>(&["locks"], &[self.namespace()])?.locks)
    }
}
