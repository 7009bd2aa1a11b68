#!/bin/sh
# Makes the images of compose.yaml if the official base images are unavailable; otherwise as `docker compose build`.
# Each base is, in this order: BASE_IMAGE or TOXIPROXY_IMAGE, the official one, one made here: Debian with Python by
# mmdebstrap, toxiproxy by Go, from its source. Existing images are kept.
# With arguments, NAME PACKAGE..., it only makes an image NAME of Debian with these packages.
set -eu
cd "$(dirname "$0")/.."

official=python:3.11-slim-bookworm
made=pairproof-base:bookworm
official_toxiproxy=ghcr.io/shopify/toxiproxy:2.12.0
made_toxiproxy=pairproof-toxiproxy-base:2.12.0
pull_limit=300
ask_limit=20
module=github.com/Shopify/toxiproxy/v2

fail() { echo "images.sh: $*" >&2; exit 1; }
here() { docker image inspect "$1" >/dev/null 2>&1; }
had() { here "$1" || timeout "$pull_limit" docker pull --quiet "$1" >/dev/null 2>&1; }
# A builder's output matters only when it fails. Building needs no network.
build() { docker build --force-rm --network none "$@" - >"$work/said" 2>&1 || { cat "$work/said" >&2; fail "docker build $* failed"; }; }

# An image of Debian: its name, then its packages.
make_debian() {
  command -v mmdebstrap >/dev/null || fail "cannot make $1: there is no mmdebstrap: install it, or set BASE_IMAGE"
  echo "images.sh: making $1 (about a minute)"
  name=$1; shift
  packages=$(IFS=,; echo "$*")
  # Java's package needs the folders of the omitted manual pages.
  mmdebstrap --quiet --variant=minbase --include="$packages" --aptopt='Acquire::Languages "none"' \
    --dpkgopt='path-exclude=/usr/share/doc/*' --dpkgopt='path-exclude=/usr/share/man/*' \
    --dpkgopt='path-exclude=/usr/share/locale/*' --essential-hook='mkdir -p "$1"/usr/share/man/man1' \
    --customize-hook='rm -rf "$1"/var/lib/apt/lists/* "$1"/var/cache/apt/*' \
    bookworm "$work/base.tar" || fail "mmdebstrap could not make $name; is the network there?"
  docker import -c 'LABEL pairproof.image=base' -c 'CMD ["sh"]' \
    -c 'ENV PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' "$work/base.tar" "$name" >/dev/null
}

make_toxiproxy() {
  command -v go >/dev/null || fail "cannot pull $official_toxiproxy, and there is no go: install it, or set TOXIPROXY_IMAGE"
  echo "images.sh: making $made_toxiproxy (about half a minute)"
  CGO_ENABLED=0 GOBIN="$work" go install -trimpath -ldflags "-s -w -X $module.Version=2.12.0" \
    "$module/cmd/server@v2.12.0" "$module/cmd/cli@v2.12.0" || fail "go could not build toxiproxy; set TOXIPROXY_IMAGE"
  # The official image's paths and entry point.
  mv "$work/server" "$work/toxiproxy" && mv "$work/cli" "$work/toxiproxy-cli"
  tar -C "$work" -c toxiproxy toxiproxy-cli \
    | docker import -c 'LABEL pairproof.image=base' -c 'ENTRYPOINT ["/toxiproxy"]' -c 'CMD ["-host=0.0.0.0"]' \
      - "$made_toxiproxy" >/dev/null
}

command -v docker >/dev/null || fail "there is no docker command: install it (docker.io, or docker-cli)"
timeout "$ask_limit" docker version >/dev/null 2>&1 || fail "no Docker engine answers: start one, or set DOCKER_HOST"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

if [ $# -gt 0 ]; then
  here "$1" || make_debian "$@"
  exit
fi
base=${BASE_IMAGE:-$official}
if [ -z "${BASE_IMAGE:-}" ] && ! had "$base"; then
  base=$made
  here "$base" || make_debian "$base" python3
fi
toxiproxy=${TOXIPROXY_IMAGE:-$official_toxiproxy}
if [ -z "${TOXIPROXY_IMAGE:-}" ] && ! had "$toxiproxy"; then
  toxiproxy=$made_toxiproxy
  here "$toxiproxy" || make_toxiproxy
fi

# Not the folder itself, which would send a gigabyte to the builder.
tar -c --exclude=__pycache__ pairproof/__init__.py harness reference chaos compose \
  | build -f compose/node.Dockerfile --build-arg "BASE_IMAGE=$base" -t pairproof-node:dev
tar -C compose -c toxiproxy.Dockerfile toxiproxy.json \
  | build -f toxiproxy.Dockerfile --build-arg "BASE_IMAGE=$toxiproxy" -t pairproof-toxiproxy:2.12.0
# Earlier images of these names.
docker image prune --force --filter label=pairproof.image >/dev/null 2>&1 || :
echo "images.sh: pairproof-node:dev on $base, pairproof-toxiproxy:2.12.0 on $toxiproxy"
