#!/bin/sh
# Makes finding.png beside this file, the picture of the site's first page. Needs chromium, and pairproof on PATH.
set -eu
out=$(cd "$(dirname "$0")" && pwd)
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
pairproof check --target reference+repeats_frame --first --seed picture --jobs 1 >log || [ $? = 1 ]
pairproof report --engine local --out report >>log || [ $? = 1 ]
chromium --headless=new --no-sandbox --hide-scrollbars --window-size=1000,640 --virtual-time-budget=2000 \
  --user-data-dir=profile --screenshot="$out/finding.png" "file://$scratch/report/findings/001.html" >>log 2>&1
