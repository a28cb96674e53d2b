#!/bin/sh
# clean_root.sh ROOT COMMAND...: run a command in the Debian installation in ROOT, with its own mounts and processes.
# Uses pivot_root, because the kernel does not allow sandboxes in a plain chroot. X displays of this computer are available.
set -eu
exec unshare --mount --pid --fork --kill-child sh -euc '
root=$1
shift
mount --make-rprivate /
mount --bind "$root" "$root"
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount -t tmpfs tmpfs "$root/tmp"
mkdir -p "$root/tmp/.X11-unix" "$root/.before"
mkdir -p /tmp/.X11-unix
mount --bind /tmp/.X11-unix "$root/tmp/.X11-unix"
cp /etc/resolv.conf "$root/etc/resolv.conf"
cd "$root"
pivot_root . .before
umount -l /.before
exec "$@"' sh "$@"
