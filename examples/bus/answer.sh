#!/bin/sh
# Is an agent, with files alone: answers one message, and ends.  usage: answer.sh ROOT NAME JSON
set -eu
root=$1 name=$2 answer=$3

mkdir -p "$root/processing/$name"
while :; do
    for meta in "$root/processing/$name"/*.meta.json; do
        [ -f "$meta" ] || continue
        cat "${meta%.meta.json}.payload.json"
        # What proves that the message was given to us.
        held=$(sed -n 's/.*"held": "\([^"]*\)".*/\1/p' "$meta")
        id=answer-$(basename "$meta" .meta.json)
        printf '%s' "$answer" > "$root/payload/.$id"
        mv "$root/payload/.$id" "$root/payload/$id.payload.json"
        printf '{"reply_to": "%s"}' "$held" > "$root/inbox/normal/.$id"
        mv "$root/inbox/normal/.$id" "$root/inbox/normal/$id.meta.json"
        exit 0
    done
    sleep 0.05
done
