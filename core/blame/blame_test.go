package blame

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

// recorded are journeys of a real server.
func recorded(t testing.TB) map[string]*v1alpha1.Journey {
	t.Helper()
	data, err := os.ReadFile("../../tui/pane/testdata/journeys.json")
	if err != nil {
		t.Fatal(err)
	}
	var list v1alpha1.JourneyList
	if err := json.Unmarshal(data, &list); err != nil {
		t.Fatal(err)
	}
	all := map[string]*v1alpha1.Journey{}
	for i := range list.Items {
		all[list.Items[i].Name] = &list.Items[i]
	}
	return all
}

func object(text string) *runtime.RawExtension { return &runtime.RawExtension{Raw: []byte(text)} }

// told is a report as text: each field with the step to blame, * where the client is, - where it was dropped.
func told(j *v1alpha1.Journey, r *Report) string {
	if r.Nothing != "" {
		return r.Nothing
	}
	var out []string
	if r.Deleted {
		out = append(out, "deleted by "+j.Status.Steps[r.AfterStep].ID)
	}
	for _, f := range r.Fields {
		line := f.Path.String() + " "
		if f.Step < 0 {
			line += "?"
		} else {
			line += j.Status.Steps[f.Step].ID
		}
		if f.Client {
			line += "*"
		}
		if f.Dropped {
			line += "-"
		}
		out = append(out, line)
	}
	if r.Revision > 0 {
		out = append(out, fmt.Sprint("at ", r.Revision))
	}
	return strings.Join(out, "\n")
}

// TestJourney says who is to blame for each field of what real requests wrote.
func TestJourney(t *testing.T) {
	all := recorded(t)
	for _, test := range []struct{ name, what, want string }{
		{"rec-1", "a create", "data.a handler.decode*\nmetadata.creationTimestamp rest.create\nmetadata.managedFields handler.managed-fields\n" +
			"metadata.name handler.decode*\nmetadata.namespace handler.decode*\nmetadata.resourceVersion etcd.txn\nmetadata.uid rest.create\nat 6"},
		{"rec-2", "a read", OnlyReads},
		{"rec-6", "a read that fails", OnlyReads},
		{"rec-7", "an update", "data.a handler.decode*\ndata.b handler.decode*\nmetadata.labels.app handler.decode*\n" +
			"metadata.managedFields handler.managed-fields\nmetadata.resourceVersion etcd.txn\nat 7"},
		{"rec-8", "a conflict", "data.a handler.decode*\ndata.b handler.decode*\nmetadata.labels.app handler.decode*\n" +
			"metadata.managedFields handler.decode*\nmetadata.resourceVersion handler.decode*"},
		{"rec-9", "a patch", "data.b handler.apply-patch*\nmetadata.labels.app handler.apply-patch*\n" +
			"metadata.managedFields handler.managed-fields\nmetadata.resourceVersion etcd.txn\nat 8"},
		{"rec-10", "a dry run", "metadata.creationTimestamp rest.create\nmetadata.name handler.decode*\nmetadata.namespace handler.decode*\nmetadata.uid rest.create"},
		{"rec-11", "a delete", "deleted by etcd.txn\nat 9"},
		{"rec-12", "a custom resource", "metadata.creationTimestamp rest.create\nmetadata.generation store.prepare\n" +
			"metadata.managedFields handler.managed-fields\nmetadata.name handler.decode*\nmetadata.namespace handler.decode*\n" +
			"metadata.resourceVersion etcd.txn\nmetadata.uid rest.create\nspec.cronSpec handler.decode*\nspec.replicas crd.default\nspec.unknown crd.prune-\nat 13"},
		{"rec-13", "an apply", "metadata.generation store.prepare\nmetadata.managedFields handler.apply*\n" +
			"metadata.resourceVersion etcd.txn\nspec.cronSpec handler.apply*\nspec.replicas handler.apply*\nat 14"},
		{"rec-15", "an update that is held", "data.a handler.decode*"},
		{"rec-16", "an update at the second attempt", "data.a handler.decode*\nmetadata.annotations[kx.dev/stolen-from] handler.decode*\n" +
			"metadata.managedFields handler.managed-fields\nmetadata.resourceVersion etcd.txn\nat 17"},
		{"rec-17", "an update that was made to fail", "data.a handler.decode*"},
		{"rec-19", "an update with defaults", "metadata.generation store.prepare\nmetadata.resourceVersion etcd.txn\n" +
			"spec.replicas handler.decode*\nspec.template.spec.containers[0].image handler.decode*\nat 19"},
	} {
		j := all[test.name]
		r, err := Journey(j)
		if err != nil || told(j, r) != test.want {
			t.Errorf("%s, %s: %v\n%s\nwant\n%s", test.name, test.what, err, told(j, r), test.want)
		}
	}
	r, err := Journey(all["rec-18"])
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"spec.progressDeadlineSeconds handler.default\n", "spec.strategy.type handler.default\n", "spec.replicas handler.decode*\n"} {
		if text := told(all["rec-18"], r); !strings.Contains(text, want) {
			t.Errorf("a create with defaults: %q is not in\n%s", want, text)
		}
	}
	early := all["rec-7"].DeepCopy() // as it is held at its first step
	early.Status.Steps = early.Status.Steps[:1]
	for phase, want := range map[v1alpha1.JourneyPhase]string{v1alpha1.JourneyHeld: notYet, v1alpha1.JourneyRunning: notYet, v1alpha1.JourneyComplete: noWrite} {
		early.Status.Phase = phase
		if r, err := Journey(early); err != nil || r.Nothing != want {
			t.Errorf("%s: %+v, %v", phase, r, err)
		}
	}
	without := all["rec-7"].DeepCopy()
	without.Status.Level = "Steps"
	for i := range without.Status.Steps {
		without.Status.Steps[i].Before, without.Status.Steps[i].After = nil, nil
	}
	if r, err := Journey(without); err != nil || r.Nothing != NoObjects {
		t.Errorf("no objects: %+v, %v", r, err)
	}
}

// TestStep says who is to blame for what one step changed: itself, or one that it called.
func TestStep(t *testing.T) {
	j := recorded(t)["rec-7"]
	for _, test := range []struct{ id, want string }{
		{"store.try-update", "data.a store.try-update\ndata.b store.try-update\nmetadata.labels.app store.try-update\nmetadata.managedFields handler.managed-fields"},
		{"handler.managed-fields", "metadata.managedFields handler.managed-fields"},
		{"store.before-update", "metadata.creationTimestamp store.before-update\nmetadata.uid store.before-update"},
		{"etcd3.decode", ""},
		{"etcd.txn", noChange},
	} {
		i := slices.IndexFunc(j.Status.Steps, func(s v1alpha1.Step) bool { return s.ID == test.id })
		r, err := Step(j, i)
		if err != nil || told(j, r) != test.want {
			t.Errorf("%s: %v\n%s\nwant\n%s", test.id, err, told(j, r), test.want)
		}
		if all, _ := r.Count(); r.Before != nil && all != CountChanges(&j.Status.Steps[i]) {
			t.Errorf("%s: %d fields, or %d", test.id, all, CountChanges(&j.Status.Steps[i]))
		}
	}
}

func TestWritten(t *testing.T) {
	all := recorded(t)
	for name, want := range map[string][]int64{"rec-1": {6}, "rec-3": nil, "rec-8": nil, "rec-11": {9}, "rec-16": {17}, "rec-17": nil} {
		var got []int64
		for i := range all[name].Status.Steps {
			if key, revision, ok := StepWrite(&all[name].Status.Steps[i]); ok {
				got = append(got, revision)
				if !strings.HasPrefix(key, "/registry/configmaps/default/") {
					t.Errorf("%s wrote %q", name, key)
				}
			}
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s wrote %v, want %v", name, got, want)
		}
	}
}

// journey is a write whose object changes on its way.
func journey() *v1alpha1.Journey {
	j := &v1alpha1.Journey{}
	j.Status.Steps = []v1alpha1.Step{
		{ID: "handler.update", Parent: -1},
		{ID: "handler.decode", Parent: 0, After: object(`{"spec":{"replicas":1,"list":[{"a":"x"}]}}`)},
		{ID: "handler.mutate", Parent: 0, Before: object(`{"spec":{"replicas":1,"list":[{"a":"x"}]}}`),
			After: object(`{"spec":{"replicas":2,"list":[{"a":"x"}]},"metadata":{"labels":{"a.b/c":"d"}}}`)},
		{ID: "rest.update", Parent: 0, Before: object(`{"spec":{"replicas":2}}`), After: object(`{"spec":{"replicas":3}}`)},
		{ID: "store.before-update", Parent: 3, Before: object(`{"spec":{"replicas":2}}`), After: object(`{"spec":{"replicas":3}}`)},
	}
	return j
}

func TestOf(t *testing.T) {
	for _, test := range []struct{ path, want string }{
		{"spec.replicas", "handler.decode:>1 handler.mutate:1>2 store.before-update:2>3"},
		{".spec.list[0].a", `handler.decode:>"x"`},
		{"spec.list[1].a", ""},
		{"metadata.labels[a.b/c]", `handler.mutate:>"d"`},
		{`metadata.labels["a.b/c"]`, `handler.mutate:>"d"`},
		{"spec.replicas.deeper", ""},
	} {
		changes, err := FindChanges(journey(), test.path)
		var got []string
		for _, c := range changes {
			got = append(got, c.Step.ID+":"+c.Before+">"+c.After)
		}
		if err != nil || strings.Join(got, " ") != test.want {
			t.Errorf("%s: %v %v, want %s", test.path, got, err, test.want)
		}
	}
}

func TestOfRefuses(t *testing.T) {
	without, broken := journey(), journey()
	without.Status.Steps = without.Status.Steps[:1]
	broken.Status.Steps[2].Before = object("{")
	for _, test := range []struct {
		j          *v1alpha1.Journey
		path, want string
	}{
		{journey(), "", "empty"},
		{journey(), "spec[0", "without a ]"},
		{journey(), "spec..x", "empty part"},
		{broken, "spec", "can't be read"},
		{without, "spec", "--trace"},
	} {
		if _, err := FindChanges(test.j, test.path); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v, want %q", test.path, err, test.want)
		}
	}
}

func TestPath(t *testing.T) {
	for _, text := range []string{"spec.replicas", "spec.list[0].a", "metadata.labels[a.b/c]", "a[0][1]"} {
		if path, err := ParsePath(text); err != nil || path.String() != text {
			t.Errorf("%s: %s, %v", text, path, err)
		}
	}
}

func TestLeaves(t *testing.T) {
	for _, test := range []struct{ before, after, want string }{
		{`{"a":1}`, `{"a":1}`, ""},
		{`{"a":1,"b":{"c":1}}`, `{"a":2,"b":{"d":1}}`, "a b.c b.d"},
		{`{"l":[1,2]}`, `{"l":[1,3]}`, "l[1]"},
		{`{"l":[1,2]}`, `{"l":[1]}`, "l"},
		{`{}`, `{"a":{},"l":[]}`, "a l"},
		{`{"a":{"b":1}}`, `{"a":[1]}`, "a"},
		{`{"metadata":{"managedFields":[{"a":1}]}}`, `{"metadata":{"managedFields":[{"a":2}]}}`, "metadata.managedFields"},
		{`{"n":1.0}`, `{"n":1}`, "n"},
	} {
		a, _ := parse([]byte(test.before))
		b, _ := parse([]byte(test.after))
		var got []string
		leaves(nil, a, b, func(path Path, _, _ any) { got = append(got, path.String()) })
		if strings.Join(got, " ") != test.want {
			t.Errorf("%s, %s: %v, want %s", test.before, test.after, got, test.want)
		}
	}
}

// FuzzJourney has steps with any objects and any callers.
func FuzzJourney(f *testing.F) {
	f.Add([]byte(`{"a":1}`), []byte(`{"a":[2,{"b":null}]}`), int32(-1), int32(7), "store.try-update")
	f.Add([]byte(`{"a":1}`), []byte(`[]`), int32(1), int32(0), "etcd.txn")
	f.Fuzz(func(t *testing.T, before, after []byte, p, q int32, id string) {
		j := journey()
		j.Status.Steps = append(j.Status.Steps,
			v1alpha1.Step{ID: id, Parent: p, Before: &runtime.RawExtension{Raw: before}, After: &runtime.RawExtension{Raw: after}, Attributes: []v1alpha1.Attribute{{Name: "revision", Value: "3"}}},
			v1alpha1.Step{ID: "etcd3.decode", Parent: q, After: &runtime.RawExtension{Raw: after}})
		for i := range j.Status.Steps {
			_, _ = Step(j, i)
		}
		if r, err := Journey(j); err == nil && r.Nothing == "" {
			for _, field := range r.Fields {
				if field.Step >= len(j.Status.Steps) || field.Who == "" {
					t.Errorf("%+v", field)
				}
			}
		}
	})
}

// TestTouched: the fields that a request changed in what it stored, and those above them.
func TestTouched(t *testing.T) {
	all := recorded(t)
	for name, want := range map[string]string{
		"rec-2": "", "rec-8": "", "rec-10": "", "rec-11": "", "rec-17": "",
		"rec-19": "metadata.generation metadata metadata.resourceVersion spec.replicas spec spec.template.spec.containers[0].image spec.template.spec.containers[0] " +
			"spec.template.spec.containers spec.template.spec spec.template",
		"rec-16": "data.a data metadata.annotations[kx.dev/stolen-from] metadata.annotations metadata metadata.managedFields metadata.resourceVersion",
	} {
		if got := strings.Join(WritePaths(all[name]), " "); got != want {
			t.Errorf("%s: %s, want %s", name, got, want)
		}
	}
	if got := WritePaths(all["rec-1"]); !slices.Contains(got, "data.a") || !slices.Contains(got, "metadata.name") {
		t.Errorf("a create touches all that it stores: %s", got)
	}
	j := journey()
	for i := range j.Status.Steps {
		j.Status.Steps[i].Before, j.Status.Steps[i].After = nil, nil
	}
	if got := WritePaths(j); got != nil {
		t.Errorf("without objects: %s", got)
	}
}
