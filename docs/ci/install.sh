#!/bin/sh
# Downloads a release of kx, compares it with its checksum, and puts the binary into a directory: install.sh [VERSION] [DIRECTORY].
# Without a version it takes the latest. KX_RELEASES is where releases are, if they are mirrored.
set -eu
releases=${KX_RELEASES:-https://github.com/kx-apiserver/kx/releases}
version=${1:-latest} to=${2:-/usr/local/bin}

fail() { echo "install kx: $1" >&2; exit 1; }

case $(uname -s) in
Linux) os=linux ;;
Darwin) os=darwin ;;
*) fail "no archive for $(uname -s) is unpacked here: take one from $releases" ;;
esac
case $(uname -m) in
x86_64 | amd64) arch=amd64 ;;
aarch64 | arm64) arch=arm64 ;;
*) fail "there is no release for $(uname -m): build it with Go" ;;
esac
sums=sha256sum
command -v $sums >/dev/null || sums='shasum -a 256'

place=$releases/latest/download
[ "$version" = latest ] || place=$releases/download/v${version#v}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# The names of the archives have the version. The list of checksums has the names.
curl -fsSL --retry 3 -o "$work/checksums.txt" "$place/checksums.txt" || fail "$place/checksums.txt can not be read: is $version a release?"
archive=$(sed -n "s/^[0-9a-f]*  *\(kx_.*_${os}_${arch}\.tar\.gz\)\$/\1/p" "$work/checksums.txt")
[ -n "$archive" ] || fail "release $version has no archive for $os/$arch"
curl -fsSL --retry 3 -o "$work/$archive" "$place/$archive" || fail "$place/$archive can not be read"
(cd "$work" && grep "  *$archive\$" checksums.txt | $sums -c - >/dev/null) || fail "$archive does not have the checksum that its release names"
tar -xzf "$work/$archive" -C "$work" kx
mkdir -p "$to"
mv "$work/kx" "$to/kx.new" && mv "$to/kx.new" "$to/kx" || fail "$to can not be written: name another directory"
echo "$to/kx"
