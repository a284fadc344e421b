#!/usr/bin/env bash
# Makes the GPU kit (docs/gpus.md), with NVIDIA's assembler of CUDA 12, of PyPI's nvidia-cuda-nvcc-cu12, where pip gets it:
# LLVM 19's plugin takes no cubin of CUDA 13. Otherwise with the ptxas on PATH, or without.
set -euo pipefail
cd "$(dirname "$0")/.."
cuda=build/cuda12
if [ ! -x $cuda/nvidia/cuda_nvcc/bin/ptxas ]; then
  if ! pip install --quiet --disable-pip-version-check --no-deps --target $cuda nvidia-cuda-nvcc-cu12 2>$cuda.log; then
    echo "no assembler of CUDA 12: $(grep -m1 ERROR $cuda.log || echo 'pip failed')"
  fi
  chmod -f +x $cuda/nvidia/cuda_nvcc/bin/* || true
fi
python tests/gpu/make.py "$@"
