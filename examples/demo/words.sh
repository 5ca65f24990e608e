# The input comes on stdin as JSON, here {"name":"…","text":"…"}. What goes to stderr is progress.
echo "attempt $RELAYMESH_ATTEMPT of $RELAYMESH_STEP: counting" >&2
input=$(cat)
name=$(printf '%s' "$input" | sed 's/.*"name":"\([^"]*\)".*/\1/')
words=$(printf '%s' "$input" | sed 's/.*"text":"\([^"]*\)".*/\1/' | wc -w)
sleep 0.4
printf '{"name": "%s", "words": %d}\n' "$name" "$words"
