#!/usr/bin/env bash
# Usage: scripts/train.sh CONFIG
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

torchrun --standalone --nproc-per-node=8 train.py "${1:-configs/sft.yaml}"
