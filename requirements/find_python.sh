#!/bin/sh
# Prints a Python that can make the virtual environment: 3.11 or later, with venv and ensurepip. PYTHON names one to use.
# Debian splits those modules off: as root with apt they are installed here, elsewhere the missing package is named.

suits() { "$1" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; }
has_venv() { "$1" -c 'import ensurepip, venv' 2>/dev/null; }

found=
for candidate in ${PYTHON:-python3.13 python3.12 python3.11 python3 python}; do
  command -v "$candidate" >/dev/null 2>&1 && suits "$candidate" || continue
  has_venv "$candidate" && { command -v "$candidate"; exit 0; }
  found=${found:-$candidate}
done

if [ -z "$found" ]; then
  echo "pairproof needs Python 3.11 or later${PYTHON:+ (PYTHON=$PYTHON is not)}: install it, or run make PYTHON=/path/to/python3" >&2
  exit 1
fi
package=$("$found" -c 'import sys; print("python%d.%d-venv" % sys.version_info[:2])')
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "set-up: installing $package" >&2
  { apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends "$package"; } \
    >/dev/null 2>&1
  has_venv "$found" && { command -v "$found"; exit 0; }
fi
echo "$found has no venv: on Debian or Ubuntu run apt-get install $package, elsewhere install a whole Python" >&2
exit 1
