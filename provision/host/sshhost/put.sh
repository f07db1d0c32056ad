# Reads files from standard input and installs them. Each is one line
#   MODE OWNER SIZE SHA256 PATH      (PATH escaped for printf %b)
# followed by exactly SIZE bytes. The reason of a failure is one line on standard error:
#   clusterctl-put INDEX KIND DETAIL
# The number of files installed is printed at the end.
set -u
umask 077
tmp=
n=0
fail() {
	printf 'clusterctl-put %s %s\n' "$n" "$*" >&2
	exit 1
}
trap '[ -z "$tmp" ] || rm -f -- "$tmp"' EXIT
trap 'exit 1' HUP INT TERM PIPE

digest() {
	if [ "$size" -ge 1048576 ] && command -v openssl >/dev/null 2>&1; then
		openssl dgst -sha256 -r <"$1" # several times faster than Debian's sha256sum
	else
		sha256sum <"$1"
	fi
}

free() {
	df -k --output=avail -- "$dir" | { read -r _; read -r kb; echo "$((kb * 1024))"; }
}

# Temporary files of an upload that was killed; those of a live one are left alone.
sweep() {
	for old in "$dir/.$base.clusterctl-"*; do
		[ -f "$old" ] || continue
		pid=${old##*-}
		[ "$pid" = "$$" ] || ! tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q clusterctl-put || continue
		rm -f -- "$old"
	done
}

receive() {
	(set -C && : >"$tmp") || fail create "$tmp"
	[ "$size" -eq 0 ] || dd of="$tmp" bs=1M iflag=fullblock,count_bytes count="$size" conv=notrunc status=none || {
		avail=$(free)
		[ "$avail" -ge "$size" ] && fail write "$tmp"
		fail nospace "$avail"
	}
	got=$(stat -c %s -- "$tmp")
	[ "$got" -eq "$size" ] || fail short "$got"
	got=$(digest "$tmp")
	[ "${got%% *}" = "$sum" ] || fail digest "${got%% *}"
}

while IFS=' ' read -r mode owner size sum path; do
	case $path in *\\*) path=$(printf '%b.' "$path") && path=${path%.} ;; esac
	dir=${path%/*} base=${path##*/}
	dir=${dir:-/}
	[ -d "$dir" ] || (umask 022 && mkdir -p -- "$dir") || fail mkdir "$dir"
	[ ! -d "$path" ] || fail directory
	sweep
	if [ "$size" -ge 65536 ]; then
		avail=$(free)
		[ "$avail" -ge "$size" ] || fail nospace "$avail"
	fi
	tmp=$dir/.$base.clusterctl-$$
	receive
	sync -- "$tmp" || fail sync
	chown -- "$owner" "$tmp" || fail owner "$owner"
	chmod -- "$mode" "$tmp" || fail mode "$mode"
	mv -fT -- "$tmp" "$path" || fail rename
	tmp=
	n=$((n + 1))
done
echo "$n"
