# Does one operation a line from standard input, fields parted by tabs, and stops at the first
# that goes wrong. Prints "ok<TAB>line" after each. Every operation may be repeated.
set -u
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
umask 077
state=/var/lib/clusterctl
tab=$(printf '\t')
line=0
die() { printf 'operation %s: %s\n' "$line" "$1" >&2; exit 1; }
stamp() { # directory name text: written whole or not at all
  mkdir -p "$state/$1" && printf '%s\n' "$3" >"$state/$1/.$2.new" && mv -fT "$state/$1/.$2.new" "$state/$1/$2"
}
unit_failed() {
  printf 'unit %s did not start; its last lines:\n' "$1" >&2
  journalctl --unit "$1" --lines 20 --no-pager --output cat >&2 2>/dev/null
  systemctl status --no-pager --lines 0 "$1" >&2 2>/dev/null
  exit 1
}
while IFS=$tab read -r op a b c d; do
  line=$((line + 1))
  case $op in
    dir) mkdir -p -- "$a" && chmod "$b" -- "$a" && chown "$c" -- "$a" || die "make directory $a" ;;
    link) mkdir -p -- "${a%/*}" && ln -sfT -- "$b" "$a.clusterctl-new" && mv -fT -- "$a.clusterctl-new" "$a" || die "link $a" ;;
    installed)
      read -r boot </proc/sys/kernel/random/boot_id
      text=$(find "$a" -maxdepth 0 -printf "%p $b %s %T@ %C@ $boot") && stamp artifacts "$c" "$text" || die "remember $a" ;;
    module) modprobe "$a" || die "load kernel module $a" ;;
    sysctl) printf '%s' "$b" >"/proc/sys/$(printf %s "$a" | tr . /)" || die "set $a to $b" ;;
    swap)
      swapoff -a || die "switch swap off"
      [ -f /etc/fstab ] && sed -i -E 's/^([^#]*[[:space:]]swap[[:space:]].*)$/#clusterctl# \1/' /etc/fstab
      for u in $(systemctl list-unit-files --type=swap --state=generated,enabled,static --no-legend --plain | cut -d' ' -f1); do
        systemctl mask --now "$u" || die "mask $u"
        mkdir -p "$state/swap" && : >"$state/swap/$u"
      done ;;
    reload) systemctl daemon-reload || die "systemctl daemon-reload" ;;
    start) systemctl enable --quiet "$a" || die "enable $a"
      rm -f "$state/units/$a"
      systemctl start "$a" || unit_failed "$a"
      stamp units "$a" "$b" || die "remember $a" ;;
    restart) systemctl enable --quiet "$a" || die "enable $a"
      systemctl restart "$a" || unit_failed "$a"
      stamp units "$a" "$b" || die "remember $a" ;;
    image) ctr --namespace k8s.io images import "$a" >/dev/null || die "import image $b from $a"
      ctr --namespace k8s.io images label "$b" io.cri-containerd.pinned=pinned >/dev/null || die "pin image $b" ;;
    *) die "unknown operation $op" ;;
  esac
  printf 'ok\t%s\n' "$line"
done
