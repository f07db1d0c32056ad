#!/bin/sh
# Gives etcd the disk of its own: the one that has neither partitions nor a file system gets one
# and is mounted, now and at every boot. A disk that is labelled already is only mounted.
set -eu
mountpoint -q /var/lib/etcd && exit 0
if [ ! -e /dev/disk/by-label/etcd ]; then
	for disk in $(lsblk --nodeps --noheadings --list --paths --output NAME,TYPE | awk '$2 == "disk" { print $1 }'); do
		[ "$(lsblk --noheadings --list --output NAME "$disk" | wc -l)" = 1 ] || continue # partitions
		[ -z "$(lsblk --nodeps --noheadings --output FSTYPE "$disk")" ] || continue      # in use
		mkfs.ext4 -q -L etcd "$disk"
		udevadm settle
		break
	done
fi
mkdir -p /var/lib/etcd
grep -q '^LABEL=etcd ' /etc/fstab || echo 'LABEL=etcd /var/lib/etcd ext4 noatime 0 2' >>/etc/fstab
mount /var/lib/etcd
chmod 0700 /var/lib/etcd
