#!/bin/sh
# Prints a Python that can make the virtual environment: 3.11 or later, with venv and ensurepip. PYTHON names one to use.
# Debian splits those modules off: as root with apt they are installed here, elsewhere the missing package is named.
#
# Of several it takes one that was built with profile-guided optimisation, which plays a tenth more trials a second:
# CONFIG_ARGS say so, and distributions' own do it although theirs do not.

suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }
is_optimised() {
  "$1" -c 'import sys, sysconfig
sys.exit(sys.base_prefix != "/usr" and "--enable-optimizations" not in (sysconfig.get_config_var("CONFIG_ARGS") or ""))' \
    2>/dev/null
}
# $1: a name or a path. Every program of that name on PATH, since a slow one may lie before a fast one.
everywhere() {
  case $1 in
    */*) [ -x "$1" ] && echo "$1" ;;
    *) echo "$PATH" | tr : '\n' | while read -r folder; do [ -x "$folder/$1" ] && echo "$folder/$1"; done ;;
  esac
}

found= whole=
for name in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
  for candidate in $(everywhere "$name"); do
    suits "$candidate" || continue
    found=${found:-$candidate}
    has_venv "$candidate" || continue
    is_optimised "$candidate" && { echo "$candidate"; exit 0; }
    whole=${whole:-$candidate}
  done
done
[ -z "$whole" ] || { echo "$whole"; exit 0; }

if [ -z "$found" ]; then
  echo "pairproof needs Python 3.11 or later${PYTHON:+ (PYTHON=$PYTHON is not)}: install it, or run make PYTHON=/path/to/python3" >&2
  exit 1
fi
package=$("$found" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "set-up: installing $package" >&2
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package"; } \
    >/dev/null 2>&1
  has_venv "$found" && { echo "$found"; exit 0; }
fi
echo "$found has no venv: on Debian or Ubuntu run apt-get install $package, elsewhere install a whole Python" >&2
exit 1
