#!/bin/sh
# Puts new containers in the place of those that run, with docker-compose.yml, .env and the images as they are now. No request is lost: the new ones
# are healthy before the old ones are told to end, and those finish what is active. From the project's folder:
#
#   docker compose build && deploy/rolling-restart.sh [SERVICE ...]      what runs of inference, its standby, its GPU service, api and the services
#                                                                        behind the queue, if none is named
#
# Each service gets as many new containers as it has healthy ones, or as it has at all if none is healthy. If the new ones do not become healthy,
# they are removed, the old ones go on, and the exit code is 1. COMPOSE="docker-compose" where Compose is that older program.
set -eu
compose=${COMPOSE:-docker compose}
# Without it Compose does not know these services.
export COMPOSE_PROFILES=standby,gpu,services
# The service whose new containers are on trial, and the ids of its old ones.
trial=
old=

say() { echo "rolling-restart: $*" >&2; }

# Those of a service, also if they have ended, but not those of `compose run`.
containers() {
  ids=$($compose ps --all --quiet "$1")
  for id in $ids; do
    oneoff=$(docker inspect --format '{{index .Config.Labels "com.docker.compose.oneoff"}}' "$id")
    [ "$oneoff" = True ] || echo "$id"
  done
}

healthy() {
  for id; do
    state=$(docker inspect --format '{{.State.Status}} {{with .State.Health}}{{.Status}}{{end}}' "$id")
    [ "$state" != "running healthy" ] || echo "$id"
  done
}

# One that has ended would only end again.
restarted() {
  for id; do
    [ "$(docker inspect --format '{{.RestartCount}}' "$id")" = 0 ] || return 0
  done
  return 1
}

new_ones() { containers "$trial" | grep -vF "$old" || true; }

undo() {
  [ -n "$trial" ] || return 0
  for id in $(new_ones); do docker rm --force "$id" >/dev/null; done
  trial=
}

fail() {
  for id in $(new_ones); do docker logs --tail 3 "$id" 2>&1 | cut -c 1-500 >&2; done
  undo
  say "$1; its new containers are removed, the old ones go on"
  exit 1
}

roll() {
  service=$1
  old=$(containers "$service")
  if [ -z "$old" ]; then
    say "$service has no container; skipped"
    return
  fi
  # shellcheck disable=SC2086
  well=$(healthy $old)
  # shellcheck disable=SC2086
  set -- ${well:-$old}
  count=$#
  # shellcheck disable=SC2086
  set -- $old
  say "$service: $count new for $# old"
  trial=$service
  $compose up --detach --no-build --no-deps --no-recreate --scale "$service=$(($# + count))" "$service" ||
    fail "Compose could not start $service"
  new=$(new_ones)
  tries=120
  # shellcheck disable=SC2086
  until [ "$(healthy $new | grep -c .)" = "$count" ]; do
    tries=$((tries - 1))
    [ $tries -gt 0 ] || fail "$service is not healthy after two minutes"
    # shellcheck disable=SC2086
    ! restarted $new || fail "$service ends right after its start"
    sleep 1
  done
  # haproxy asks for the addresses once a second, and checks a new one every 500 ms.
  sleep 3
  trial=
  # shellcheck disable=SC2086
  docker stop --time 60 $old >/dev/null
  # shellcheck disable=SC2086
  docker rm $old >/dev/null
  rolled="$rolled $service ($count)"
}

trap undo EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
rolled=
[ $# -gt 0 ] || set -- inference inference-standby inference-gpu api service
for name; do roll "$name"; done
if [ -z "$rolled" ]; then
  say "nothing runs here. Start it: $compose up --detach"
  exit 1
fi
say "done:$rolled"
