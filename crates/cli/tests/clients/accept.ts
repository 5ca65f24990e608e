// The acceptance script in TypeScript, with the types that openapi-typescript has made of the document of the daemon it talks to.
//
// Arguments: the URL of the daemon and a token for everything. `tsc --strict` checks that every value has the type that the document gives it.

import createClient from "openapi-fetch";
import type { components, paths } from "./schema.d.ts";

declare const process: { argv: string[] };

type Schemas = components["schemas"];

const [url, adminToken] = process.argv.slice(2) as [string, string];

function assert(condition: unknown, found: unknown): asserts condition {
  if (!condition) throw new Error(JSON.stringify(found));
}

function done<T>(answer: { data?: T; error?: unknown }): T {
  assert(answer.data !== undefined, answer.error);
  return answer.data;
}

function problem(status: number, code: string, answer: { error?: Schemas["Problem"]; response: Response }): void {
  const error: Schemas["Problem"] | undefined = answer.error;
  assert(answer.response.status === status && error?.code === code && error.status === status, error);
  assert(error.type === `/api/v1/errors/${code}`, error);
}

const connect = (token: string) => createClient<paths>({ baseUrl: url, headers: { Authorization: `Bearer ${token}` } });
const admin = connect(adminToken);

// A namespace with a description, and a token for it.
const about = "made by a generated client";
const created = done(await admin.POST("/api/v1/namespaces", { body: { name: "typescript", about } }));
assert(created.created && created.namespace === "typescript", created);
const { namespaces } = done(await admin.GET("/api/v1/namespaces"));
assert(namespaces.find((one) => one.namespace === "typescript")?.about === about, namespaces);
const token: Schemas["NewToken"] = { name: "typescript", scope: "rw", namespaces: ["typescript"] };
const made = done(await admin.POST("/api/v1/tokens", { body: token }));
const { tokens } = done(await admin.GET("/api/v1/tokens"));
assert(tokens.find((one) => one.name === "typescript")?.scope === "rw", tokens);
const client = connect(made.token);

// A task: submit, wait, read the result, list.
const task: Schemas["AgentTask"] = { agent: "echo", input: { text: "hello" }, key: "first", priority: "high" };
const submitted = done(await client.POST("/api/v1/tasks", { body: task }));
assert("merged" in submitted && !submitted.merged, submitted);
const again = done(await client.POST("/api/v1/tasks", { body: task }));
assert("merged" in again && again.merged && again.task === submitted.task, again);
const path = { id: submitted.task };
const waited = done(await client.GET("/api/v1/tasks/{id}/wait", { params: { path, query: { timeout_ms: 30_000 } } }));
assert(waited.ended && waited.status === "SUCCESS", waited);
assert(JSON.stringify(waited.result) === '{"text":"hello"}', waited.result);
const shown = done(await client.GET("/api/v1/tasks/{id}", { params: { path, query: { history: true } } }));
assert(shown.steps[0]?.priority === "high" && shown.steps[0].history?.[0]?.outcome === "SUCCESS", shown);
const listed = done(await client.GET("/api/v1/tasks", { params: { query: { status: "SUCCESS", limit: 10 } } }));
assert(listed.tasks.length === 1 && listed.tasks[0]?.task === submitted.task, listed);

// A flow.
const flow: Schemas["Flow"] = {
  name: "two",
  steps: [
    { id: "one", agent: "echo", input: 1 },
    { id: "two", agent: "echo", depends_on: ["one"], timeout: "5m" },
  ],
};
const ran = done(await client.POST("/api/v1/tasks", { params: { query: { wait_ms: 30_000 } }, body: { flow } }));
assert("ended" in ran && ran.ended && JSON.stringify(ran.result) === '{"one":1}', ran);

// A message: send, take, reply; the reply is taken and acknowledged.
const sent = done(await client.POST("/api/v1/messages", { body: { to: "anna", content: [1] } }));
assert(sent.state === "QUEUED", sent);
const take = (agent: string) => client.POST("/api/v1/inboxes/{agent}/take", { params: { path: { agent } }, body: {} });
const taken = done(await take("anna")).message;
assert(taken && taken.message === sent.message && taken.from === "typescript", taken);
done(await client.POST("/api/v1/messages/reply", { body: { held: taken.held, content: { seen: true } } }));
const reply = done(await take("typescript")).message;
assert(reply && reply.reply_to === sent.message && JSON.stringify(reply.content) === '{"seen":true}', reply);
const acknowledged = done(await client.POST("/api/v1/messages/acknowledge", { body: { held: reply.held } }));
assert(acknowledged.state === "DONE", acknowledged);

// A lock.
const lock = done(await client.POST("/api/v1/locks", { body: { key: "src/**" } }));
const { locks } = done(await client.GET("/api/v1/locks"));
assert(locks.length === 1 && locks[0]?.mode === "exclusive", locks);
problem(409, "locked", await client.POST("/api/v1/locks", { body: { key: "src/main.rs" } }));
assert(done(await client.POST("/api/v1/locks/release", { body: { held: lock.held } })).released, lock);

// Errors have a type.
problem(422, "unknown_agent", await client.POST("/api/v1/tasks", { body: { agent: "nobody" } }));
problem(409, "refused", await client.POST("/api/v1/tasks/{id}/cancel", { params: { path }, body: { reason: "late" } }));
problem(403, "forbidden", await client.GET("/api/v1/tokens"));
const missing = { id: "tsk_00000000000000000000000000" };
problem(404, "no_task", await client.GET("/api/v1/tasks/{id}", { params: { path: missing } }));

// What the document does not have does not compile.
// @ts-expect-error: there is no such status
const wrong: Schemas["TaskStatus"] = "FINISHED";
assert(wrong.length > 0, wrong);
console.log("accepted");
