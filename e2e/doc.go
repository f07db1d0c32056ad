// Package e2e tests the built program on real hosts: clusters come up, serve pods, lose hosts,
// are changed, and go without a trace. The tests have the build tag e2e; they need root, the
// program in bin and a bundle of the version that the examples name ("make e2e" sees to both).
//
// The environment: CLUSTERCTL_CACHE is where bundles and base trees are kept, CLUSTERCTL_BIN the
// program under test.
package e2e
