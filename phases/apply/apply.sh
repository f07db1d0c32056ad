# Does one operation a line from standard input, fields parted by tabs, and stops at the first
# that goes wrong. Prints "ok<TAB>line" after each. Every operation may be repeated.
set -u
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
umask 077
state=/var/lib/clusterctl
tab='	' nl='
'
installed= paths=
line=0
die() { printf 'operation %s: %s\n' "$line" "$1" >&2; exit 1; }
# A stamp that is cut off fits nothing, so its file or unit is looked at again: no rename is needed.
stamp() { # directory name text
  [ -d "$state/$1" ] || mkdir -p "$state/$1"
  printf '%s\n' "$3" >"$state/$1/$2"
}
remember() { # all artifacts since the last other operation, by one process
  [ -n "$installed" ] || return 0
  read -r boot </proc/sys/kernel/random/boot_id
  [ -d "$state/artifacts" ] || mkdir -p "$state/artifacts"
  seen=$(IFS=$nl; set -f; find $paths -maxdepth 0 -printf '%s %T@ %C@\n') || die "look at installed files"
  while IFS=$tab read -r path sum name; do
    [ -n "$path" ] || continue
    times=${seen%%"$nl"*} seen=${seen#*"$nl"}
    printf '%s %s %s %s\n' "$path" "$sum" "$times" "$boot" >"$state/artifacts/$name" || die "remember $path"
  done <<LIST
$installed
LIST
  installed= paths=
}
# fresh picks how a unit is started. It may be starting at this moment with what it read before:
# only a stamp that fits lets it go on, else it is begun anew.
fresh() { # unit digest
  have= verb=restart
  [ -r "$state/units/$1" ] && read -r have <"$state/units/$1"
  [ "$have" != "$2" ] || verb=start
  rm -f "$state/units/$1"
}
unit_failed() {
  printf 'unit %s did not start; its last lines:\n' "$1" >&2
  journalctl --unit "$1" --lines 20 --no-pager --output cat >&2 2>/dev/null
  systemctl status --no-pager --lines 0 "$1" >&2 2>/dev/null
  exit 1
}
while IFS=$tab read -r op a b c; do
  line=$((line + 1))
  [ "$op" = installed ] || remember
  case $op in
    dir) { [ -d "$a" ] || mkdir -p -- "$a"; } && chmod "$b" -- "$a" && chown "$c" -- "$a" || die "make directory $a" ;;
    link) { [ -d "${a%/*}" ] || mkdir -p -- "${a%/*}"; } && ln -sfT -- "$b" "$a" || die "link $a" ;;
    installed) installed=$installed$a$tab$b$tab$c$nl paths=$paths$a$nl ;;
    module) modprobe "$a" || die "load kernel module $a" ;;
    sysctl) printf '%s' "$b" >"/proc/sys/$(printf %s "$a" | tr . /)" || die "set $a to $b" ;;
    swap)
      swapoff -a || die "switch swap off"
      [ -f /etc/fstab ] && sed -i -E 's/^([^#]*[[:space:]]swap([[:space:]].*)?)$/#clusterctl# \1/' /etc/fstab
      for u in $(systemctl list-unit-files --type=swap --state=generated,enabled,static --no-legend --plain | cut -d' ' -f1); do
        systemctl mask --now "$u" || die "mask $u"
        mkdir -p "$state/swap" && : >"$state/swap/$u"
      done ;;
    reload) # the units that follow: enabled without a reload each, then one for all
      systemctl enable --quiet --no-reload $a || die "enable $a"
      systemctl daemon-reload || die "systemctl daemon-reload" ;;
    begin) # its start goes on by itself; a gate waits for it
      fresh "$a" "$b"
      systemctl $verb --no-block "$a" || die "start $a"
      stamp units "$a" "$b" || die "remember $a" ;;
    start) fresh "$a" "$b"
      systemctl $verb "$a" || unit_failed "$a"
      stamp units "$a" "$b" || die "remember $a" ;;
    restart) systemctl restart "$a" || unit_failed "$a"
      stamp units "$a" "$b" || die "remember $a" ;;
    former) # unit digest: what was kept counts while the unit's last good start is the same
      f=$state/former/$a had=
      [ -r "$f/digest" ] && read -r had <"$f/digest"
      [ -d "$f" ] && [ "$had" = "$b" ] || { rm -rf "$f" && mkdir -p "$f" && printf '%s\n' "$b" >"$f/digest"; } || die "set aside for $a" ;;
    keep) # unit path name
      f=$state/former/$a
      if [ ! -e "$f/$c" ] && [ ! -h "$f/$c" ] && [ ! -e "$f/$c.absent" ]; then
        if [ -e "$b" ] || [ -h "$b" ]; then cp -a -- "$b" "$f/$c"; else : >"$f/$c.absent"; fi && printf '%s\t%s\n' "$c" "$b" >>"$f/paths" || die "set $b aside"
      fi ;;
    restore)
      f=$state/former/$a
      if [ -r "$f/paths" ]; then
        while IFS=$tab read -r name path; do
          if [ -e "$f/$name.absent" ]; then rm -f -- "$path"
          else cp -a -- "$f/$name" "$path.former" && mv -fT -- "$path.former" "$path"; fi || die "put $path back"
        done <"$f/paths"
      fi ;;
    forget) rm -rf "$state/former/$a" || die "drop what was kept for $a" ;;
    record) # what is put on the host, beside what was ever put there
      [ -d "$state" ] || mkdir -p "$state"
      { printf '%s\n' $a
        [ ! -f "$state/installed" ] || cat "$state/installed"; } | sort -u >"$state/installed.new" && mv "$state/installed.new" "$state/installed" || die "record what is put here" ;;
    aside) # what a unit wrote in an earlier life, under another name: nothing is deleted
      systemctl stop "$b" || die "stop $b"
      [ ! -e "$a" ] || mv -T -- "$a" "$a.$(date -u +%Y%m%dT%H%M%SZ)" || die "rename $a"
      rm -f "$state/units/$b" ;;
    image) ctr --namespace k8s.io images import --label io.cri-containerd.pinned=pinned "$a" >/dev/null || die "import image $b from $a" ;;
    *) die "unknown operation $op" ;;
  esac
  printf 'ok\t%s\n' "$line"
done
remember
