// The typed SDKs of the clouds' providers. They are only read, never compiled: a test takes the
// providers' field names out of their source.
module clusterctl/provision/cloud/standin/sdk

go 1.26.0

require (
	github.com/pulumi/pulumi-aws/sdk/v6 v6.83.4
	github.com/pulumi/pulumi-gcp/sdk/v9 v9.6.0
)
