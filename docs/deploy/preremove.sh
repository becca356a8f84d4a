#!/bin/sh
# Before the package goes, not before it is upgraded: deb says remove, rpm 0.
case ${1:-} in
remove | 0) if [ -d /run/systemd/system ]; then systemctl disable --now kx.service || true; fi ;;
esac
