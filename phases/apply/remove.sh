# Takes our things off this host: reads "unit<TAB>name" and "path<TAB>path" lines, stops and
# removes what they name, then pods, network devices, rules and data. May be run again. Prints
# "left<TAB>what" for everything that stayed.
LC_ALL=C; export LC_ALL
PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin; export PATH
tab=$(printf '\t'); nl='
'
units= paths=
while IFS=$tab read -r kind name; do
  case $kind in unit) units="$units $name" ;; path) paths=$paths$name$nl ;; esac
done
stop() { systemctl disable --now --quiet "$1" 2>/dev/null; systemctl is-active --quiet "$1" && printf 'left\tunit %s runs\n' "$1"; }
for u in kubelet.service kube-proxy.service flanneld.service; do stop $u; done
if [ -S /run/containerd/containerd.sock ] && command -v crictl >/dev/null; then
  timeout 60 crictl rmp --force --all >/dev/null 2>&1
fi
for u in kube-scheduler.service kube-controller-manager.service kube-apiserver.service etcd.service clusterctl-balancer.service containerd.service $units; do stop $u; done
sed -n 's/^[^ ]* \(\/\(var\/lib\/kubelet\/\|run\/containerd\/\|run\/netns\/cni\)[^ ]*\) .*/\1/p' /proc/mounts | sort -r | while read -r m; do umount "$m" 2>/dev/null || umount -l "$m"; done
for d in cni0 flannel.1; do ip link show "$d" >/dev/null 2>&1 && ip link delete "$d"; done
if command -v nft >/dev/null; then
  for t in 'ip kube-proxy' 'ip6 kube-proxy' 'ip flannel-ipv4' 'ip6 flannel-ipv6'; do nft delete table $t 2>/dev/null; done
fi
if [ -d /var/lib/clusterctl/swap ]; then
  for f in /var/lib/clusterctl/swap/*; do [ -e "$f" ] && systemctl unmask "${f##*/}" 2>/dev/null; done
fi
[ -f /etc/fstab ] && sed -i 's/^#clusterctl# //' /etc/fstab
IFS=$nl; set -f
[ -n "$paths" ] && rm -rf -- $paths
set +f
rm -rf /opt/clusterctl /etc/kubernetes /var/lib/kubelet/* /var/lib/containerd/* /run/flannel /var/lib/cni /var/log/pods /var/log/containers
rm -rf /var/lib/etcd/member /var/lib/clusterctl /run/containerd /opt/containerd /var/log/kubernetes
# Directories that nobody else uses, deepest first; never a parent such as /opt.
rmdir /etc/cni/net.d /etc/cni /etc/containerd /opt/cni/bin /opt/cni /var/lib/etcd /var/lib/kubelet /var/lib/containerd 2>/dev/null
(cd /usr/libexec 2>/dev/null && rmdir -p kubernetes/kubelet-plugins/volume/exec 2>/dev/null)
systemctl daemon-reload
for d in /opt/clusterctl /etc/kubernetes /var/lib/etcd/member /var/lib/clusterctl; do [ -e $d ] && printf 'left\t%s\n' $d; done
exit 0
