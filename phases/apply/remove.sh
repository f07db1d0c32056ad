# Takes our things off this host: reads "unit<TAB>name" and "path<TAB>path" lines, stops and
# removes what they name, then pods, network devices, rules and data. May be run again. Arguments:
# the cluster's uid; "keep" where etcd's data is renamed instead of deleted. Prints "left<TAB>what"
# for everything that stayed.
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
identity=/var/lib/clusterctl/identity.json
[ -e $identity ] || exit 0 # nothing of ours is here, or the last run was over
grep -q "\"uid\": *\"$1\"" $identity || { printf 'left\tthe host belongs to another cluster: nothing on it was touched\n'; exit 0; }
tab=$(printf '\t'); nl='
'
units= paths=
while IFS=$tab read -r kind name; do
  case $kind in unit) units="$units $name" ;; path) paths=$paths$name$nl ;; esac
done
# What an earlier spec had here and this one does not name: the record, units that start our
# programs, links to them.
if [ -r /var/lib/clusterctl/installed ]; then paths=$paths$(grep '^/' /var/lib/clusterctl/installed)$nl; fi
for f in $(grep -ls '^ExecStart=/opt/clusterctl/' /etc/systemd/system/*.service); do units="$units ${f##*/}"; paths=$paths$f$nl; done
paths=$paths$(find /usr/local/bin -maxdepth 1 -type l -lname '/opt/clusterctl/*')$nl
stop() { systemctl disable --now --quiet "$1" 2>/dev/null; systemctl is-active --quiet "$1" && printf 'left\tunit %s runs\n' "$1"; }
for u in kubelet.service kube-proxy.service flanneld.service; do stop $u; done
if [ -S /run/containerd/containerd.sock ] && command -v crictl >/dev/null; then
  timeout 60 crictl rmp --force --all >/dev/null 2>&1
fi
for u in kube-scheduler.service kube-controller-manager.service kube-apiserver.service etcd.service clusterctl-balancer.service containerd.service $units; do stop $u; done
sed -n 's/^[^ ]* \(\/\(var\/lib\/kubelet\/\|run\/containerd\/\|run\/netns\/cni\)[^ ]*\) .*/\1/p' /proc/mounts | sort -r | while read -r m; do umount "$m" 2>/dev/null || umount -l "$m"; done
for pid in $(ls -l /proc/[0-9]*/exe 2>/dev/null | sed -n 's|.*/proc/\([0-9]*\)/exe -> /opt/clusterctl/.*|\1|p'); do kill -9 "$pid" 2>/dev/null; done
for p in /opt/clusterctl/kubernetes/*/kube-proxy; do [ -x "$p" ] && timeout 30 "$p" --cleanup >/dev/null 2>&1; done
rm -f /etc/systemd/system/flanneld.service /etc/systemd/system/kube-proxy.service /etc/cni/net.d/10-flannel.conflist
for d in cni0 flannel.1 flannel-v6.1 kube-ipvs0; do ip link show "$d" >/dev/null 2>&1 && ip link delete "$d"; done
# Chains of the CNI plugins, of flannel and of the proxy: all others stay as they are.
for ipt in iptables ip6tables; do
  command -v $ipt-save >/dev/null || continue
  rules=$($ipt-save 2>/dev/null)
  case $rules in *CNI-* | *FLANNEL-* | *KUBE-*)
    printf '%s\n' "$rules" | sed '/CNI-/d; /FLANNEL-/d; /KUBE-/d' | $ipt-restore 2>/dev/null || printf 'left\t%s chains CNI-*, FLANNEL-*, KUBE-*\n' $ipt ;;
  esac
done
if command -v nft >/dev/null; then
  for t in 'ip kube-proxy' 'ip6 kube-proxy' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do nft delete table $t 2>/dev/null; done
fi
if [ -d /var/lib/clusterctl/swap ]; then
  for f in /var/lib/clusterctl/swap/*; do [ -e "$f" ] && systemctl unmask "${f##*/}" 2>/dev/null; done
fi
[ -f /etc/fstab ] && sed -i 's/^#clusterctl# //' /etc/fstab
IFS=$nl; set -f
[ -n "$paths" ] && rm -rf -- $paths # all but the identity, which goes last
set +f
rm -rf --one-file-system /opt/clusterctl /etc/kubernetes /var/lib/kubelet/* /var/lib/containerd/* /run/flannel /var/lib/cni /var/log/pods /var/log/containers
[ "${2:-}" != keep ] || [ ! -e /var/lib/etcd/member ] || mv -T /var/lib/etcd/member "/var/lib/etcd/member.$(date -u +%Y%m%dT%H%M%SZ)"
rm -rf /var/lib/etcd/member /var/lib/clusterctl/units /var/lib/clusterctl/artifacts /var/lib/clusterctl/former /var/lib/clusterctl/swap /var/lib/clusterctl/installed /run/containerd /opt/containerd /var/log/kubernetes
# Directories that nobody else uses, deepest first; never a parent such as /opt.
rmdir /etc/cni/net.d /etc/cni /etc/containerd /opt/cni/bin /opt/cni /var/lib/etcd /var/lib/kubelet /var/lib/containerd 2>/dev/null
(cd /usr/libexec 2>/dev/null && rmdir -p kubernetes/kubelet-plugins/volume/exec 2>/dev/null)
systemctl daemon-reload
left=
for d in /opt/clusterctl /etc/kubernetes /var/lib/etcd/member; do [ -e $d ] && { printf 'left\t%s\n' $d; left=1; }; done
[ "$left" ] || rm -f $identity
rmdir /var/lib/clusterctl 2>/dev/null
exit 0
