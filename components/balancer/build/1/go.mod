module clusterctl/components/balancer/build/1

go 1.26.0

require (
	github.com/coreos/go-systemd/v22 v22.7.0
	github.com/inetaf/tcpproxy v0.0.0-20260515195445-c159a6051109
)

require golang.org/x/sys v0.1.0 // indirect
