"""The acceptance script in Python, with a client that openapi-python-client has made of the document of the daemon it talks to.

Arguments: the URL of the daemon and a token for everything. Every value has the type that the document gives it.
"""

import sys

from relaymesh_client import AuthenticatedClient, models
from relaymesh_client.api.locks import locks_acquire, locks_list, locks_release
from relaymesh_client.api.messages import messages_acknowledge, messages_reply, messages_send, messages_take
from relaymesh_client.api.namespaces import namespaces_create, namespaces_list
from relaymesh_client.api.tasks import tasks_cancel, tasks_list, tasks_show, tasks_submit, tasks_wait
from relaymesh_client.api.tokens import tokens_create, tokens_list

url, admin_token = sys.argv[1:]


def expect(kind, found):
    assert isinstance(found, kind), f"{kind.__name__} is expected: {found}"
    return found


def problem(status, code, found):
    assert found.status_code == status, found
    error = expect(models.Problem, found.parsed)
    assert (error.code, error.status) == (code, status), error
    assert error.type_ == f"/api/v1/errors/{code}", error
    return error


admin = AuthenticatedClient(base_url=url, token=admin_token)

# A namespace with a description, and a token for it.
created = expect(
    models.CreatedNamespace,
    namespaces_create.sync(client=admin, body=models.NewNamespace(name="python", about="made by a generated client")),
)
assert created.created and created.namespace == "python"
namespaces = expect(models.NamespaceList, namespaces_list.sync(client=admin)).namespaces
assert [n.about for n in namespaces if n.namespace == "python"] == ["made by a generated client"], namespaces
made = expect(
    models.CreatedToken,
    tokens_create.sync(
        client=admin, body=models.NewToken(name="python", scope=models.TokenScope.RW, namespaces=["python"])
    ),
)
tokens = expect(models.TokenList, tokens_list.sync(client=admin)).tokens
assert [t.scope for t in tokens if t.name == "python"] == [models.TokenScope.RW], tokens
client = AuthenticatedClient(base_url=url, token=made.token)

# A task: submit, wait, read the result, list.
task = models.AgentTask(agent="echo", input_={"text": "hello"}, key="first", priority=models.Priority.HIGH)
accepted = expect(models.AcceptedTask, tasks_submit.sync(client=client, body=task))
again = expect(models.AcceptedTask, tasks_submit.sync(client=client, body=task))
assert (again.task, again.merged) == (accepted.task, True), again
waited = expect(models.WaitedTask, tasks_wait.sync(accepted.task, client=client, timeout_ms=30_000))
assert waited.ended and waited.status is models.TaskStatus.SUCCESS, waited
assert waited.result == {"text": "hello"}, waited.result
shown = expect(models.Task, tasks_show.sync(accepted.task, client=client, history=True))
assert shown.steps[0].priority is models.Priority.HIGH and shown.steps[0].agent == "echo", shown
assert shown.steps[0].history[0].outcome is models.AttemptOutcome.SUCCESS, shown.steps
listed = expect(models.TaskPage, tasks_list.sync(client=client, status=models.TaskStatus.SUCCESS, limit=10))
assert [t.task for t in listed.tasks] == [accepted.task], listed

# A flow.
flow = models.Flow(
    name="two",
    steps=[
        models.FlowStep(id="one", agent="echo", input_=1),
        models.FlowStep(id="two", agent="echo", depends_on=["one"], timeout="5m"),
    ],
)
waited = expect(models.WaitedTask, tasks_submit.sync(client=client, body=models.FlowTask(flow=flow), wait_ms=30_000))
assert waited.ended and waited.result == {"one": 1}, waited

# A message: send, take, reply; the reply is taken and acknowledged.
sent = expect(models.MessageReceipt, messages_send.sync(client=client, body=models.NewMessage(to="anna", content=[1])))
assert sent.state is models.MessageState.QUEUED, sent
taken = expect(models.TakenMessage, messages_take.sync("anna", client=client, body=models.TakeRequest())).message
assert (taken.message, taken.content, taken.from_) == (sent.message, [1], "python"), taken
reply = models.MessageReply(held=taken.held, content={"seen": True})
expect(models.ReplyReceipt, messages_reply.sync(client=client, body=reply))
answer = expect(models.TakenMessage, messages_take.sync("python", client=client, body=models.TakeRequest())).message
assert (answer.reply_to, answer.content) == (sent.message, {"seen": True}), answer
done = messages_acknowledge.sync(client=client, body=models.MessageAcknowledgement(held=answer.held))
assert expect(models.MessageReceipt, done).state is models.MessageState.DONE, done

# A lock.
lock = expect(models.AcquiredLock, locks_acquire.sync(client=client, body=models.LockRequest(key="src/**")))
held = expect(models.LockList, locks_list.sync(client=client)).locks
assert [(one.key, one.mode) for one in held] == [("src/**", models.LockMode.EXCLUSIVE)], held
problem(409, "locked", locks_acquire.sync_detailed(client=client, body=models.LockRequest(key="src/main.rs")))
assert expect(models.ReleasedLock, locks_release.sync(client=client, body=models.LockProof(held=lock.held))).released

# Errors have a type.
problem(422, "unknown_agent", tasks_submit.sync_detailed(client=client, body=models.AgentTask(agent="nobody")))
problem(409, "refused", tasks_cancel.sync_detailed(accepted.task, client=client, body=models.TaskChange(reason="late")))
problem(403, "forbidden", tokens_list.sync_detailed(client=client))
missing = "tsk_00000000000000000000000000"
problem(404, "no_task", tasks_show.sync_detailed(missing, client=client))
print("accepted")
