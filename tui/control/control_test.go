package control

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

func TestOrderOfNames(t *testing.T) {
	var names []Key
	for _, name := range []string{"b10", "x", "b2", "b", "a9", "b2a", "99999999999999999999"} {
		names = append(names, Key{Breakpoint, name})
	}
	names = append(names, Key{Fault, "a"})
	slices.Reverse(names)
	slices.SortFunc(names, compareKeys)
	var got []string
	for _, k := range names {
		got = append(got, k.Name)
	}
	if text := strings.Join(got, " "); text != "99999999999999999999 a9 b b2 b10 b2a x a" {
		t.Error(text)
	}
}

// TestYAML writes rules so that they can be read again, and by kubectl.
// TestHeldByOwn: a request that one's own breakpoint holds counts from when the request or the breakpoint says so.
func TestHeldByOwn(t *testing.T) {
	rule := func(name string, mine bool, held int32) Rule {
		return Rule{Key: Key{Breakpoint, name}, Mine: mine, Status: v1alpha1.RuleStatus{Held: held}}
	}
	by := func(name string) *v1alpha1.Journey {
		return &v1alpha1.Journey{Status: v1alpha1.JourneyStatus{Held: []v1alpha1.HeldStep{{By: Key{Breakpoint, name}.String()}}}}
	}
	for _, tt := range []struct {
		view View
		want int
	}{
		{View{}, 0},
		{View{Rules: []Rule{rule("b1", true, 1)}}, 1},
		{View{Rules: []Rule{rule("b1", true, 0)}, Held: []*v1alpha1.Journey{by("b1")}}, 1},
		{View{Rules: []Rule{rule("b1", true, 1), rule("b2", true, 1)}, Held: []*v1alpha1.Journey{by("b1"), by("b2")}}, 2},
		{View{Rules: []Rule{rule("b1", false, 1)}, Held: []*v1alpha1.Journey{by("b1"), by("b2")}}, 0},
	} {
		if got := tt.view.HeldByOwn(); got != tt.want {
			t.Errorf("%+v: %d, want %d", tt.view, got, tt.want)
		}
	}
}

func TestYAML(t *testing.T) {
	half := 0.5
	rules := []Rule{
		{Key: Key{Breakpoint, "b1"}, Spec: Spec{Breakpoint: &v1alpha1.BreakpointSpec{Filter: "step:etcd.txn", Skip: 2}}},
		{Key: Key{Fault, "f1"}, Spec: Spec{Fault: &v1alpha1.FaultSpec{
			Effect: v1alpha1.FaultDelay, Delay: &metav1.Duration{Duration: time.Second}, Probability: &half, Seed: 7,
		}}},
	}
	data, err := YAML(rules)
	if err != nil {
		t.Fatal(err)
	}
	const want = `apiVersion: kx.dev/v1alpha1
kind: Breakpoint
metadata:
  name: b1
spec:
  filter: step:etcd.txn
  skip: 2
---
apiVersion: kx.dev/v1alpha1
kind: Fault
metadata:
  name: f1
spec:
  delay: 1s
  effect: Delay
  probability: 0.5
  seed: 7
`
	if string(data) != want {
		t.Errorf("%s", data)
	}
	for i, text := range strings.Split(want, "---\n") {
		r, err := Parse([]byte(text))
		if err != nil || r.Key != rules[i].Key || r.Summary() != rules[i].Summary() {
			t.Errorf("%+v, %v", r, err)
		}
	}
	for text, want := range map[string]string{"kind: Pod": "must be Breakpoint or Fault", "a: [": "read the rule", "kind: Breakpoint\nspec: {when: now}": "unknown field"} {
		if _, err := Parse([]byte(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func nothing() {}

// TestKeep takes over what was kept: what was on is to be switched on, but no fault.
func TestKeep(t *testing.T) {
	c := New(api.Absent("no server"), nothing, nothing)
	defer c.Close()
	if c.Keep() != nil {
		t.Error("nothing is kept")
	}
	err := c.Restore(json.RawMessage(`[{"name":"b1","breakpoint":{"filter":"verb:get"},"on":true},{"name":"b2","breakpoint":{"filter":"verb:list"},"on":false},
		{"name":"f1","fault":{"effect":"DropWatch"},"on":true},{"name":"","breakpoint":{}},{"name":"both","breakpoint":{},"fault":{}}]`))
	if err == nil || !strings.Contains(err.Error(), "2 of 5") {
		t.Error(err)
	}
	c.Start()
	v := c.View()
	if len(v.Rules) != 3 || v.Rules[0].On || v.Rules[2].On || v.Rules[2].Note == "" || v.Refused[Breakpoint] != "no server" {
		t.Fatalf("%+v", v)
	}
	if !c.own[Key{Breakpoint, "b1"}].wanted || c.own[Key{Breakpoint, "b2"}].wanted || c.own[Key{Fault, "f1"}].wanted {
		t.Error("the wrong ones are to be switched on")
	}
	data, err := json.Marshal(c.Keep())
	if err != nil || !strings.HasPrefix(string(data), `[{"name":"b1","breakpoint":{"filter":"verb:get"},"on":true},{"name":"b2","breakpoint":{"filter":"verb:list"},"on":false}`) {
		t.Errorf("%s, %v", data, err)
	}
	if err := c.Restore(json.RawMessage(`{}`)); err == nil {
		t.Error("that was nothing that was kept")
	}
}
