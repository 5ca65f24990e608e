//! Routes: one file per resource, thin. A new resource is its module and its lines in [`versioned`].

mod agents;
mod approvals;
mod audit;
mod content;
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
    operations::{Operations, SCHEME},
    rate::Rate,
    uploads::{self, Uploads},
    waits::{Room, Waits},
};
use crate::error::{Code, Error};
use axum::{Router, middleware};
use serde_json::{Value, json};
use std::{net::IpAddr, sync::Arc};
use utoipa::OpenApi;
use utoipa_axum::{
    router::{OpenApiRouter, UtoipaMethodRouter},
    routes,
};

/// What every path begins with.
pub const BASE: &str = "/api/v1";

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
    let mut document = serde_json::to_value(others(all).to_openapi()).unwrap_or_default();
    document["components"]["securitySchemes"][SCHEME] = json!({
        "type": "http", "scheme": "bearer",
        "description": "A token from `relaymesh token create`; scopes: ro, rw, admin, agent.",
    });
    document["components"]["schemas"]["Problem"] = problem_schema();
    for (_, schema) in document["components"]["schemas"].as_object_mut().into_iter().flatten() {
        shape(schema);
    }
    for (_, item) in document["paths"].as_object_mut().into_iter().flatten() {
        for (method, operation) in item.as_object_mut().into_iter().flatten() {
            complete(method, operation);
        }
    }
    document
}

/// Says what ids and names look like, wherever they are texts.
fn shape(schema: &mut Value) {
    let parts = schema.get_mut("allOf").and_then(Value::as_array_mut);
    parts.into_iter().flatten().for_each(shape);
    let properties = schema.get_mut("properties").and_then(Value::as_object_mut);
    for (name, property) in properties.into_iter().flatten() {
        let kind = &property["type"];
        let is_text =
            kind == "string" || kind.as_array().is_some_and(|kinds| kinds.iter().any(|kind| kind == "string"));
        if let (true, Some((_, pattern))) = (is_text, FIELDS.iter().find(|(known, _)| known == name)) {
            property["pattern"] = json!(pattern);
        }
    }
}

/// What ids and names in documents look like.
const FIELDS: [(&str, &str); 12] = [
    ("namespace", NAME),
    ("agent", NAME),
    ("to", NAME),
    ("from", NAME),
    ("holder", NAME),
    ("task", "^tsk_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("thread", "^thr_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("message", "^msg_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("request_id", "^req_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("input_hash", "^[0-9a-fA-F]{64}$"),
    ("ask", "^[0-9a-fA-F]{64}$"),
    ("priority", "^(high|normal|low)$"),
];

/// What ids in addresses look like. Under `/dead`, an id may be one of three things.
const FORMS: [(&str, &str, &str); 8] = [
    ("path", "id", "^(tsk|msg|thr)_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("path", "task", "^tsk_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("query", "task", "^tsk_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("path", "thread", "^thr_[0-7][0-9A-HJKMNP-TV-Z]{25}$"),
    ("path", "hash", "^[0-9a-fA-F]{64}$"),
    ("query", "sha256", "^[0-9a-fA-F]{64}$"),
    ("path", "agent", NAME),
    ("query", "namespace", NAME),
];

/// What a name looks like.
const NAME: &str = "^[a-zA-Z0-9_][a-zA-Z0-9._-]{0,63}$";

/// Further errors of some reads.
const REFUSALS: [(&str, &str, &str); 4] = [
    ("approvals_show", "409", "refused: it does not wait for an approval"),
    ("dead_letters_list", "409", "refused: one of them has not failed"),
    ("dead_letters_list", "413", "too_long"),
    ("dead_letters_show", "409", "refused: it has not failed"),
];

/// Errors that every operation can return: refusals of the guard, and failures of the daemon.
fn complete(method: &str, operation: &mut Value) {
    let problem = |about: &str| {
        let schema = json!({ "$ref": "#/components/schemas/Problem" });
        json!({ "description": about, "content": { "application/problem+json": { "schema": schema } } })
    };
    // A name of its own: what it does, and to what.
    let (tag, verb) =
        (operation["tags"][0].as_str().unwrap_or_default(), operation["operationId"].as_str().unwrap_or_default());
    operation["operationId"] = json!(format!("{}_{verb}", tag.replace(' ', "_")));
    let parameters = operation.get_mut("parameters").and_then(Value::as_array_mut);
    for parameter in parameters.into_iter().flatten() {
        let form = FORMS.iter().find(|(place, name, _)| parameter["in"] == *place && parameter["name"] == *name);
        if let Some((.., pattern)) = form {
            parameter["schema"]["pattern"] = json!(pattern);
        }
    }
    let is_write = method != "get";
    let reads = [
        ("400", "bad_id, usage"),
        ("401", "not_authenticated"),
        ("403", "forbidden, foreign_page"),
        ("404", "not found"),
        ("421", "wrong_host"),
        ("500", "error of the store or the machine"),
        ("503", "busy, stopping, indeterminate"),
    ];
    let writes = [
        ("405", "wrong_method"),
        ("408", "too_slow"),
        ("409", "refused, changed_meanwhile"),
        ("413", "too_long"),
        ("415", "wrong_media"),
        ("422", "bad_flow, unknown_agent, key_reused"),
        ("429", "too_many"),
        ("507", "disk_full"),
    ];
    let writes = writes.into_iter().filter(|_| is_write);
    let own = REFUSALS.iter().filter(|(name, ..)| operation["operationId"] == *name);
    let own: Vec<(&str, &str)> = own.map(|(_, status, about)| (*status, *about)).collect();
    for (status, about) in reads.into_iter().chain(writes).chain(own) {
        if operation["responses"][status].is_null() {
            operation["responses"][status] = problem(about);
        }
    }
}

fn problem_schema() -> Value {
    json!({
        "type": "object", "description": "An error (RFC 9457). `code` is stable; `type` is its page.",
        "required": ["type", "title", "status", "detail", "code", "number", "hints"],
        "properties": {
            "type": { "type": "string" }, "title": { "type": "string" }, "status": { "type": "integer" },
            "detail": { "type": "string" }, "code": { "type": "string" }, "number": { "type": "string" },
            "hints": { "type": "array", "items": { "type": "string" } }, "current": {},
            "at": {
                "type": "object", "description": "Where in the body a flow in YAML is wrong.",
                "required": ["line", "column", "text"],
                "properties": { "line": { "type": "integer" }, "column": { "type": "integer" }, "text": { "type": "string" } },
            },
            "more": {
                "type": "array", "description": "Further mistakes that were found with it.",
                "items": { "type": "object", "required": ["detail", "code", "number", "hints"], "properties": {
                    "detail": { "type": "string" }, "code": { "type": "string" }, "number": { "type": "string" },
                    "hints": { "type": "array", "items": { "type": "string" } },
                } },
            },
        },
    })
}

/// Every route behind the door.
pub(super) async fn router(desk: Arc<Desk>, address: IpAddr, is_tls: bool, connections_max: usize) -> Router {
    let opened = versioned(Opened { base: BASE, routes: Router::new(), operations: Operations::default() });
    let Opened { routes, operations, .. } = others(Opened { base: "", ..opened });
    let uploads = Arc::new(Uploads::default());
    tokio::spawn(uploads::sweep(Arc::clone(&uploads), Arc::clone(&desk)));
    let house = Arc::new(House {
        keys: Keys::new(desk.root.clone()),
        operations,
        rate: Rate::default(),
        waits: Waits::default(),
        room: Room::new(connections_max),
        under_way: UnderWay::default(),
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
