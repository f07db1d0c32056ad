# Holds the lock of this host for as long as lines keep coming in. $1: file of the lock, $2: who
# holds it, one line, $3: seconds without a line after which the holder is given up.
# Says "locked" when the lock is held and then answers each line with itself. Exit code 75: somebody
# else holds it, and is printed. The lock is the kernel's (flock(2)): it ends with this process.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
set -eu
umask 077
file=$1
while :; do
	exec 9<>"$file"
	flock --nonblock 9 || { code=$?; [ $code -eq 1 ] || exit $code; cat <&9; exit 75; }
	[ "/proc/$$/fd/9" -ef "$file" ] && break # else its last holder deleted it meanwhile: a lock on it keeps nobody out
done
printf '%s\n%s\n' "$2" "$$" >"$file"
echo locked
while line=$(timeout --foreground "$3" head -n 1 2>/dev/null 9>&-) && [ -n "$line" ]; do
	echo "$line"
done
rm -f "$file" # under the lock: see above
