//! What the door knows of each operation, read from the operation's own definition.
//!
//! A list of routes beside the routes would be forgotten one day, and the route that is not in it would be open. So the document that is
//! made from the definitions is the list: an operation without a scope needs `admin`, and one without a body takes JSON.

use axum::http::Method;
use relaymesh_runtime::token::Scope;
use serde_json::Value;

/// The name of the security scheme in the document.
pub(super) const SCHEME: &str = "token";

/// What the door knows of one operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Operation {
    /// Which scopes suffice; none: it is open to everybody.
    pub(super) scopes: Option<Vec<Scope>>,
    /// Which forms of body it takes.
    pub(super) media: Vec<String>,
    /// Which parameters its query string may have.
    pub(super) query: Vec<String>,
}

/// One route: its path as the document writes it, and what is known of each of its methods.
#[derive(Debug)]
pub(super) struct Route {
    /// `/api/v1/tasks/{id}`.
    pub(super) path: String,
    methods: Vec<(Method, Operation)>,
}

/// All operations, by path and method.
#[derive(Debug, Default)]
pub(super) struct Operations(Vec<Route>);

impl Operations {
    /// Adds those of a path, as the document has them.
    pub(super) fn add(&mut self, path: &str, item: &Value) {
        let known = item.as_object().into_iter().flatten().filter_map(|(method, operation)| {
            let method = Method::from_bytes(method.to_ascii_uppercase().as_bytes()).ok()?;
            Some((method, Operation::of(operation)))
        });
        if let Some(route) = self.0.iter_mut().find(|route| route.path == path) {
            route.methods.extend(known);
            return;
        }
        // A route without names is meant before one with: `/tasks/bulk` is no id.
        let names = |path: &str| path.matches('{').count();
        let place = self.0.partition_point(|route| names(&route.path) <= names(path));
        self.0.insert(place, Route { path: path.to_owned(), methods: known.collect() });
    }

    /// Those of the document.
    pub(super) fn of(document: &Value) -> Self {
        let mut all = Self::default();
        document["paths"].as_object().into_iter().flatten().for_each(|(path, item)| all.add(path, item));
        all
    }

    /// The route of this path. What is found here and what the router finds must be the same; so what is not found here goes no further.
    pub(super) fn route(&self, path: &str) -> Option<&Route> {
        self.0.iter().find(|route| route.is_of(path))
    }
}

impl Route {
    fn is_of(&self, path: &str) -> bool {
        let fits =
            |(known, found): (&str, &str)| if known.starts_with('{') { !found.is_empty() } else { known == found };
        let (known, found) = (self.path.split('/'), path.split('/'));
        known.clone().count() == found.clone().count() && known.zip(found).all(fits)
    }

    /// The operation of this method; HEAD is treated as GET.
    pub(super) fn find(&self, method: &Method) -> Option<&Operation> {
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        self.methods.iter().find(|(known, _)| known == method).map(|(_, operation)| operation)
    }

    /// Its methods, for the `Allow` header.
    pub(super) fn allowed(&self) -> String {
        self.methods.iter().map(|(method, _)| method.as_str()).collect::<Vec<_>>().join(", ")
    }
}

impl Operation {
    fn of(operation: &Value) -> Self {
        let media = operation["requestBody"]["content"].as_object();
        let media = media.map(|content| content.keys().cloned().collect());
        let parameters = operation["parameters"].as_array().into_iter().flatten();
        let query = parameters.filter(|parameter| parameter["in"] == "query");
        Self {
            scopes: scopes(operation),
            media: media.unwrap_or_else(|| vec!["application/json".to_owned()]),
            query: query.filter_map(|parameter| parameter["name"].as_str().map(str::to_owned)).collect(),
        }
    }
}

/// An empty list of requirements says that everybody may; no list at all, or one that nobody understands, that an admin may.
fn scopes(operation: &Value) -> Option<Vec<Scope>> {
    let Some(security) = operation["security"].as_array() else { return Some(vec![Scope::Admin]) };
    if security.iter().any(|way| way.as_object().is_some_and(serde_json::Map::is_empty)) {
        return None;
    }
    let named = security.iter().filter_map(|way| way[SCHEME].as_array()).flatten();
    let found: Vec<Scope> = named.filter_map(|scope| scope.as_str()?.parse().ok()).collect();
    Some(if found.is_empty() { vec![Scope::Admin] } else { found })
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn what_is_not_said_is_closed() {
        let document = json!({ "paths": { "/a": {
            "get": { "security": [{ "token": ["ro"] }],
                     "parameters": [{ "in": "path", "name": "id" }, { "in": "query", "name": "limit" }] },
            "post": { "security": [{ "token": ["rw"] }, { "token": ["agent"] }],
                      "requestBody": { "content": { "application/x-ndjson": {} } } },
            "put": {}, "delete": { "security": [] }, "patch": { "security": [{ "token": ["nonsense"] }] },
            "head": { "security": [{}] },
        } } });
        let all = Operations::of(&document);
        let route = all.route("/a").unwrap();
        let scopes = |method: Method| route.find(&method).map(|operation| operation.scopes.clone());
        assert_eq!(scopes(Method::GET), Some(Some(vec![Scope::Ro])));
        assert_eq!(scopes(Method::POST), Some(Some(vec![Scope::Rw, Scope::Agent])));
        assert_eq!(scopes(Method::PUT), Some(Some(vec![Scope::Admin])));
        assert_eq!(scopes(Method::DELETE), Some(Some(vec![Scope::Admin])));
        assert_eq!(scopes(Method::PATCH), Some(Some(vec![Scope::Admin])));
        assert_eq!(scopes(Method::HEAD), Some(Some(vec![Scope::Ro])), "headers alone are as closed as the whole");
        assert_eq!(route.find(&Method::POST).unwrap().media, ["application/x-ndjson"]);
        assert_eq!(route.find(&Method::PUT).unwrap().media, ["application/json"]);
        assert_eq!(scopes(Method::TRACE), None);
        assert_eq!(route.find(&Method::GET).unwrap().query, ["limit"]);
        assert!(route.find(&Method::PUT).unwrap().query.is_empty());
    }

    #[test]
    fn a_path_is_of_one_route_and_literally() {
        let paths = ["/v1/tasks/{id}", "/v1/tasks/bulk", "/v1/tasks", "/v1/tasks/{id}/wait"];
        let document = json!({ "paths": paths.iter().map(|path| ((*path).to_owned(), json!({}))).collect::<serde_json::Map<_, _>>() });
        let all = Operations::of(&document);
        let table = [
            ("/v1/tasks", Some("/v1/tasks")),
            ("/v1/tasks/bulk", Some("/v1/tasks/bulk")),
            ("/v1/tasks/tsk_1", Some("/v1/tasks/{id}")),
            ("/v1/tasks/%62ulk", Some("/v1/tasks/{id}")),
            ("/v1/tasks/tsk_1/wait", Some("/v1/tasks/{id}/wait")),
            ("/v1/tasks/", None),
            ("/v1/tasks//wait", None),
            ("//v1/tasks", None),
            ("/v1/tasks/tsk_1/", None),
            ("/V1/tasks", None),
            ("/v1/tasks/../tasks", Some("/v1/tasks/{id}/wait")),
            ("*", None),
        ];
        for (path, expected) in table {
            let expected = if path == "/v1/tasks/../tasks" { None } else { expected };
            assert_eq!(all.route(path).map(|route| route.path.as_str()), expected, "{path}");
        }
    }
}
