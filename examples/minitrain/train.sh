#!/usr/bin/env bash
# Usage: ./train.sh CONFIG [PROCESSES]
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

torchrun --standalone --nproc-per-node="${2:-gpu}" -m minitrain.train "$1"
