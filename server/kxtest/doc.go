// Package kxtest gives each test an API server of its own: a process of the kx binary, which is ready in a fraction of
// a second and forgets all that it stored.
//
//	func TestMain(m *testing.M) { kxtest.Main(m) }
//
//	func TestConflictStorm(t *testing.T) {
//		s := kxtest.Start(t, kxtest.CRDs("../config/crd"), kxtest.Webhooks("../config/webhook"))
//		f := s.Fault(t, kxtest.Conflict().On("update", "widgets").Times(5))
//		startManager(t, s.As("../config/rbac/role.yaml")) // with the rights of that role, and no others
//		…
//		f.MustHit(t, 5)
//		s.MustNotSee(t, "code:403 agent:manager")
//	}
//
// Three things that a test gets nowhere else: the server fails on purpose where the test says ([Server.Fault],
// [Server.Restart]); it remembers each request with its answer ([Server.Journeys], [Server.MustSee],
// [Server.MustNotSee], [Server.MustNotOverwrite]), and adds them up ([Server.Bill], [Server.MustStayWithin],
// [Server.MustSettle], [Server.MinimalRole]); and a failed test leaves a page that shows what happened, step by step.
//
// [Explore] runs a test once for each write of a controller and each thing that can go wrong at it, and names the first
// that the controller does not get over.
//
// # The binary
//
// The package needs the kx binary, and looks for it in this order:
//
//   - the file that the variable KX names;
//   - kx in the PATH;
//   - the user's cache, where it builds one: from kx's source if this package lies in it, or else with go install, in
//     the version of this package. This takes minutes, once.
//
// With [InProcess] the server is a part of the test's process instead.
//
// # Versions
//
// The module needs client-go, apimachinery and api, at an old version on purpose. So the version of Kubernetes'
// libraries is the choice of the module that uses it.
//
// # A server for several tests
//
// [Start] gives each test a server of its own. That is the rule, since a server costs less than a careful cleanup:
// tests can run in parallel, use the same names, and make requests fail. Tests that only read may share one: [Main]
// gets its options, and [Start] with [Shared] returns it. A shared server refuses faults, which would hit
// the requests of other tests.
//
// Where servers start too slowly for a package, [Start] with [Space] gives a test a server with the options of [Main]
// for itself, and rewinds it for the next test.
//
// Where the world is expensive to make, a test can go back to it: [Server.Snapshot] notes the state, and
// [Server.Rewind] brings it back in milliseconds, while informers stay connected. [Server.Fork] starts a second server
// with the same state.
//
// [Server.As], [Server.User] and [Injected.Hits] fail the test that called Start, and a test can't be failed from a
// subtest that runs in parallel to it. Such a subtest starts a server of its own, or gets its users before it starts.
//
// # The end
//
// The server stops at the end of its test. Webhook configurations and faults go first, so that no request waits for
// them. If the server takes too long, the test fails with the requests that were under way, and the process is killed.
// If the test's process dies, its servers see the end of their standard input and stop; a directory that stays behind
// is removed by the next start.
//
// The server's log is in the log of a test that failed, and in that of go test -v. A failed test keeps its requests,
// the latest 200 and the refused ones before them, as a page of HTML, which kx tui -r opens too. It goes to the
// directory that the variable KXTEST_ARTIFACTS names, or to the test's ArtifactDir under go test -artifacts, or to the
// directory for temporary files. Its path is the last line of the log.
package kxtest
