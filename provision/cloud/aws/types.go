package aws

import (
	"maps"
	"slices"

	"github.com/pulumi/pulumi/sdk/v3/go/pulumi"
)

// The inputs of the types that are used, as the provider names them (pulumi-aws, version Version).
// A test compares names and kinds with the source of the provider's typed SDK, which is read and
// not compiled.
type (
	vpcArgs struct {
		CidrBlock          pulumi.StringInput `pulumi:"cidrBlock"`
		EnableDnsHostnames pulumi.BoolInput   `pulumi:"enableDnsHostnames"`
		EnableDnsSupport   pulumi.BoolInput   `pulumi:"enableDnsSupport"`
		Tags               pulumi.StringMap   `pulumi:"tags"`
	}
	internetGatewayArgs struct {
		VpcId pulumi.StringInput `pulumi:"vpcId"`
		Tags  pulumi.StringMap   `pulumi:"tags"`
	}
	subnetArgs struct {
		VpcId            pulumi.StringInput `pulumi:"vpcId"`
		AvailabilityZone pulumi.StringInput `pulumi:"availabilityZone"`
		CidrBlock        pulumi.StringInput `pulumi:"cidrBlock"`
		Tags             pulumi.StringMap   `pulumi:"tags"`
	}
	reservationArgs struct {
		SubnetId        pulumi.StringInput `pulumi:"subnetId"`
		CidrBlock       pulumi.StringInput `pulumi:"cidrBlock"`
		ReservationType pulumi.StringInput `pulumi:"reservationType"`
		Description     pulumi.StringInput `pulumi:"description"`
	}
	eipArgs struct {
		Domain   pulumi.StringInput `pulumi:"domain"`
		Instance pulumi.StringInput `pulumi:"instance"`
		Tags     pulumi.StringMap   `pulumi:"tags"`
	}
	natGatewayArgs struct {
		AllocationId pulumi.StringInput `pulumi:"allocationId"`
		SubnetId     pulumi.StringInput `pulumi:"subnetId"`
		Tags         pulumi.StringMap   `pulumi:"tags"`
	}
	routeTableArgs struct {
		VpcId pulumi.StringInput `pulumi:"vpcId"`
		Tags  pulumi.StringMap   `pulumi:"tags"`
	}
	routeArgs struct {
		RouteTableId         pulumi.StringInput `pulumi:"routeTableId"`
		DestinationCidrBlock pulumi.StringInput `pulumi:"destinationCidrBlock"`
		GatewayId            pulumi.StringInput `pulumi:"gatewayId"`
		NatGatewayId         pulumi.StringInput `pulumi:"natGatewayId"`
	}
	routeTableAssociationArgs struct {
		RouteTableId pulumi.StringInput `pulumi:"routeTableId"`
		SubnetId     pulumi.StringInput `pulumi:"subnetId"`
	}
	securityGroupArgs struct {
		Name        pulumi.StringInput `pulumi:"name"`
		Description pulumi.StringInput `pulumi:"description"`
		VpcId       pulumi.StringInput `pulumi:"vpcId"`
		Tags        pulumi.StringMap   `pulumi:"tags"`
	}
	ruleArgs struct { // incoming and outgoing
		SecurityGroupId           pulumi.StringInput `pulumi:"securityGroupId"`
		ReferencedSecurityGroupId pulumi.StringInput `pulumi:"referencedSecurityGroupId"`
		CidrIpv4                  pulumi.StringInput `pulumi:"cidrIpv4"`
		IpProtocol                pulumi.StringInput `pulumi:"ipProtocol"`
		FromPort                  pulumi.IntInput    `pulumi:"fromPort"`
		ToPort                    pulumi.IntInput    `pulumi:"toPort"`
		Description               pulumi.StringInput `pulumi:"description"`
		Tags                      pulumi.StringMap   `pulumi:"tags"`
	}
	keyPairArgs struct {
		KeyName   pulumi.StringInput `pulumi:"keyName"`
		PublicKey pulumi.StringInput `pulumi:"publicKey"`
		Tags      pulumi.StringMap   `pulumi:"tags"`
	}
	roleArgs struct {
		Name             pulumi.StringInput `pulumi:"name"`
		AssumeRolePolicy pulumi.StringInput `pulumi:"assumeRolePolicy"`
		Tags             pulumi.StringMap   `pulumi:"tags"`
	}
	rolePolicyArgs struct {
		Name   pulumi.StringInput `pulumi:"name"`
		Role   pulumi.StringInput `pulumi:"role"`
		Policy pulumi.StringInput `pulumi:"policy"`
	}
	instanceProfileArgs struct {
		Name pulumi.StringInput `pulumi:"name"`
		Role pulumi.StringInput `pulumi:"role"`
		Tags pulumi.StringMap   `pulumi:"tags"`
	}
)

type (
	instanceArgs struct {
		Ami                      pulumi.StringInput `pulumi:"ami"`
		InstanceType             pulumi.StringInput `pulumi:"instanceType"`
		AvailabilityZone         pulumi.StringInput `pulumi:"availabilityZone"`
		SubnetId                 pulumi.StringInput `pulumi:"subnetId"`
		PrivateIp                pulumi.StringInput `pulumi:"privateIp"`
		AssociatePublicIpAddress pulumi.BoolInput   `pulumi:"associatePublicIpAddress"`
		VpcSecurityGroupIds      pulumi.StringArray `pulumi:"vpcSecurityGroupIds"`
		KeyName                  pulumi.StringInput `pulumi:"keyName"`
		IamInstanceProfile       pulumi.StringInput `pulumi:"iamInstanceProfile"`
		MetadataOptions          *metadataOptions   `pulumi:"metadataOptions"`
		RootBlockDevice          *disk              `pulumi:"rootBlockDevice"`
		EbsBlockDevices          []disk             `pulumi:"ebsBlockDevices"`
		UserData                 pulumi.StringInput `pulumi:"userData"`
		Tags                     pulumi.StringMap   `pulumi:"tags"`
	}
	metadataOptions struct {
		HttpEndpoint            pulumi.StringInput `pulumi:"httpEndpoint"`
		HttpTokens              pulumi.StringInput `pulumi:"httpTokens"`
		HttpPutResponseHopLimit pulumi.IntInput    `pulumi:"httpPutResponseHopLimit"`
	}
	disk struct {
		DeviceName pulumi.StringInput `pulumi:"deviceName"` // not of root disks
		VolumeType pulumi.StringInput `pulumi:"volumeType"`
		VolumeSize pulumi.IntInput    `pulumi:"volumeSize"`
		Encrypted  pulumi.BoolInput   `pulumi:"encrypted"`
		Iops       pulumi.IntInput    `pulumi:"iops"`
		Throughput pulumi.IntInput    `pulumi:"throughput"`
		Tags       pulumi.StringMap   `pulumi:"tags"`
	}
	loadBalancerArgs struct {
		Name                         pulumi.StringInput `pulumi:"name"`
		LoadBalancerType             pulumi.StringInput `pulumi:"loadBalancerType"`
		Internal                     pulumi.BoolInput   `pulumi:"internal"`
		Subnets                      pulumi.StringArray `pulumi:"subnets"`
		SecurityGroups               pulumi.StringArray `pulumi:"securityGroups"`
		EnableCrossZoneLoadBalancing pulumi.BoolInput   `pulumi:"enableCrossZoneLoadBalancing"`
		Tags                         pulumi.StringMap   `pulumi:"tags"`
	}
	targetGroupArgs struct {
		Name                pulumi.StringInput `pulumi:"name"`
		Port                pulumi.IntInput    `pulumi:"port"`
		Protocol            pulumi.StringInput `pulumi:"protocol"`
		TargetType          pulumi.StringInput `pulumi:"targetType"`
		VpcId               pulumi.StringInput `pulumi:"vpcId"`
		PreserveClientIp    pulumi.StringInput `pulumi:"preserveClientIp"`
		DeregistrationDelay pulumi.IntInput    `pulumi:"deregistrationDelay"`
		HealthCheck         *healthCheck       `pulumi:"healthCheck"`
		Tags                pulumi.StringMap   `pulumi:"tags"`
	}
	healthCheck struct {
		Protocol           pulumi.StringInput `pulumi:"protocol"`
		Path               pulumi.StringInput `pulumi:"path"`
		Port               pulumi.StringInput `pulumi:"port"`
		Matcher            pulumi.StringInput `pulumi:"matcher"`
		Interval           pulumi.IntInput    `pulumi:"interval"`
		HealthyThreshold   pulumi.IntInput    `pulumi:"healthyThreshold"`
		UnhealthyThreshold pulumi.IntInput    `pulumi:"unhealthyThreshold"`
	}
	listenerArgs struct {
		LoadBalancerArn pulumi.StringInput `pulumi:"loadBalancerArn"`
		Port            pulumi.IntInput    `pulumi:"port"`
		Protocol        pulumi.StringInput `pulumi:"protocol"`
		DefaultActions  []action           `pulumi:"defaultActions"`
		Tags            pulumi.StringMap   `pulumi:"tags"`
	}
	action struct {
		Type           pulumi.StringInput `pulumi:"type"`
		TargetGroupArn pulumi.StringInput `pulumi:"targetGroupArn"`
	}
	targetArgs struct {
		TargetGroupArn pulumi.StringInput `pulumi:"targetGroupArn"`
		TargetId       pulumi.StringInput `pulumi:"targetId"`
	}
)

// The types' tokens.
const (
	vpcType                   = "aws:ec2/vpc:Vpc"
	internetGatewayType       = "aws:ec2/internetGateway:InternetGateway"
	subnetType                = "aws:ec2/subnet:Subnet"
	reservationType           = "aws:ec2/subnetCidrReservation:SubnetCidrReservation"
	eipType                   = "aws:ec2/eip:Eip"
	natGatewayType            = "aws:ec2/natGateway:NatGateway"
	routeTableType            = "aws:ec2/routeTable:RouteTable"
	routeType                 = "aws:ec2/route:Route"
	routeTableAssociationType = "aws:ec2/routeTableAssociation:RouteTableAssociation"
	securityGroupType         = "aws:ec2/securityGroup:SecurityGroup"
	ingressType               = "aws:vpc/securityGroupIngressRule:SecurityGroupIngressRule"
	egressType                = "aws:vpc/securityGroupEgressRule:SecurityGroupEgressRule"
	keyPairType               = "aws:ec2/keyPair:KeyPair"
	roleType                  = "aws:iam/role:Role"
	rolePolicyType            = "aws:iam/rolePolicy:RolePolicy"
	instanceProfileType       = "aws:iam/instanceProfile:InstanceProfile"
	loadBalancerType          = "aws:lb/loadBalancer:LoadBalancer"
	targetGroupType           = "aws:lb/targetGroup:TargetGroup"
	listenerType              = "aws:lb/listener:Listener"
	targetType                = "aws:lb/targetGroupAttachment:TargetGroupAttachment"
)

// Words says what the types are called.
func Words() map[string]string {
	return map[string]string{
		MachineType: "machine", vpcType: "network", internetGatewayType: "internet gateway", subnetType: "subnet", reservationType: "address reservation",
		eipType: "public address", natGatewayType: "NAT gateway", routeTableType: "route table", routeType: "route", routeTableAssociationType: "route table's subnet",
		securityGroupType: "security group", ingressType: "incoming rule", egressType: "outgoing rule", keyPairType: "key pair", roleType: "role",
		rolePolicyType: "role's policy", instanceProfileType: "instance profile", loadBalancerType: "load balancer", targetGroupType: "target group",
		listenerType: "load balancer's port", targetType: "load balancer's target",
	}
}

// Types lists the types that are used.
func Types() []string { return slices.Sorted(maps.Keys(Words())) }

// Functions are the tokens of the look-ups that are used.
func Functions() []string {
	out := []string{imageFunction, machinesBy().token, taggedFunction, classicFunction}
	for _, by := range lookups() {
		out = append(out, by.token)
	}
	for _, by := range singles() {
		out = append(out, by.token)
	}
	for _, l := range leftovers() {
		out = append(out, l.by.token)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
