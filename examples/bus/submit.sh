#!/bin/sh
# Has an agent do something, with files alone.  usage: submit.sh ROOT ID AGENT JSON
# The same ID again is the same task. Prints the receipt, or the reason why there is none.
set -eu
root=$1 id=$2 agent=$3 json=$4

# Under a name that begins with a dot nobody looks at it; the rename puts it there whole. The payload goes first.
printf '%s' "$json" > "$root/payload/.$id"
mv "$root/payload/.$id" "$root/payload/$id.payload.json"
printf '{"agent": "%s"}' "$agent" > "$root/inbox/normal/.$id"
mv "$root/inbox/normal/.$id" "$root/inbox/normal/$id.meta.json"

while :; do
    for receipt in "$root"/done/*/"$id.receipt.json"; do
        if [ -f "$receipt" ]; then cat "$receipt"; exit 0; fi
    done
    if [ -f "$root/dead/$id.reason.json" ]; then cat "$root/dead/$id.reason.json"; exit 1; fi
    sleep 0.05
done
