# Reports facts of this host and changes nothing. Standard input has requests, one
# "kind<TAB>name" a line. The answer is sections: a line "@<TAB>name", then lines as the programs
# and files have them. Starting a process is what costs time here: every list is answered by one,
# and nothing is filtered or rewritten that can be read elsewhere.
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
tab='	' nl='
'
identity=/var/lib/clusterctl/identity.json
section() { printf '@\t%s\n' "$1"; }
section clock; date +%s.%N
paths= files= units= sysctls= modules= images= report= domains= reads=
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

search_domains() {
  [ -r /etc/resolv.conf ] || return 0
  while IFS=" $tab" read -r word rest || [ -n "$word" ]; do
    case $word in search | domain) domains="$domains $rest" ;; esac
  done </etc/resolv.conf
}

# lookups prints the search domains under which a made-up name resolves.
lookups() {
  IFS=" $tab"
  for d in $domains; do
    [ "${d%.}" ] && { timeout 1 getent ahosts "clusterctl-no-such-host-$$.${d%.}." >/dev/null 2>&1 && printf '%s\n' "$d"; } &
  done
  wait
}

# module_facts: a module that is built in shows only where it has parameters, or by what it makes.
module_facts() {
  unsure=
  section module
  for m in $modules; do
    made=/none
    case $m in
      br_netfilter) made=/proc/sys/net/bridge ;;
      nf_conntrack) made=/proc/sys/net/netfilter/nf_conntrack_max ;;
      ip_vs) made=/proc/net/ip_vs ;;
    esac
    if [ -d "/sys/module/$m" ] || [ -e $made ]; then printf '%s loaded\n' "$m"
    else printf '%s absent\n' "$m"; unsure=$unsure$m$nl; fi
  done
  [ "$unsure" ] || return 0
  section modprobe; modprobe --show-depends -a $unsure 2>/dev/null
  if [ -r /proc/config.gz ]; then section kconfig; gzip -dc /proc/config.gz 2>/dev/null | grep -E '^CONFIG_(OVERLAY_FS|BRIDGE_NETFILTER|NF_CONNTRACK|NF_TABLES|VXLAN|IP_VS|IP_VS_RR)=y'
  else case $unsure in *nf_tables*) nft list tables >/dev/null 2>&1 && { section module; echo nf_tables loaded; } ;; esac fi
}

# boot_swap prints the swap units that the next boot starts: from fstab, by partition type, zram.
boot_swap() {
  seen=' '
  section bootswap
  for f in /run/systemd/generator*/*.wants/*.swap /run/systemd/generator*/*.requires/*.swap \
    /etc/systemd/system/*.wants/*.swap /etc/systemd/system/*.requires/*.swap /usr/lib/systemd/system/*.wants/*.swap; do
    u=${f##*/}
    [ -h "$f" ] && [ ! -c "/etc/systemd/system/$u" ] || continue
    case $seen in *" $u "*) continue ;; esac
    seen="$seen$u "
    printf '%s\n' "$u"
  done
}

machine() {
  section systemd; systemctl --version 2>/dev/null
  section arch; { read -r arch </proc/sys/kernel/arch; } 2>/dev/null && printf '%s\n' "$arch" || uname -m
  section container; [ -r /run/systemd/container ] || systemd-detect-virt --container 2>/dev/null
  section nft; nft --version 2>/dev/null
  section address; ip -o addr show scope global 2>/dev/null
  set --
  for d in / /var/lib /opt /etc /usr/local/bin; do [ -d $d ] && set -- "$@" $d; done
  section dirs; printf '%s\n' "$@"
  section disk; df -Pk "$@" 2>/dev/null
  section program
  for p in awk chmod chown conntrack cp date dd df find grep ip ipset iptables journalctl ln mkdir modprobe mount mv nft rm sed \
    sha256sum stat swapoff sync systemctl tr umount; do
    command -v $p >/dev/null && printf '%s\n' $p
  done
  section file
  grep -asE ' 0A 00000000:|^(MemTotal|Uid|CapBnd|Cpus_allowed_list):|^[0-9]+ [0-9]+ [0-9:]+ [^ ]+ (/|/var|/var/lib|/opt|/etc|/usr|/usr/local|/usr/local/bin|/var/opt) ' \
    /dev/null /proc/meminfo /proc/self/status /proc/net/tcp /proc/net/tcp6 /proc/self/mountinfo
  if [ ! -e /sys/fs/cgroup/cgroup.controllers ]; then
    section cgroup1
    for d in /sys/fs/cgroup/*; do [ -d "$d" ] && printf '%s\n' "${d##*/}"; done
  fi
  section foreign
  for f in /var/lib/etcd/member /etc/kubernetes/manifests/*.yaml /etc/kubernetes/manifests/*.json /etc/kubernetes/kubelet.conf \
    /etc/kubernetes/admin.conf /var/lib/rancher/k3s /var/lib/rancher/rke2 /etc/rancher/k3s /etc/rancher/rke2 /var/lib/k0s /var/snap/microk8s/current \
    /usr/lib/systemd/system/containerd.service /usr/lib/systemd/system/docker.service /run/containerd/containerd.sock; do
    [ -e "$f" ] && printf '%s\n' "$f"
  done
  [ -e $identity ] || stranger
}

# stranger tells more of a host that no cluster of ours has.
stranger() {
  section listener; ss -Hltnp 2>/dev/null
  for f in /var/lib/etcd/member/wal/*.wal; do
    [ -f "$f" ] && { section wal; od -A n -v -t x1 -N 256 "$f"; break; }
  done
}

facts() {
  IFS=$nl; set -f
  if [ "$paths" ]; then section path; find $paths -maxdepth 0 -printf '%p\t%y\t%m\t%u:%g\t%s\t%T@\t%C@\t%l\n' 2>/dev/null; fi
  if [ "$files" ]; then section sum; sha256sum -- $files 2>/dev/null; fi
  if [ "$units" ]; then
    section unit
    shown=$(systemctl show --property=Id,ActiveState,SubState,UnitFileState,NRestarts,MainPID,NeedDaemonReload -- $units 2>/dev/null)
    printf '%s\n' "$shown"
    for line in $shown; do case $line in MainPID=0) ;; MainPID=*) reads=$reads/proc/${line#*=}/cmdline$nl ;; esac; done
  fi
  [ -z "$modules" ] || module_facts
  for s in $sysctls; do
    while :; do case $s in *.*) s=${s%%.*}/${s#*.} ;; *) break ;; esac; done
    reads=$reads/proc/sys/$s$nl
  done
  set +f
  section file
  grep -as '' /dev/null /proc/sys/kernel/random/boot_id /proc/swaps /etc/fstab /proc/filesystems /var/lib/clusterctl/units/* /var/lib/clusterctl/artifacts/* /var/lib/clusterctl/installed $reads
  boot_swap
  if [ "$images" ] && [ -S /run/containerd/containerd.sock ]; then section image; ctr --namespace k8s.io images list 2>/dev/null; fi
  [ -z "$report" ] || machine
}

if [ "$report" ]; then
  search_domains
  for u in systemd-timesyncd chrony chronyd ntp ntpd ntpsec openntpd; do units=$units$u.service$nl; done
  found=
  [ -e $identity ] || found=nf_tables # where the cluster runs it is there; a built-in one takes time to find
  for m in overlay br_netfilter nf_conntrack vxlan $found; do
    case $nl$modules in *"$nl$m$nl"*) ;; *) modules=$modules$m$nl ;; esac
  done
  for f in /proc/1/comm /proc/cgroups /sys/fs/cgroup/cgroup.controllers \
    /proc/sys/kernel/ostype /proc/sys/kernel/osrelease /proc/sys/kernel/hostname /etc/machine-id /run/systemd/container \
    /proc/sys/fs/inotify/max_user_instances /proc/sys/fs/inotify/max_user_watches \
    /etc/resolv.conf /run/systemd/resolve/resolv.conf /etc/os-release $identity; do
    reads=$reads$f$nl
  done
fi
if [ "$domains" ] && command -v getent >/dev/null && command -v timeout >/dev/null; then
  lookups </dev/null | { facts </dev/null; section wildcard; while IFS= read -r d; do printf '%s\n' "$d"; done; }
else
  facts </dev/null
fi
section clock; date +%s.%N
