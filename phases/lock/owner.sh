# Tells who holds the lock of file $1: its process on this host, then the holder, a line each;
# nothing when nobody does. With $2, the process as it was told, it ends that one, if it still holds.
# It takes no lock itself, which would turn others away.
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
[ -e "$1" ] || exit 0
{ IFS= read -r who && IFS= read -r pid; } <"$1" || exit 0
[ "/proc/$pid/fd/9" -ef "$1" ] || exit 0
case ${2-} in
"") printf '%s\n%s\n' "$pid" "$who" ;;
"$pid") kill "$pid" ;;
esac
