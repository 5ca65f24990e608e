//! Routes: one file per resource, thin. A new resource is its module and its lines in [`versioned`].

mod agents;
mod approvals;
mod audit;
pub(super) mod content;
mod dead;
mod events;
mod flows;
mod health;
mod locks;
mod messages;
mod namespaces;
mod settings;
mod steps;
pub(super) mod tasks;
mod tokens;

use super::{
    bulk::UnderWay,
    desk::Desk,
    events::Feed,
    guard::{self, House},
    keys::Keys,
    operations::Operations,
    rate::Rate,
    unread::Unread,
    uploads::{self, Uploads},
    waits::{Room, Waits},
};
use crate::error::{Code, Error};
use axum::{Router, middleware};
use serde_json::Value;
use std::{net::IpAddr, sync::Arc};
use utoipa::OpenApi;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

/// What every path begins with.
pub const BASE: &str = "/api/v1";

/// Tasks of one page.
pub(super) const TASKS_MAX: u64 = 500;
/// Ops of one page of the audit.
pub(super) const AUDIT_MAX: u64 = 500;
/// Messages of one priority in one answer.
pub(super) const INBOX_MAX: u64 = 200;
/// The longest wait of one request.
pub(super) const WAIT_MS_MAX: u64 = 60_000;

type State = axum::extract::State<Arc<House>>;
type Who = axum::Extension<super::principal::Principal>;
/// How a request came in, for operations that need no token.
type Came = axum::Extension<Arc<relaymesh_core::op::Via>>;
type Answered = Result<super::json::Said, super::problem::Problem>;

#[derive(OpenApi)]
#[openapi(info(
    title = "RelayMesh",
    description = "A durable, local-first runtime for AI agents. A write is acknowledged when it is durable. Every operation \
                   names the scope that its token needs; errors are problem+json with a stable code."
))]
struct Document;

/// Takes routes, each with its definition.
trait Takes: Sized {
    /// One more.
    fn routes(self, route: UtoipaMethodRouter<Arc<House>>) -> Self;
}

/// For the document.
impl Takes for OpenApiRouter<Arc<House>> {
    fn routes(self, route: UtoipaMethodRouter<Arc<House>>) -> Self {
        Self::routes(self, route)
    }
}

/// For the daemon: of each definition only what the door must know is kept. All of them at once would take megabytes for as long as it runs.
struct Opened {
    base: &'static str,
    routes: Router<Arc<House>>,
    operations: Operations,
}

impl Takes for Opened {
    fn routes(mut self, (_, paths, methods): UtoipaMethodRouter<Arc<House>>) -> Self {
        for (path, item) in paths.paths {
            let path = format!("{}{path}", self.base);
            self.operations.add(&path, &serde_json::to_value(item).unwrap_or_default());
            self.routes = self.routes.route(&path, methods.clone());
        }
        self
    }
}

/// Every route below [`BASE`].
fn versioned<T: Takes>(to: T) -> T {
    to.routes(routes!(health::live))
        .routes(routes!(health::ready))
        .routes(routes!(health::status))
        .routes(routes!(health::openapi))
        .routes(routes!(health::explain))
        .routes(routes!(tasks::list, tasks::submit))
        .routes(routes!(tasks::bulk))
        .routes(routes!(tasks::show))
        .routes(routes!(tasks::wait))
        .routes(routes!(tasks::export))
        .routes(routes!(tasks::cancel))
        .routes(routes!(tasks::retry))
        .routes(routes!(tasks::purge))
        .routes(routes!(steps::show))
        .routes(routes!(steps::attempts))
        .routes(routes!(steps::logs))
        .routes(routes!(steps::claim))
        .routes(routes!(steps::heartbeat))
        .routes(routes!(steps::finish))
        .routes(routes!(flows::check))
        .routes(routes!(flows::submit))
        .routes(routes!(messages::send))
        .routes(routes!(messages::inbox))
        .routes(routes!(messages::take))
        .routes(routes!(messages::acknowledge))
        .routes(routes!(messages::reply))
        .routes(routes!(messages::fail))
        .routes(routes!(messages::redrive))
        .routes(routes!(messages::thread))
        .routes(routes!(agents::list))
        .routes(routes!(agents::register))
        .routes(routes!(approvals::list))
        .routes(routes!(approvals::show))
        .routes(routes!(approvals::decide))
        .routes(routes!(dead::list))
        .routes(routes!(dead::show))
        .routes(routes!(dead::redrive))
        .routes(routes!(dead::purge))
        .routes(routes!(locks::list, locks::acquire))
        .routes(routes!(locks::renew))
        .routes(routes!(locks::release))
        .routes(routes!(namespaces::list, namespaces::create))
        .routes(routes!(settings::show, settings::update))
        .routes(routes!(settings::history))
        .routes(routes!(audit::query))
        .routes(routes!(audit::fenced))
        .routes(routes!(content::download))
        .routes(routes!(content::upload))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::rotate))
        .routes(routes!(tokens::revoke))
        .routes(routes!(tokens::exchange))
        .routes(routes!(events::follow))
}

/// Every other route: metrics are where everybody looks for them.
fn others<T: Takes>(to: T) -> T {
    to.routes(routes!(health::metrics))
}

/// The OpenAPI document, made from the definitions of all routes.
pub fn document() -> Value {
    let all = OpenApiRouter::with_openapi(Document::openapi()).nest(BASE, versioned(OpenApiRouter::new()));
    super::document::finish(serde_json::to_value(others(all).to_openapi()).unwrap_or_default())
}

/// Every schema that a route names, with the name that it has.
#[cfg(test)]
pub(super) fn schemas() -> Vec<(String, Value)> {
    #[derive(Default)]
    struct Named(Vec<(String, Value)>);
    impl Takes for Named {
        fn routes(mut self, (schemas, ..): UtoipaMethodRouter<Arc<House>>) -> Self {
            let named =
                schemas.into_iter().map(|(name, schema)| (name, serde_json::to_value(schema).unwrap_or_default()));
            self.0.extend(named);
            self
        }
    }
    others(versioned(Named::default())).0
}

/// Every route behind the door.
pub(super) async fn router(desk: Arc<Desk>, address: IpAddr, is_tls: bool, connections_max: usize) -> Router {
    let opened = versioned(Opened { base: BASE, routes: Router::new(), operations: Operations::default() });
    let Opened { routes, operations, .. } = others(Opened { base: "", ..opened });
    let uploads = Arc::new(Uploads::default());
    tokio::spawn(uploads::sweep(Arc::clone(&uploads), Arc::clone(&desk)));
    let house = Arc::new(House {
        keys: Keys::new(desk.root.clone(), Arc::clone(&desk.clock)),
        operations,
        rate: Rate::default(),
        waits: Waits::default(),
        room: Room::new(connections_max),
        under_way: UnderWay::default(),
        unread: Unread::default(),
        uploads,
        feed: Feed::start(&desk).await,
        desk,
        address,
        is_tls,
    });
    // The door stands before the router, not behind it: it decides what is routed at all.
    let behind = routes.with_state(Arc::clone(&house));
    Router::new().fallback_service(behind).layer(middleware::from_fn_with_state(house, guard::guard))
}

/// An id in a path or a query.
fn id<T: std::str::FromStr<Err: std::fmt::Display>>(text: &str) -> Result<T, Error> {
    text.parse().map_err(|error: T::Err| {
        let shown: String = error.to_string().chars().filter(|c| !c.is_control()).take(200).collect();
        Error::new(Code::BadId, shown)
    })
}

fn unexpected() -> Error {
    Error::new(Code::Internal, "unexpected answer from the driver")
}
