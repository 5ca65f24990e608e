# The result of a step is what it writes to stdout: here a list, of which each item is counted by a step of its own.
echo "looking for texts" >&2
cat <<'JSON'
[
  {"name": "start", "text": "A relay is won at the hand-over, not on the straight"},
  {"name": "first", "text": "The first runner leaves before anybody has looked up"},
  {"name": "second", "text": "The second one waits with an open hand, looks back once, and is gone before the crowd has understood that the lead has changed"},
  {"name": "third", "text": "In the third leg it rains"},
  {"name": "last", "text": "Whoever runs last carries what all the others did, and if she falls, the baton lies where it fell until somebody picks it up"}
]
JSON
