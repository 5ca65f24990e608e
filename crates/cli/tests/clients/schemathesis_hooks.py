"""What schemathesis must know of bodies of lines, which are no JSON document."""

import json

import schemathesis


@schemathesis.hook
def before_load_schema(context, raw_schema):
    """A bulk submit is a list of submits here; on the wire, each is a line."""
    content = raw_schema["paths"]["/api/v1/tasks/bulk"]["post"]["requestBody"]["content"]
    submit = {"$ref": "#/components/schemas/TaskSubmission"}
    content["application/x-ndjson"] = {"schema": {"type": "array", "items": submit}}


@schemathesis.hook
def before_call(context, case, kwargs):
    """What a schema cannot say, and no client writes: made of valid requests only, so that what is invalid stays so."""
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    case.body = plain(case.body)
    bodies = case.body if isinstance(case.body, list) else [case.body]
    for body in bodies:
        if not isinstance(body, dict):
            continue
        if isinstance(case.body, list):
            # An upload is for one submit.
            body.pop("input_hash", None)
        if isinstance(body.get("flow"), dict):
            # Whether the input is what the flow asks for is only known when both are looked at.
            body["flow"].pop("input", None)
        if case.headers and "Idempotency-Key" in case.headers:
            # One of them is enough, and two are refused.
            body.pop("key", None)
            body.pop("request_id", None)
            body.pop("new", None)


def plain(value):
    """A whole number has no fraction: to JSON Schema `1.0` is one, too. One of more than 64 bits is refused wherever it is."""
    if isinstance(value, (int, float)) and not -(2**63) <= value < 2**64:
        return 0
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, list):
        return [plain(one) for one in value]
    if isinstance(value, dict):
        return {name: plain(one) for name, one in value.items()}
    return value


@schemathesis.serializer("application/x-ndjson")
def lines(context, value):
    if isinstance(value, bytes):
        return value
    values = value if isinstance(value, list) else [value]
    return "".join(json.dumps(one) + "\n" for one in values).encode("utf-8", errors="ignore")


@schemathesis.deserializer("application/x-ndjson")
def text(context, response):
    return response.content.decode("utf-8")


@schemathesis.check
def every_line_is_answered(context, response, case):
    """A line that the document admits is accepted, or refused for what only the daemon knows: its agents, keys and flows. What it does not
    admit is tried with single submits, which have the same schema."""
    if case.operation.label != "POST /api/v1/tasks/bulk" or response.status_code != 200:
        return
    if not isinstance(case.body, list):
        return
    answers = [json.loads(line) for line in response.content.decode("utf-8").split("\n") if line]
    assert len(answers) == len(case.body), f"{len(case.body)} lines, {len(answers)} answers: {answers}"
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    for answer in answers:
        status = answer.get("error", {}).get("status", 201)
        assert status in (201, 404, 409, 422), f"a line that the document admits was refused: {answer}"
