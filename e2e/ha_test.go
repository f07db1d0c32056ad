//go:build e2e

package e2e

import (
	"os"
	"testing"
)

// TestHA takes one cluster of three control planes and two workers through its life. Each part
// needs what the parts before it left.
func TestHA(t *testing.T) {
	before := traces(t, "e2e")
	c := newCluster(t, "e2e", haSpec(t))
	life := []struct {
		name string
		part func(*testing.T, *cluster)
	}{
		{"UpMakesAClusterThatAnswers", upMakesACluster},
		{"UpAgainChangesNothing", upAgainChangesNothing},
		{"StatusShowsAHealthyCluster", statusShowsHealth},
		{"AnotherSpecOfTheSameNameIsRefused", sameNameIsRefused},
		{"PodsReachEachOther", podsReachEachOther},
		{"StrangersAreKeptOut", strangersAreKeptOut},
		{"SecretsAreEncryptedInEtcd", secretsAreEncrypted},
		{"ArgumentsArriveByteForByte", argumentsArrive},
		{"KubeletsServeCertificatesOfTheCluster", kubeletCertificates},
		{"KeysAreOnlyWhereTheyAreNeeded", keysStayHome},
		{"NoSecretIsPrintedOrLogged", nothingLeaks},
		{"LosingTheEtcdLeaderIsSurvived", leaderIsLost},
		{"DriftIsNamedAndRepaired", driftIsRepaired},
		{"InterruptedRolloutGoesOn", interruptedRollout},
		{"ACrashingSchedulerIsPutBack", crashingScheduler},
		{"OtherMachinesAreLockedOut", otherMachinesAreLockedOut},
		{"ADeadWorkerIsMadeAnewAndOneThatLeavesIsDeleted", workerDiesAndLeaves},
	}
	for _, l := range life {
		if !t.Run(l.name, func(t *testing.T) { l.part(t, c) }) {
			return
		}
	}
	t.Run("DownLeavesNothing", func(t *testing.T) { downLeavesNothing(t, c, before) })
}

// haSpec is the example under a name of its own, with arguments that a shell or systemd would
// like to read as their own language.
func haSpec(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile("../examples/local-ha.yaml")
	if err != nil {
		t.Fatal(err)
	}
	out := replace(t, string(text), "\n  name: local-ha\n", "\n  name: e2e\n")
	return replace(t, out, "    version: "+kubernetesVersion+"\n", "    version: "+kubernetesVersion+"\n"+hostileArguments)
}

const (
	hostileOrigins  = `//e2e %h\.example\.com(:|$)`
	hostileEviction = `memory.available<100Mi,nodefs.available<5%`

	hostileArguments = `    apiServerArgs:
      cors-allowed-origins: '` + hostileOrigins + `'
      event-ttl: 1h0m0s
    kubeletArgs:
      eviction-hard: ` + hostileEviction + `
      node-labels: note=a_b
`
)

// The hosts of the cluster.
var (
	planes  = []string{"e2e-cp-1", "e2e-cp-2", "e2e-cp-3"}
	workers = []string{"e2e-default-1", "e2e-default-2"}
	all     = append(append([]string{}, planes...), workers...)
)
