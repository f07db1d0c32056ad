# Reports facts of this host. Reads requests from standard input, one "kind<TAB>name" a line,
# changes nothing, and prints "kind<TAB>..." lines. Every list is answered by one process.
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
tab=$(printf '\t'); nl='
'
printf 'clock\t%s\n' "$(date +%s.%N)"
paths= files= units= sysctls= modules= images= report=
while IFS=$tab read -r kind name; do
  case $kind in
    path) paths=$paths$name$nl ;;
    file) paths=$paths$name$nl; files=$files$name$nl ;;
    unit) units=$units$name$nl ;;
    sysctl) sysctls=$sysctls$name$nl ;;
    module) modules=$modules$name$nl ;;
    images) images=1 ;;
    report) report=1 ;;
  esac
done
IFS=$nl; set -f
if [ -n "$paths" ]; then
  find $paths -maxdepth 0 -printf 'path\t%p\t%y\t%m\t%u:%g\t%s\t%T@\t%C@\t%l\n' 2>/dev/null
fi
if [ -n "$files" ]; then
  sha256sum -- $files 2>/dev/null | while IFS= read -r line; do
    case $line in '\'*) continue ;; esac
    printf 'sum\t%s\t%s\n' "${line#*  }" "${line%%  *}"
  done
fi
if [ -n "$units" ]; then
  systemctl show --property=Id,ActiveState,SubState,UnitFileState,NRestarts -- $units 2>/dev/null | while IFS= read -r line; do
    printf 'unit\t%s\n' "$line"
  done
fi
for s in $sysctls; do
  f=/proc/sys/$(printf %s "$s" | tr . /)
  [ -r "$f" ] && { read -r v <"$f"; printf 'sysctl\t%s\t%s\n' "$s" "$v"; }
done
builtin=/lib/modules/$(uname -r)/modules.builtin
for m in $modules; do
  state=absent
  upper=$(printf %s "$m" | tr a-z A-Z)
  case $m in br_netfilter) upper=BRIDGE_NETFILTER; [ -e /proc/sys/net/bridge ] && state=loaded ;;
    overlay) upper=OVERLAY_FS; grep -qw overlay /proc/filesystems && state=loaded ;; esac
  if [ -d "/sys/module/$m" ]; then state=loaded
  elif [ $state = absent ] && [ -r "$builtin" ] && grep -q "/$m\.ko" "$builtin"; then state=loaded
  elif [ $state = absent ] && [ -r /proc/config.gz ] && gzip -dc /proc/config.gz 2>/dev/null | grep -q "^CONFIG_$upper=y"; then state=loaded
  elif [ $state = absent ] && modprobe --dry-run --quiet "$m" 2>/dev/null; then state=loadable; fi
  printf 'module\t%s\t%s\n' "$m" "$state"
done
for f in /var/lib/clusterctl/units/*; do :; done
set +f
for f in /var/lib/clusterctl/units/* /var/lib/clusterctl/artifacts/*; do
  [ -f "$f" ] && while IFS= read -r line; do printf 'stamp\t%s\t%s\n' "${f##*/}" "$line"; done <"$f"
done
if [ -n "$images" ] && [ -S /run/containerd/containerd.sock ]; then
  ctr --namespace k8s.io images list 2>/dev/null | while IFS= read -r line; do printf 'image\t%s\n' "$line"; done
fi
if [ -r /proc/swaps ]; then tail -n +2 /proc/swaps | while IFS= read -r line; do printf 'swap\tactive\t%s\n' "$line"; done; fi
grep -E '^[^#]*[[:space:]]swap[[:space:]]' /etc/fstab 2>/dev/null | while IFS= read -r line; do printf 'swap\tfstab\t%s\n' "$line"; done
for u in $(systemctl list-unit-files --type=swap --state=generated,enabled,static --no-legend --plain 2>/dev/null | cut -d' ' -f1); do printf 'swap\tunit\t%s\n' "$u"; done
if [ -n "$report" ]; then
  say() { printf 'report\t%s\t%s\n' "$1" "$2"; }
  say uid "$(id -u)"
  say arch "$(uname -m)"
  say kernel "$(uname -r)"
  say hostname "$(cat /proc/sys/kernel/hostname)"
  say machineID "$(cat /etc/machine-id 2>/dev/null)"
  say init "$(cat /proc/1/comm 2>/dev/null)"
  say systemd "$(systemctl --version 2>/dev/null | head -n 1)"
  say container "$(systemd-detect-virt --container 2>/dev/null)"
  say capabilities "$(sed -n 's/^CapBnd:[[:space:]]*//p' /proc/self/status)"
  say cgroup "$(stat -f -c %T /sys/fs/cgroup 2>/dev/null)"
  say controllers "$(cat /sys/fs/cgroup/cgroup.controllers 2>/dev/null || cut -f1 /proc/cgroups | tail -n +2 | tr '\n' ' ')"
  say filesystems "$(sed 's/.*\t//' /proc/filesystems | tr '\n' ' ')"
  say nft "$(nft --version 2>/dev/null)"
  for p in iptables ipset conntrack mount umount modprobe swapoff tar; do command -v $p >/dev/null && say program $p; done
  say memoryKiB "$(sed -n 's/^MemTotal:[[:space:]]*\([0-9]*\).*/\1/p' /proc/meminfo)"
  say cpus "$(nproc)"
  for d in /var/lib /opt /etc; do say disk "$(df -Pk $d 2>/dev/null | tail -n 1 | tr -s ' ') $d"; say mount "$d $(findmnt -n -o OPTIONS -T $d 2>/dev/null)"; done
  say listening "$(cat /proc/net/tcp /proc/net/tcp6 2>/dev/null | tr -s ' ' | while IFS=' ' read -r _ l _ st _; do [ "$st" = 0A ] && printf '%s ' "${l##*:}"; done)"
  say addresses "$(ip -o addr show scope global 2>/dev/null | tr -s ' ' | cut -d' ' -f2,4- | tr '\n' ';')"
  say inotify "$(cat /proc/sys/fs/inotify/max_user_instances 2>/dev/null) $(cat /proc/sys/fs/inotify/max_user_watches 2>/dev/null)"
  say timesync "$(systemctl is-active systemd-timesyncd chrony chronyd ntpd ntp 2>/dev/null | grep -c '^active')"
  say resolved "$(systemctl is-active systemd-resolved 2>/dev/null)"
  for f in /etc/resolv.conf /run/systemd/resolve/resolv.conf; do
    [ -r $f ] && while IFS= read -r line; do printf 'resolv\t%s\t%s\n' "$f" "$line"; done <$f
  done
  [ -r /etc/os-release ] && while IFS= read -r line; do printf 'os\t%s\n' "$line"; done </etc/os-release
  [ -r /var/lib/clusterctl/identity.json ] && say identity "$(tr -d '\n' </var/lib/clusterctl/identity.json)"
  for d in /var/lib/etcd/member /etc/kubernetes/manifests /etc/kubernetes/kubelet.conf /var/lib/rancher /var/lib/k0s /etc/kubernetes/admin.conf; do [ -e $d ] && say foreign $d; done
fi
printf 'clock\t%s\n' "$(date +%s.%N)"
