#!/bin/bash
# One whole service in one container: API and inference, and their own place in the Redis that they share with others. If one of them ends, so does the
# container, and its engine starts both again. With arguments it runs that command with the same settings:
#
#   docker exec CONTAINER ./service.sh node dist/api/operations/status/main.js
set -u
export ASR_KEY_PREFIX="{asr-$HOSTNAME}"
[ $# -eq 0 ] || exec "$@"

# The token is not inference's to know.
env -u ASR_API_TOKEN node dist/inference/main.js &
inference=$!
node dist/api/main.js &
api=$!
asked=
trap 'asked=1; kill "$api"' TERM INT

wait -n
ended=$?
# The API first: what is active there needs inference to its end.
[ -n "$asked" ] || kill "$api" 2>/dev/null
wait "$api"
api_ended=$?
kill "$inference" 2>/dev/null
wait "$inference"
inference_ended=$?
[ -n "$asked" ] || exit $((ended == 0 ? 1 : ended))
exit $((api_ended == 0 ? inference_ended : api_ended))
