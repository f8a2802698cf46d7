# A data set: writes conversations, one JSON object a line, in a format that the
# manifest names. A frame to copy, for any POSIX shell.

read -r hello
echo '{"aiperf": 1, "kind": "dataset", "name": "reviews", "version": "1.0"}'

read -r question # {"conversations": {"entries": 10, "seed": 42}, "id": 1}
entries=${question#*'"entries":'}
entries=${entries%%[!0-9]*}
[ "$entries" -gt 0 ] || entries=20

n=0
while [ "$n" -lt "$entries" ]; do
	n=$((n + 1))
	printf '{"id": 1, "conversation": {"session_id": "review-%d", "turns": [' "$n"
	printf '{"text": "Summarize the review of product %d: it works well, but it is loud.", "output_length": 8}, ' "$n"
	printf '{"text": "Is it recommended?", "output_length": 4}]}}\n'
done
echo '{"id": 1, "done": true}'
