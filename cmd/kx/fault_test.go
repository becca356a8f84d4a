package main

import (
	"regexp"
	"testing"
)

// TestFault makes faults at the prompt, meets them there, and ends them.
func TestFault(t *testing.T) {
	t.Parallel()
	server := serve(t, "--ephemeral", "--allow-faults")
	run := func(code int, want string, args ...string) {
		t.Helper()
		cmd := kx(t, append(args, "--kubeconfig", server.kubeconfig)...)
		out, _ := cmd.CombinedOutput()
		if got := cmd.ProcessState.ExitCode(); got != code || !regexp.MustCompile("(?s)^(?:"+want+")$").Match(out) {
			t.Errorf("kx %q exits with %d and says %q, want %d and %q", args, got, out, code, want)
		}
	}
	run(0, "there are no faults: kx fault add makes one\n", "fault", "ls")
	run(0, `conflict-\w+: Fail 409 at verb:create name:first; kx fault rm conflict-\w+ ends it\n`,
		"fault", "add", "conflict", "verb:create name:first", "--times", "1", "--message", "not yet")
	run(1, ".*not yet.*", "create", "configmap", "first")
	run(0, "configmap/first created\n", "create", "configmap", "first")
	run(0, `status-\w+: Fail 422 at \S+; .*`, "fault", "add", "status", "422", "resource:secrets")
	run(0, `delay-\w+: Delay 1ms at \S+; .*`, "fault", "add", "delay", "1ms", "resource:configmaps")
	run(0, `lag-\w+: Lag 2s at resource:secrets; .*`, "fault", "add", "lag", "2s", "resource:secrets")
	run(0, `gone-\w+: Fail 410 at step:handler.watch-event \(resource:secrets\); .*`, "fault", "add", "gone", "resource:secrets")
	run(1, `.*injected by fault "status-.*`, "create", "secret", "generic", "s")
	run(0, `conflict-\w+: Fail 409 at verb:create name:first: met \d+ times, hit 1\n.*status-\w+: Fail 422 at resource:secrets: met 1 times, hit 1\n`, "fault", "ls")

	const hooks = "testdata/webhook-down.yaml"
	run(0, ".* created\n", "create", "-f", hooks)
	run(1, `.*no admission webhook "guard": it has guard.example.com\n`, "fault", "add", "webhook-down", "guard", "verb:create")
	run(0, `webhook-down-\w+: WebhookDown Certificate at step:handler.webhook key:/guard.example.com \(verb:create\); .*`,
		"fault", "add", "webhook-down", "guard.example.com", "verb:create", "--outage", "certificate")
	run(1, `.*failed calling webhook "guard.example.com".*unknown authority.*`, "create", "serviceaccount", "guarded")

	for want, args := range map[string][]string{
		`.*unknown command "conflit" for "kx fault add".*`: {"conflit", "verb:create"},
		`.*"often": give an HTTP status.*`:                 {"status", "often", "verb:create"},
		`.*"soon": give a time, such as 200ms.*`:           {"delay", "soon", "verb:create"},
		`.*fault add lag: "late": give a time.*`:           {"lag", "late", "verb:watch"},
		`.*from 400 to 599.*`:                              {"status", "200", "verb:create"},
		`.*there is no verb "craete".*create.*`:            {"conflict", "verb:craete"},
		`.*the filter is empty.*`:                          {"conflict", ""},
		`.*--outage "asleep": give refused.*`:              {"webhook-down", "guard.example.com", "verb:create", "--outage", "asleep"},
	} {
		run(1, want, append([]string{"fault", "add"}, args...)...)
	}
	run(1, `.*end the fault nothing: .*not found.*`, "fault", "rm", "nothing")
	run(1, ".*give the names of faults, or --all.*", "fault", "rm")
	run(0, `(\S+: ended\n){6}`, "fault", "rm", "--all")
	run(1, ".*connection refused.*", "create", "serviceaccount", "guarded") // nothing listens there
}
