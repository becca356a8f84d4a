package hooktest

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/internal/wiretest"
)

// Configure gives a server the configurations, or what they have of some scenes, and waits until it asks the webhook.
func (w *Webhook) Configure(t testing.TB, c *wiretest.Client, scenes ...string) {
	t.Helper()
	mutating, validating := w.Configurations(scenes...)
	post := func(path string, obj any) {
		t.Helper()
		body, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		if answer := c.Ask(t, "POST "+path+"\n\n"+string(body)); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	mutating.APIVersion, mutating.Kind = "admissionregistration.k8s.io/v1", "MutatingWebhookConfiguration"
	validating.APIVersion, validating.Kind = "admissionregistration.k8s.io/v1", "ValidatingWebhookConfiguration"
	post("/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations", validating)
	w.await(t, c, "not in this house")
	post("/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations", mutating)
	w.await(t, c, "not even changed")
}

// await writes an object that the last webhook of a configuration refuses, until it does.
func (w *Webhook) await(t testing.TB, c *wiretest.Client, refusal string) {
	t.Helper()
	const object = `{"apiVersion":"v1","kind":"ServiceAccount","metadata":{"name":"ready-%d","labels":{"scene":"ready"}}}`
	deadline := time.Now().Add(3 * time.Minute)
	for i := 0; ; i++ {
		answer := c.Ask(t, "POST /api/v1/namespaces/default/serviceaccounts?dryRun=All\n\n"+fmt.Sprintf(object, i))
		if strings.Contains(answer, refusal) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("the webhook is not asked: %s", answer)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Answer does a command of a transcript: ask sends a request, setup shows only how it was answered, await does so until
// it succeeds, and review shows what the webhook was sent last.
func (w *Webhook) Answer(t testing.TB, c *wiretest.Client, command, input string) string {
	t.Helper()
	answer := ""
	switch command {
	case "ask":
		answer = c.Ask(t, input)
	case "setup":
		return strings.SplitN(c.Ask(t, input), "\n", 2)[0]
	case "await":
		// A definition is served some time after it was made.
		for deadline := time.Now().Add(3 * time.Minute); time.Now().Before(deadline); time.Sleep(50 * time.Millisecond) {
			if answer = c.Ask(t, input); strings.HasPrefix(answer, "200") {
				return "served"
			}
		}
	case "review":
		client := w.Server.Client()
		answer = (&wiretest.Client{URL: w.Server.URL, Admin: client, Anyone: client}).Ask(t, "GET /last")
	default:
		t.Fatalf("unknown command %q", command)
	}
	return strings.ReplaceAll(answer, w.Server.Listener.Addr().String(), "<webhook>")
}
