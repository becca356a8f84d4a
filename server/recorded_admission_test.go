package server_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/refusal"
	"github.com/kx-apiserver/kx/server/internal/hooktest"
)

// recordedAdmissionFile are journeys of writes that were changed or refused on their way in.
const recordedAdmissionFile = "../tui/testdata/admission.json"

const (
	policyChanges = `{"metadata":{"name":"house-rules"},"spec":{"reinvocationPolicy":"Never","mutations":[{"patchType":"ApplyConfiguration",
"applyConfiguration":{"expression":"Object{data: {'by': 'the policy'}}"}}],"matchConstraints":{"resourceRules":[
{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`
	policyRefuses = `{"metadata":{"name":"short-names"},"spec":{"validations":[{"expression":"size(object.metadata.name) < 10","message":"the name is too long"},
{"expression":"object.metadata.name != ''"}],"matchConstraints":{"resourceRules":[
{"apiGroups":[""],"apiVersions":["v1"],"operations":["CREATE"],"resources":["configmaps"]}]}}}`
	bindsPolicy   = `{"metadata":{"name":"everywhere"},"spec":{"policyName":"%s"%s}}`
	recordedWrite = `{"metadata":{"name":%q,"labels":{"scene":%q}},"data":{"a":"1"}}`
)

// TestRecordedAdmission sends writes that a webhook and a policy change, and that a webhook, a broken webhook, a policy and the authorizer
// refuse. Of each field the journey names who changed it, and of each refusal who decided. -rewrite records the journeys anew.
func TestRecordedAdmission(t *testing.T) {
	t.Parallel()
	r := &recorder{running: start(t, tokens(t, "secret,ann,1,\"dev\"\n"), uncollected), t: t}
	w, c := hooktest.New(t), r.client(t)
	w.Configure(t, c, "label", "deny", "broken")
	for _, post := range [][2]string{
		{"mutatingadmissionpolicies", policyChanges}, {"mutatingadmissionpolicybindings", fmt.Sprintf(bindsPolicy, "house-rules", "")},
		{"validatingadmissionpolicies", policyRefuses}, {"validatingadmissionpolicybindings", fmt.Sprintf(bindsPolicy, "short-names", `,"validationActions":["Deny"]`)},
	} {
		if answer := c.Ask(t, "POST /apis/admissionregistration.k8s.io/v1/"+post[0]+"\n\n"+post[1]); !strings.HasPrefix(answer, "201") {
			t.Fatal(answer)
		}
	}
	settle(t, c)
	r.filled("namespaces")
	r.send("POST", recordedMaps, fmt.Sprintf(recordedWrite, "changed", "label"), 201)
	r.send("POST", recordedMaps, fmt.Sprintf(recordedWrite, "denied", "deny"), 403)
	r.send("POST", recordedMaps, fmt.Sprintf(recordedWrite, "broken", "broken"), 500)
	r.send("POST", recordedMaps, fmt.Sprintf(recordedWrite, "a-name-that-is-long", "none"), 422)
	res, data := ask(t, r.anyone(t), "POST", r.URL+recordedMaps, strings.NewReader(fmt.Sprintf(recordedWrite, "mine", "none")), "Content-Type: application/json", "Authorization: Bearer secret")
	if res.StatusCode != 403 {
		t.Fatalf("%s %s", res.Status, data)
	}
	r.keep(res.Header.Get("Kx-Journey"), 0)
	r.compare("adm", recordedAdmissionFile, func(data []byte) []byte {
		return []byte(strings.ReplaceAll(string(data), w.Server.Listener.Addr().String(), "127.0.0.1:9443"))
	})
	for path, want := range map[string]string{
		"data.by": "an admission policy, house-rules/everywhere", "metadata.labels.team": "a webhook, scenes/label.label.example.com",
		"metadata.labels.second": "a webhook, scenes/second.label.example.com",
	} {
		changes, err := blame.FindChanges(r.journeys[0], path)
		must(t, err)
		if !slices.ContainsFunc(changes, func(c blame.Change) bool { return c.Who == want }) || len(changes) != 1 {
			t.Errorf("%s has its value by %+v, want %q", path, changes, want)
		}
	}
	for i, want := range map[int]string{
		1: "handler.webhook scenes/deny.deny.example.com webhook-denied", 2: "handler.webhook scenes/broken.broken.example.com webhook-failed",
		3: "handler.policy short-names/everywhere policy-denied", 4: "filter.authorization  no-binding",
	} {
		got := ""
		if at := refusal.Step(r.journeys[i]); at >= 0 {
			s := &r.journeys[i].Status.Steps[at]
			got = s.ID + " " + s.Subject + " " + s.Reason.Kind
		}
		if got != want {
			t.Errorf("%s was refused by %q, want %q", r.journeys[i].Spec.URI, got, want)
		}
	}
}
