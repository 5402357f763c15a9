#!/usr/bin/env bash
# Checks the Compose file, builds the image, starts it, and triggers the demo webhook that its log names. Needs Docker.
set -euo pipefail
cd "$(dirname "$0")/../.."

values=$(mktemp)
sed 's/=$/=value/' deploy/.env.example >"$values"
docker compose --file deploy/compose.yaml --env-file "$values" config --quiet
rm "$values"

docker build --tag webhook-trigger .
[ "$(docker image inspect --format '{{.Config.User}}' webhook-trigger)" = node ]
container=$(docker run --detach --publish 127.0.0.1:8080:8080 webhook-trigger)
trap 'docker logs "$container"; docker rm --force "$container" >/dev/null' EXIT
# Its own health check runs every 10 seconds.
for _ in $(seq 60); do
  health=$(docker inspect --format '{{.State.Health.Status}}' "$container")
  [ "$health" = starting ] || break
  sleep 1
done
[ "$health" = healthy ]

command=$(docker logs "$container" 2>&1 | sed -n "s/^ *\(curl .*wait=true.*\)/\1/p" | head -n 1)
answer=$(bash -c "$command --fail-with-body --silent --show-error")
echo "The demo answered: $answer"
[[ "$answer" == *'"status":"success"'* ]]
