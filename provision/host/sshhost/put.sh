# Reads files from standard input and installs them in order. Each is one line
#   MODE OWNER SIZE SHA256 sync|lazy PATH      (PATH escaped for printf %b)
# followed by exactly SIZE bytes. The reason of a failure is one line on standard error:
#   clusterctl-put INDEX KIND DETAIL
# The number of files installed is printed at the end.
#
# A file is staged beside its path, then checked, synced unless it is lazy, given owner and mode,
# and renamed.
# Small files are staged in batches, because starting a process is what costs time here:
# staged are those with numbers n+1 to count, as t_I (temporary), p_I (path), m_I, o_I, s_I.
set -uC
umask 077
n=0 count=0 bytes=0 sums='' odd='' tmp=''
newline='
'

# fail reports that file number $1 cannot be installed.
fail() {
	printf 'clusterctl-put %s %s\n' "$(($1 - 1))" "$2" >&2
	exit 1
}

# refuse does the same for the file being staged, after those before it were installed.
refuse() {
	[ -z "$tmp" ] || rm -f -- "$tmp"
	tmp=''
	install_staged
	fail "$((count + 1))" "$1"
}

clean() {
	[ -z "$tmp" ] || rm -f -- "$tmp"
	while [ "$n" -lt "$count" ]; do
		n=$((n + 1))
		eval "rm -f -- \"\$t_$n\""
	done
}
trap clean EXIT
trap 'exit 1' HUP INT TERM PIPE

free() {
	df -k --output=avail -- "$dir" | { read -r _; read -r kb; echo "$((kb * 1024))"; }
}

# sweep removes what an upload that was killed left behind; a live one is left alone.
sweep() {
	for old in "$dir/.$base.clusterctl-"*; do
		[ -f "$old" ] || continue
		pid=${old##*.clusterctl-}
		pid=${pid%%.*}
		[ "$pid" != "$$" ] || continue
		! tr '\0' ' ' 2>/dev/null <"/proc/$pid/cmdline" | grep -q clusterctl-put || continue
		rm -f -- "$old"
	done
}

# stage receives the next file to a temporary name in its own directory.
stage() {
	[ -d "$dir" ] || (umask 022 && mkdir -p -- "$dir") || refuse "mkdir $dir"
	[ ! -d "$path" ] || refuse directory
	sweep
	[ "$size" -lt 67108864 ] || [ "$(free)" -ge "$size" ] || refuse "nospace $(free)"
	tmp=$dir/.$base.clusterctl-$$.$count
	{ true >"$tmp"; } 2>/dev/null || { rm -f -- "$tmp" && true >"$tmp"; } || refuse create
	[ "$size" -eq 0 ] ||
		dd of="$tmp" bs=1M iflag=fullblock,count_bytes count="$size" conv=notrunc status=none || {
		rm -f -- "$tmp"
		avail=$(free)
		[ "$avail" -ge "$size" ] && refuse write
		refuse "nospace $avail"
	}
	count=$((count + 1)) bytes=$((bytes + size))
	sums="$sums$sum  $tmp$newline"
	eval "t_$count=\$tmp p_$count=\$path m_$count=\$mode o_$count=\$owner s_$count=\$sum z_$count=\$size y_$count=\$durable"
	tmp=''
}

# check compares size and digest of staged file number $1.
check() {
	eval "file=\$t_$1 want=\$s_$1 length=\$z_$1"
	got=$(stat -c %s -- "$file")
	[ "$got" -eq "$length" ] || fail "$1" "short $got"
	if [ "$length" -ge 1048576 ] && command -v openssl >/dev/null 2>&1; then
		got=$(openssl dgst -sha256 -r <"$file") # several times faster than Debian's sha256sum
	else
		got=$(sha256sum <"$file")
	fi
	[ "${got%% *}" = "$want" ] || fail "$1" "digest ${got%% *}"
}

# each runs a command once per distinct value of variable $1 (m or o) over the staged files
# that have it: $2 VALUE FILE...
each() {
	done=' '
	i=$n
	while [ "$i" -lt "$count" ]; do
		i=$((i + 1))
		eval "value=\$$1_$i"
		case $done in *" $value "*) continue ;; esac
		done="$done$value "
		run_on "$1" "$2" "$i"
	done
}

run_on() {
	kind=$1 command=$2 j=$3 first=$3
	set --
	while [ "$j" -le "$count" ]; do
		eval "[ \"\$${kind}_$j\" != \"\$value\" ] || set -- \"\$@\" \"\$t_$j\""
		j=$((j + 1))
	done
	"$command" -- "$value" "$@" || fail "$first" "$command $value"
}

# digests prints "SUM  FILE" for each file, as sha256sum does, by the faster program.
digests() {
	if [ "$bytes" -ge 1048576 ] && command -v openssl >/dev/null 2>&1; then
		openssl dgst -sha256 -r "$@" 2>/dev/null | sed 's/ \*/  /'
	else
		sha256sum -- "$@" 2>/dev/null
	fi
}

# install_staged makes the staged files the real ones. When the digests are not all right,
# each file is looked at alone, so that those before the bad one are installed.
install_staged() {
	[ "$count" -gt "$n" ] || return 0
	i=$n
	set --
	while [ "$i" -lt "$count" ]; do
		i=$((i + 1))
		eval "set -- \"\$@\" \"\$t_$i\""
	done
	sync -- "$@" &
	syncing=$! checked=''
	if [ "$#" -eq 1 ]; then
		check "$count" && checked=1
	elif [ -z "$odd" ]; then
		printf %s "$sums" | sha256sum --status -c - 2>/dev/null && checked=1
	fi
	wait "$syncing" || fail "$((n + 1))" sync
	each o chown
	each m chmod
	while [ "$n" -lt "$count" ]; do
		i=$((n + 1))
		[ -n "$checked" ] || check "$i"
		eval "mv -fT -- \"\$t_$i\" \"\$p_$i\"" || fail "$i" rename
		n=$i
	done
	bytes=0 sums='' odd=''
}

while IFS=' ' read -r mode owner size sum durable path; do
	if [ "$((bytes + size))" -gt 67108864 ] || [ "$((count - n))" -ge 64 ]; then
		install_staged
	fi
	case $path in *\\*) odd=1 && path=$(printf '%b.' "$path") && path=${path%.} ;; esac
	dir=${path%/*} base=${path##*/}
	dir=${dir:-/}
	stage
done
install_staged
echo "$n"
