#!/bin/sh
# Puts new containers in the place of those that run, with docker-compose.yml, .env and the images as they are now. No request is lost: the new ones
# are healthy before the old ones are told to end, and those finish what is active. From the project's folder:
#
#   docker compose build && deploy/rolling-restart.sh [SERVICE ...]      inference, then api, when none is named
#
# COMPOSE="docker-compose" where Compose is that older program.
set -eu
compose=${COMPOSE:-docker compose}

healthy() {
  for id in "$@"; do
    [ "$(docker inspect --format '{{.State.Health.Status}}' "$id")" = healthy ] || return 1
  done
}

roll() {
  old=$($compose ps -q "$1")
  count=$(echo "$old" | grep -c .)
  $compose up --detach --no-build --no-deps --no-recreate --scale "$1=$((2 * count))" "$1"
  new=$($compose ps -q "$1" | grep -vF "$old")
  tries=120
  # shellcheck disable=SC2086 # a list of ids
  until healthy $new; do
    tries=$((tries - 1))
    if [ $tries = 0 ]; then
      echo "the new containers of $1 are not healthy; the old ones go on. See: $compose logs $1" >&2
      exit 1
    fi
    sleep 1
  done
  # haproxy asks for the addresses once a second, and checks a new one every 500 ms.
  sleep 3
  # shellcheck disable=SC2086
  docker stop --time 60 $old
  # shellcheck disable=SC2086
  docker rm $old
}

[ $# -gt 0 ] || set -- inference api
for service; do roll "$service"; done
