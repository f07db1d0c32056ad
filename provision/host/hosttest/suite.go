package hosttest

import (
	"testing"

	"clusterctl/provision/host"
)

// Subject is a host under test.
type Subject struct {
	Host host.Host
	// Dir is an empty directory on the host whose files the suite may change.
	Dir string
	// Owner is who may own files there, as user:group; "" means root:root.
	Owner string
	// Drop cuts the connection. nil: the host has none that can be cut.
	Drop func()
}

// Run holds a host that really executes commands to the contract of host.Host. fresh makes a
// new subject for each test; the host must be on this machine, so that it reaches the
// listeners that the suite dials.
func Run(t *testing.T, fresh func(t *testing.T) Subject) {
	RunFiles(t, fresh)
	RunDial(t, fresh)
	RunCommands(t, fresh)
	RunLink(t, fresh)
}

// RunFiles is the part about Put. Of commands it needs cat, ls -A, sha256sum and stat -c.
func RunFiles(t *testing.T, fresh func(t *testing.T) Subject) {
	runParts(t, fresh, []part{
		{"PutSetsContentModeAndOwner", putSetsContentModeAndOwner},
		{"PutTakesHostileNames", putTakesHostileNames},
		{"PutMakesParentsReadable", putMakesParentsReadable},
		{"PutReplacesContentAndMode", putReplacesContentAndMode},
		{"PutInstallsManyFilesInOneCall", putInstallsManyFiles},
		{"PutCarriesBigFiles", putCarriesBigFiles},
		{"PutRefusesRelativePaths", putRefusesRelativePaths},
		{"PutOfWrongDigestLeavesTheOldFile", putOfWrongDigestLeavesOld},
		{"PutOfShortOrLongSourceLeavesTheOldFile", putOfWrongSizeLeavesOld},
		{"PutOfBrokenSourceLeavesTheOldFile", putOfBrokenSourceLeavesOld},
		{"PutInstallsWhatCameBeforeTheBrokenFile", putInstallsWhatCameBefore},
		{"CancelledPutLeavesTheOldFileAndNothingElse", cancelledPutLeavesOld},
		{"PutOverADirectoryIsRefused", putOverDirectoryRefused},
		{"PutFromManyGoroutines", putFromManyGoroutines},
	})
}

// RunCommands is the part about Run.
func RunCommands(t *testing.T, fresh func(t *testing.T) Subject) {
	runParts(t, fresh, []part{
		{"RunPassesHostileArguments", runPassesHostileArguments},
		{"RunTellsExitCodes", runTellsExitCodes},
		{"RunKeepsOutputsApart", runKeepsOutputsApart},
		{"RunCarriesStandardInput", runCarriesStdin},
		{"RunEndsThoughInputIsNotRead", runEndsThoughInputIsNotRead},
		{"RunOfNothingIsRefused", runOfNothingIsRefused},
		{"CancelEndsTheCommandAndItsChildren", cancelEndsCommandAndChildren},
		{"RunFromManyGoroutines", runFromManyGoroutines},
		{"PutReplacesARunningProgram", putReplacesRunningProgram},
	})
}

// RunDial is the part about Dial.
func RunDial(t *testing.T, fresh func(t *testing.T) Subject) {
	runParts(t, fresh, []part{
		{"DialCarriesBytesBothWays", dialCarriesBytes},
		{"DialTakesIPv6", dialTakesIPv6},
		{"DialedConnHasDeadlines", dialedConnHasDeadlines},
		{"DialOfAClosedPortIsAnError", dialOfClosedPort},
	})
}

// RunLink is the part about connections that end. It needs Subject.Drop.
func RunLink(t *testing.T, fresh func(t *testing.T) Subject) {
	runParts(t, fresh, []part{
		{"LostConnectionIsReportedThenWorksAgain", lostConnectionWorksAgain},
		{"CutPutIsPutAgain", cutPutIsPutAgain},
		{"WorksAgainAfterClose", worksAgainAfterClose},
	})
}

type part struct {
	name string
	test func(*testing.T, Subject)
}

func runParts(t *testing.T, fresh func(t *testing.T) Subject, parts []part) {
	for _, p := range parts {
		t.Run(p.name, func(t *testing.T) { p.test(t, fresh(t)) })
	}
}
