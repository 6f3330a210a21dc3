#!/bin/sh
# Builds Horovod for the framework of this environment, over its MPI and over Gloo; minutes. Its last release is older
# than what it meets here: PyTorch's headers want C++20, GCC 14 wants headers named and no assignment to a constant, CMake 4 wants to be told.
set -eu
version=0.28.1
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
cd "$scratch"
export CCACHE_DISABLE=1 PIP_DISABLE_PIP_VERSION_CHECK=1
pip download --quiet --no-deps --no-build-isolation --no-binary horovod "horovod==$version"
tar xzf "horovod-$version.tar.gz"
cd "horovod-$version"
sed -i 's/CMAKE_CXX_STANDARD 14/CMAKE_CXX_STANDARD 20/' CMakeLists.txt horovod/torch/CMakeLists.txt
sed -i 's/const size_type count_;/size_type count_;/' third_party/flatbuffers/include/flatbuffers/stl_emulation.h
HOROVOD_WITH_MPI=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MXNET=1 MAKEFLAGS=-j${JOBS:-2} CXXFLAGS='-include cstdint -include string' \
  CMAKE_POLICY_VERSION_MINIMUM=3.5 pip install --quiet --no-deps --no-build-isolation .
