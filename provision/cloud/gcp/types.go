package gcp

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The inputs of the types that are used, as the provider names them (pulumi-gcp, version Version).
// A test compares names and kinds with the source of the provider's typed SDK, which is read and
// not compiled.
type (
	networkArgs struct {
		Name                  pulumi.StringInput `pulumi:"name"`
		AutoCreateSubnetworks pulumi.BoolInput   `pulumi:"autoCreateSubnetworks"`
	}
	subnetworkArgs struct {
		Name        pulumi.StringInput `pulumi:"name"`
		Network     pulumi.StringInput `pulumi:"network"`
		Region      pulumi.StringInput `pulumi:"region"`
		IpCidrRange pulumi.StringInput `pulumi:"ipCidrRange"`
	}
	routerArgs struct {
		Name    pulumi.StringInput `pulumi:"name"`
		Network pulumi.StringInput `pulumi:"network"`
		Region  pulumi.StringInput `pulumi:"region"`
	}
	routerNatArgs struct {
		Name                          pulumi.StringInput `pulumi:"name"`
		Router                        pulumi.StringInput `pulumi:"router"`
		Region                        pulumi.StringInput `pulumi:"region"`
		NatIpAllocateOption           pulumi.StringInput `pulumi:"natIpAllocateOption"`
		SourceSubnetworkIpRangesToNat pulumi.StringInput `pulumi:"sourceSubnetworkIpRangesToNat"`
	}
	firewallArgs struct {
		Name                  pulumi.StringInput `pulumi:"name"`
		Network               pulumi.StringInput `pulumi:"network"`
		Direction             pulumi.StringInput `pulumi:"direction"`
		Description           pulumi.StringInput `pulumi:"description"`
		Allows                []allow            `pulumi:"allows"`
		SourceRanges          pulumi.StringArray `pulumi:"sourceRanges"`
		SourceServiceAccounts pulumi.StringArray `pulumi:"sourceServiceAccounts"`
		TargetServiceAccounts pulumi.StringArray `pulumi:"targetServiceAccounts"`
	}
	allow struct {
		Protocol pulumi.StringInput `pulumi:"protocol"`
		Ports    pulumi.StringArray `pulumi:"ports"`
	}
	accountArgs struct {
		AccountId   pulumi.StringInput `pulumi:"accountId"`
		DisplayName pulumi.StringInput `pulumi:"displayName"`
	}
	memberArgs struct {
		Project pulumi.StringInput `pulumi:"project"`
		Role    pulumi.StringInput `pulumi:"role"`
		Member  pulumi.StringInput `pulumi:"member"`
	}
	addressArgs struct {
		Name        pulumi.StringInput `pulumi:"name"`
		Region      pulumi.StringInput `pulumi:"region"`
		AddressType pulumi.StringInput `pulumi:"addressType"`
		Subnetwork  pulumi.StringInput `pulumi:"subnetwork"`
	}
	healthCheckArgs struct {
		Name               pulumi.StringInput `pulumi:"name"`
		Region             pulumi.StringInput `pulumi:"region"`
		CheckIntervalSec   pulumi.IntInput    `pulumi:"checkIntervalSec"`
		TimeoutSec         pulumi.IntInput    `pulumi:"timeoutSec"`
		HealthyThreshold   pulumi.IntInput    `pulumi:"healthyThreshold"`
		UnhealthyThreshold pulumi.IntInput    `pulumi:"unhealthyThreshold"`
		HttpsHealthCheck   *httpsCheck        `pulumi:"httpsHealthCheck"`
	}
	httpsCheck struct {
		Port        pulumi.IntInput    `pulumi:"port"`
		RequestPath pulumi.StringInput `pulumi:"requestPath"`
	}
	instanceGroupArgs struct {
		Name      pulumi.StringInput `pulumi:"name"`
		Zone      pulumi.StringInput `pulumi:"zone"`
		Network   pulumi.StringInput `pulumi:"network"`
		Instances pulumi.StringArray `pulumi:"instances"`
	}
	backendServiceArgs struct {
		Name                         pulumi.StringInput `pulumi:"name"`
		Region                       pulumi.StringInput `pulumi:"region"`
		Protocol                     pulumi.StringInput `pulumi:"protocol"`
		LoadBalancingScheme          pulumi.StringInput `pulumi:"loadBalancingScheme"`
		HealthChecks                 pulumi.StringInput `pulumi:"healthChecks"`
		ConnectionDrainingTimeoutSec pulumi.IntInput    `pulumi:"connectionDrainingTimeoutSec"`
		Backends                     []backend          `pulumi:"backends"`
	}
	backend struct {
		Group         pulumi.StringInput `pulumi:"group"`
		BalancingMode pulumi.StringInput `pulumi:"balancingMode"`
	}
	forwardingRuleArgs struct {
		Name                pulumi.StringInput `pulumi:"name"`
		Region              pulumi.StringInput `pulumi:"region"`
		LoadBalancingScheme pulumi.StringInput `pulumi:"loadBalancingScheme"`
		IpProtocol          pulumi.StringInput `pulumi:"ipProtocol"`
		IpAddress           pulumi.StringInput `pulumi:"ipAddress"`
		Ports               pulumi.StringArray `pulumi:"ports"`
		BackendService      pulumi.StringInput `pulumi:"backendService"`
		Network             pulumi.StringInput `pulumi:"network"`
		Subnetwork          pulumi.StringInput `pulumi:"subnetwork"`
		Labels              pulumi.StringMap   `pulumi:"labels"`
	}
	diskArgs struct {
		Name                  pulumi.StringInput `pulumi:"name"`
		Zone                  pulumi.StringInput `pulumi:"zone"`
		Type                  pulumi.StringInput `pulumi:"type"`
		Size                  pulumi.IntInput    `pulumi:"size"`
		ProvisionedIops       pulumi.IntInput    `pulumi:"provisionedIops"`
		ProvisionedThroughput pulumi.IntInput    `pulumi:"provisionedThroughput"`
		Labels                pulumi.StringMap   `pulumi:"labels"`
	}
)

type (
	instanceArgs struct {
		Name                   pulumi.StringInput `pulumi:"name"`
		Zone                   pulumi.StringInput `pulumi:"zone"`
		MachineType            pulumi.StringInput `pulumi:"machineType"`
		BootDisk               *bootDisk          `pulumi:"bootDisk"`
		AttachedDisks          []attachedDisk     `pulumi:"attachedDisks"`
		NetworkInterfaces      []networkInterface `pulumi:"networkInterfaces"`
		ServiceAccount         *serviceAccount    `pulumi:"serviceAccount"`
		ShieldedInstanceConfig *shielded          `pulumi:"shieldedInstanceConfig"`
		Metadata               pulumi.StringMap   `pulumi:"metadata"`
		Labels                 pulumi.StringMap   `pulumi:"labels"`
		DeletionProtection     pulumi.BoolInput   `pulumi:"deletionProtection"`
	}
	bootDisk struct {
		AutoDelete       pulumi.BoolInput  `pulumi:"autoDelete"`
		InitializeParams *initializeParams `pulumi:"initializeParams"`
	}
	initializeParams struct {
		Image pulumi.StringInput `pulumi:"image"`
		Size  pulumi.IntInput    `pulumi:"size"`
		Type  pulumi.StringInput `pulumi:"type"`
	}
	attachedDisk struct {
		Source     pulumi.StringInput `pulumi:"source"`
		DeviceName pulumi.StringInput `pulumi:"deviceName"`
	}
	networkInterface struct {
		Subnetwork    pulumi.StringInput `pulumi:"subnetwork"`
		NetworkIp     pulumi.StringInput `pulumi:"networkIp"`
		AccessConfigs []accessConfig     `pulumi:"accessConfigs"`
	}
	accessConfig struct {
		NatIp pulumi.StringInput `pulumi:"natIp"`
	}
	serviceAccount struct {
		Email  pulumi.StringInput `pulumi:"email"`
		Scopes pulumi.StringArray `pulumi:"scopes"`
	}
	shielded struct {
		EnableSecureBoot          pulumi.BoolInput `pulumi:"enableSecureBoot"`
		EnableVtpm                pulumi.BoolInput `pulumi:"enableVtpm"`
		EnableIntegrityMonitoring pulumi.BoolInput `pulumi:"enableIntegrityMonitoring"`
	}
)

// The types' tokens.
const (
	networkType        = "gcp:compute/network:Network"
	subnetworkType     = "gcp:compute/subnetwork:Subnetwork"
	routerType         = "gcp:compute/router:Router"
	routerNatType      = "gcp:compute/routerNat:RouterNat"
	firewallType       = "gcp:compute/firewall:Firewall"
	accountType        = "gcp:serviceaccount/account:Account"
	memberType         = "gcp:projects/iAMMember:IAMMember"
	addressType        = "gcp:compute/address:Address"
	healthCheckType    = "gcp:compute/regionHealthCheck:RegionHealthCheck"
	instanceGroupType  = "gcp:compute/instanceGroup:InstanceGroup"
	backendServiceType = "gcp:compute/regionBackendService:RegionBackendService"
	forwardingRuleType = "gcp:compute/forwardingRule:ForwardingRule"
	DiskType           = "gcp:compute/disk:Disk"
)

// Words says what the types are called.
func Words() map[string]string {
	return map[string]string{
		MachineType: "machine", networkType: "network", subnetworkType: "subnet", routerType: "router", routerNatType: "NAT gateway", firewallType: "firewall rule",
		accountType: "service account", memberType: "role's member", addressType: "public address", healthCheckType: "health check", instanceGroupType: "instance group",
		backendServiceType: "load balancer's targets", forwardingRuleType: "load balancer", DiskType: "disk",
	}
}

// Types lists the types that are used.
func Types() []string { return slices.Sorted(maps.Keys(Words())) }

// Functions are the tokens of the look-ups that are used.
func Functions() []string {
	out := []string{imageFunction}
	for _, by := range lookups() {
		out = append(out, by.token)
	}
	slices.Sort(out)
	return out
}
