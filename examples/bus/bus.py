"""The file bus in Python: send a message and wait for its answer, or be an agent. Needs nothing but files.

usage: bus.py ROOT ask ME ID TO JSON      sends JSON to the agent TO, prints the answer
       bus.py ROOT serve ME [COUNT]       answers COUNT messages for ME with their text in capitals
"""

import json
import os
import sys
import time
from pathlib import Path


def put(root: Path, id: str, meta: dict, payload=None) -> None:
    """Under a name that begins with a dot nobody looks at a file; the rename puts it there whole. The payload goes first."""
    lane = root / "inbox" / meta.get("priority", "normal")
    for folder, end, content in [(root / "payload", "payload", payload), (lane, "meta", meta)]:
        if content is not None:
            own = folder / f".{id}"
            with open(own, "w") as file:
                json.dump(content, file)
                file.flush()
                os.fsync(file.fileno())
            os.rename(own, folder / f"{id}.{end}.json")


def receipt(root: Path, id: str) -> dict:
    """Waits until it was taken in. From then on it is in the database, and nothing loses it."""
    while True:
        for found in root.glob(f"done/*/{id}.receipt.json"):
            return json.loads(found.read_text())
        refused = root / "dead" / f"{id}.reason.json"
        if refused.exists():
            sys.exit(f"refused: {json.loads(refused.read_text())['reason']}")
        time.sleep(0.05)


def messages(root: Path, me: str):
    """Messages for me, for ever: what is to be said about each, and what it says."""
    folder = root / "processing" / me
    folder.mkdir(mode=0o700, exist_ok=True)
    seen = set()
    while True:
        for file in sorted(folder.glob("*.meta.json")):
            try:
                meta = json.loads(file.read_text())
                payload = json.loads((folder / f"{meta['id']}.payload.json").read_text())
            except FileNotFoundError:
                continue  # it was cleared away while we looked
            if meta["held"] not in seen:
                seen.add(meta["held"])
                yield meta, payload
        time.sleep(0.05)


def ask(root: Path, me: str, id: str, to: str, payload) -> None:
    inbox = messages(root, me)
    put(root, id, {"from": me, "to": to}, payload)
    sent = receipt(root, id)
    for meta, answer in inbox:
        if meta["thread"] == sent["thread"]:
            print(json.dumps(answer), flush=True)
            put(root, f"ack-{meta['id']}", {"ack": meta["held"]})
            receipt(root, f"ack-{meta['id']}")
            return


def serve(root: Path, me: str, count: int) -> None:
    for meta, payload in messages(root, me):
        id = f"re-{meta['held'].split(':')[1]}-{meta['held'].split(':')[2]}"
        put(root, id, {"reply_to": meta["held"]}, json.dumps(payload).upper())
        receipt(root, id)
        count -= 1
        if count == 0:
            return


if __name__ == "__main__":
    root, what, me, *rest = sys.argv[1:]
    if what == "ask":
        ask(Path(root), me, rest[0], rest[1], json.loads(rest[2]))
    else:
        serve(Path(root), me, int(rest[0]) if rest else 0)
