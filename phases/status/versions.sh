# Prints what is installed ("disk component version") and what runs ("running unit path").
for d in /opt/clusterctl/*/*/; do [ -d "$d" ] && printf 'disk %s\n' "$d"; done
for u in etcd kube-apiserver kube-controller-manager kube-scheduler kubelet kube-proxy containerd; do
  pid=$(systemctl show --property=MainPID --value "$u.service" 2>/dev/null)
  [ "${pid:-0}" -gt 0 ] && printf 'running %s %s\n' "$u" "$(readlink /proc/"$pid"/exe)"
done
exit 0
