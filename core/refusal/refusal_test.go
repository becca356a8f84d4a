package refusal

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/lang"
	"github.com/kx-apiserver/kx/core/steps"
)

// TestOf is about refusals that a server makes seldom; the common ones a test of the commands asks a server for.
func TestOf(t *testing.T) {
	step := func(id steps.ID, parent int32, text string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Parent: parent, Error: text, Title: id.Info().Title, TookNanos: 1000}
	}
	inGroups := func(groups ...string) v1alpha1.Step {
		s := step(steps.FilterAuthorization, -1, "forbidden")
		for _, group := range groups {
			s.Attributes = append(s.Attributes, v1alpha1.Attribute{Name: "group", Value: group})
		}
		return s
	}
	for _, test := range []struct {
		name   string
		status v1alpha1.JourneyStatus
		step   int
		facts  string
		next   string
	}{
		{"an answer", v1alpha1.JourneyStatus{Code: 200}, -2, "", ""},
		{"a watch that began too far back", v1alpha1.JourneyStatus{Code: 200, WatchError: 410, Steps: []v1alpha1.Step{
			step(steps.HandlerWatch, -1, "too old resource version: 2 (60)"),
		}}, 0, "what: too old resource version: 2 (60)|missed: the changes after revision 2: those before revision 60 are no longer kept", "begin anew"},
		{"no seat", v1alpha1.JourneyStatus{Code: 429, Steps: []v1alpha1.Step{step(steps.FilterInFlight, -1, "too many requests")}}, 0, "what: too many requests", "Retry-After"},
		{"no right", v1alpha1.JourneyStatus{Code: 403, Steps: []v1alpha1.Step{step(steps.FilterAuthorization, -1, "forbidden")}}, 0, "who: ann|decided by: find out whether they may|what: forbidden",
			"kx auth why delete configmaps 'it'\\''s' -n default --as ann writes"},
		{"no right of groups", v1alpha1.JourneyStatus{Code: 403, Steps: []v1alpha1.Step{inGroups("system:serviceaccounts", "the devs")}}, 0, "who: ann|decided by: find out whether they may|what: forbidden",
			"--as ann --as-group system:serviceaccounts --as-group 'the devs' writes"},
		{"no right of an account", v1alpha1.JourneyStatus{Code: 403, Steps: []v1alpha1.Step{inGroups("system:serviceaccounts", "system:serviceaccounts:x")}}, 0, "who: ann|decided by: find out whether they may|what: forbidden",
			"--as ann writes"},
		{"no right to act as another", v1alpha1.JourneyStatus{Code: 403, Steps: []v1alpha1.Step{{
			ID: steps.FilterImpersonation.String(), Parent: -1, Error: "forbidden", Title: "act", Attributes: []v1alpha1.Attribute{
				{Name: "group", Value: "dev"}, {Name: "resource", Value: "userextras.authentication.k8s.io"}, {Name: "subresource", Value: "team"}, {Name: "name", Value: "red"},
			},
		}}}, 0, "who: root|decided by: act|what: forbidden",
			"kx auth why impersonate userextras.authentication.k8s.io red --subresource team --as root --as-group dev writes"},
		{"too late", v1alpha1.JourneyStatus{Code: 504, TookMicros: 3000, Steps: []v1alpha1.Step{
			step(steps.HandlerCreate, -1, "timeout"), step(steps.EtcdTxn, 0, "timeout"), step(steps.HandlerDecode, 0, ""),
		}}, 1, "what: timeout|the time: 1µs of 3ms went into KV.Txn", "may have happened"},
		{"a read too late", v1alpha1.JourneyStatus{Code: 504, TookMicros: 3000, Steps: []v1alpha1.Step{step(steps.HandlerGet, -1, "timeout")}},
			0, "what: timeout|the time: 1µs of 3ms went into " + steps.HandlerGet.Info().Title, "changed nothing"},
		{"an injected failure", v1alpha1.JourneyStatus{Code: 503, Steps: []v1alpha1.Step{step(steps.RESTGet, -1, "injected")},
			Interventions: []v1alpha1.Intervention{{Kind: "Failed", By: `fault "f"`, User: "kx-admin", Message: "failed"}}}, 0, `injected: nothing was wrong: failed|by: fault "f" kx-admin`, "fault"},
		{"several field errors", v1alpha1.JourneyStatus{Code: 422, Steps: []v1alpha1.Step{
			step(steps.HandlerCreate, -1, `X "a" is invalid: [spec.a: Invalid value: "x, y: z]": no, spec.b[0]: Required value: {"c", "d"}]`),
		}}, 0, `field: spec.a: Invalid value: "x, y: z]": no|field: spec.b[0]: Required value: {"c", "d"}`, "kubectl explain"},
	} {
		j := &v1alpha1.Journey{Status: test.status}
		if test.status.Code == 403 {
			j.Spec = v1alpha1.JourneySpec{Verb: "delete", Resource: "configmaps", Namespace: "default", Name: "it's", User: "root", ImpersonatedUser: "ann"}
		}
		if strings.HasPrefix(test.name, "a read") {
			j.Spec.Verb = "get"
		}
		c := Explain(j, nil, lang.English)
		if test.step == -2 {
			if c != nil {
				t.Errorf("%s: %+v", test.name, c)
			}
			continue
		}
		var facts []string
		for _, f := range c.Facts {
			facts = append(facts, f.Name+": "+strings.TrimSpace(f.Text))
		}
		if got := strings.Join(facts, "|"); got != test.facts || c.Step != test.step || !strings.Contains(c.Next, test.next) {
			t.Errorf("%s: step %d, %s, next %s", test.name, c.Step, got, c.Next)
		}
	}
}

// TestAdmission explains writes that a server refused on their way in: it names the webhook or the policy, and what can be done.
func TestAdmission(t *testing.T) {
	data, err := os.ReadFile("../../tui/testdata/admission.json")
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	by := map[string]*v1alpha1.Journey{}
	for i := range list.Items {
		by[list.Items[i].Name] = &list.Items[i]
	}
	for _, test := range []struct {
		journey, title string
		facts          []string
		next           string
		chinese        []string
	}{
		{"adm-2", "403 Forbidden", []string{
			"decided by: the webhook deny.deny.example.com of validatingwebhookconfiguration scenes",
			`what: admission webhook "deny.deny.example.com" denied the request: not in this house`, "why: its rule 1 is about this write: it refuses it",
		}, "have the object be as the webhook wants it, or somebody who may change it narrow its rules: kubectl get validatingwebhookconfiguration scenes -o yaml has them",
			[]string{"validatingwebhookconfiguration scenes 的 webhook deny.deny.example.com", "收窄它的规则"}},
		{"adm-3", "500 Internal Server Error", []string{
			"decided by: the webhook broken.broken.example.com of validatingwebhookconfiguration scenes",
			"why: its rule 1 is about this write, but the call failed, and its failurePolicy is Fail: the write is refused",
		}, "the webhook must run and answer before such objects can be written: its log says more; what is asked of it is in kubectl get validatingwebhookconfiguration scenes -o yaml",
			[]string{"正常运行并应答后"}},
		{"adm-4", "422 Unprocessable Entity", []string{
			"decided by: the policy short-names, by its binding everywhere", "why: 1 of 2 expressions fail: the binding denies the write",
			"expression: size(object.metadata.name) < 10 → false",
		}, "have the object be as the expressions want it: kubectl get validatingadmissionpolicy short-names -o yaml has them, and kubectl get validatingadmissionpolicybinding everywhere -o yaml says where they hold",
			[]string{"策略 short-names（绑定 everywhere）", "修改对象以满足表达式"}},
	} {
		text := func(in lang.Language) string {
			c := Explain(by[test.journey], nil, in)
			lines := []string{c.Title}
			for _, f := range c.Facts {
				lines = append(lines, f.Name+": "+f.Text)
			}
			return strings.Join(append(lines, "do: "+c.Next), "\n")
		}
		got := text(lang.English)
		for _, want := range append([]string{test.title, "do: " + test.next}, test.facts...) {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", test.journey, want, got)
			}
		}
		if strings.Contains(got, "kubectl explain") || strings.Count(got, "expression: ") != strings.Count(strings.Join(test.facts, "\n"), "expression: ") {
			t.Errorf("%s says too much:\n%s", test.journey, got)
		}
		got = text(lang.Chinese)
		for _, want := range test.chinese {
			if !strings.Contains(got, want) {
				t.Errorf("%s: %q is not in\n%s", test.journey, want, got)
			}
		}
	}
}

// TestFirstOfSeveral: of several webhooks that refuse a write, the client hears of one, and so does who asks why.
func TestFirstOfSeveral(t *testing.T) {
	step := func(id steps.ID, parent int32, subject, text string) v1alpha1.Step {
		return v1alpha1.Step{ID: id.String(), Parent: parent, Subject: subject, Error: text}
	}
	j := &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Code: 403, Steps: []v1alpha1.Step{
		step(steps.HandlerApprove, -1, "ValidatingAdmissionWebhook", "no, says b"), step(steps.HandlerWebhook, 0, "c/a", ""),
		step(steps.HandlerWebhook, 0, "c/b", "no, says b"), step(steps.HandlerWebhook, 0, "c/d", "no, says d"),
	}}}
	if got := Step(j); got != 2 {
		t.Errorf("step %d", got)
	}
	j.Status.Steps = j.Status.Steps[:1]
	j.Status.Steps[0].Subject = "PodSecurity"
	if c := Explain(j, nil, lang.English); c.Step != 0 || c.Facts[0].Text != "the admission plugin PodSecurity" {
		t.Errorf("%+v", c)
	}
}

// TestRelated picks the requests that changed the object before another was refused over it, and no others.
func TestRelated(t *testing.T) {
	at := func(name, verb, object string, revision int64, code int32) *v1alpha1.Journey {
		j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Verb: verb, Resource: "configmaps", Namespace: "default", Name: object}, Status: v1alpha1.JourneyStatus{Revision: revision, Code: code}}
		j.Name = name
		return j
	}
	refusedOver := at("r", "update", "a", 0, 409)
	all := []*v1alpha1.Journey{at("3", "patch", "a", 9, 200), at("1", "create", "a", 7, 201), at("2", "update", "b", 8, 200), at("4", "update", "a", 0, 200), at("5", "update", "a", 10, 500), refusedOver}
	var got []string
	for _, j := range RelatedRequests(refusedOver, slices.Values(all)) {
		got = append(got, j.Name)
	}
	if strings.Join(got, " ") != "1 3" {
		t.Errorf("%v", got)
	}
	if found := RelatedRequests(at("x", "get", "a", 0, 200), slices.Values(all)); found != nil {
		t.Errorf("of a request that was answered: %v", found)
	}
	if wanted := RelatedFilter(refusedOver); wanted != `resource:"configmaps" name:"a" step:etcd.txn ns:"default"` {
		t.Error(wanted)
	}
}
