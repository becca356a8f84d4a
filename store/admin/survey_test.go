package admin

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
)

// furnish puts objects of several kinds into an etcd.
func furnish(t *testing.T, e *etcd) {
	t.Helper()
	for i := range 150 {
		name := fmt.Sprintf("pod-%03d", i)
		pod := &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: name, Namespace: "default", Labels: map[string]string{"app": []string{"web", "db"}[i%2]}},
			Spec:       corev1.PodSpec{NodeName: fmt.Sprintf("node-%d", i%3)},
		}
		e.put(t, "/registry/pods/default/"+name, string(protobufOf(t, podKind, pod)))
	}
	e.put(t, crdKey, crdValue)
	e.put(t, pandaKey, strings.Replace(panda, `"name":"p"`, `"name":"p","labels":{"app":"web"}`, 1))
	e.put(t, "/registry/configmaps/kube-system/c", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"c","namespace":"kube-system"}}`)
	e.put(t, "compact_rev_key", "0")
}

func TestTree(t *testing.T) {
	e := newEtcd(t)
	furnish(t, e)
	tree := func(path string, depth int) string {
		var b strings.Builder
		total, err := Tree(context.Background(), e.live, path, depth, Range{}, func(n Node) error {
			fmt.Fprintf(&b, "%d %s keys=%d key=%t more=%t\n", n.Depth, n.Path, n.Keys, n.Key, n.More)
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		return b.String() + fmt.Sprintf("total %d", total.Keys)
	}
	if got, want := tree("", 2), strings.Join([]string{
		"1 /registry/ keys=153 key=false more=false",
		"2 /registry/apiextensions.k8s.io/ keys=1 key=false more=false",
		"2 /registry/configmaps/ keys=1 key=false more=false",
		"2 /registry/example.com/ keys=1 key=false more=false",
		"2 /registry/pods/ keys=150 key=false more=false",
		"1 compact_rev_key keys=1 key=true more=false",
		"total 154",
	}, "\n"); got != want {
		t.Errorf("everything:\n%s\nwant\n%s", got, want)
	}
	if got := strings.Split(tree("/registry/pods", 2), "\n"); len(got) != 103 || got[0] != "1 /registry/pods/default/ keys=150 key=false more=false" ||
		got[101] != "2 /registry/pods/default/ keys=50 key=false more=true" {
		t.Errorf("pods: %d lines: %s … %s", len(got), got[0], got[len(got)-2])
	}
	if got := strings.Split(tree("/registry/pods/default", 1), "\n"); len(got) != 151 || got[0] != "1 /registry/pods/default/pod-000 keys=1 key=true more=false" {
		t.Errorf("pods of a namespace: %d lines, %s", len(got), got[0])
	}
	if got := tree("/registry/pods/default/pod-007", 2); got != "1 /registry/pods/default/pod-007 keys=1 key=true more=false\ntotal 1" {
		t.Errorf("a pod: %s", got)
	}
}

func TestFind(t *testing.T) {
	e := newEtcd(t)
	furnish(t, e)
	e.put(t, "/registry/pods/default/broken", "broken")
	selector, err := labels.Parse("app=web")
	if err != nil {
		t.Fatal(err)
	}
	node := "node-1"
	for name, test := range map[string]struct {
		below    string
		criteria Criteria
		matches  int
		broken   int
	}{
		"name":               {"", Criteria{Name: "pod-00*"}, 10, 0},
		"name and namespace": {"", Criteria{Name: "*", Namespace: "kube-system"}, 1, 0},
		"label":              {"", Criteria{Labels: selector}, 76, 1},
		"label of a kind":    {"/registry/example.com", Criteria{Labels: selector}, 1, 0},
		"JSONPath":           {"", Criteria{JSONPath: "{.spec.nodeName}"}, 150, 1},
		"JSONPath is":        {"", Criteria{JSONPath: "{.spec.nodeName}", Equals: &node}, 50, 1},
		"all":                {"/registry/pods", Criteria{Name: "pod-*", Labels: selector, JSONPath: "{.spec.nodeName}", Equals: &node}, 25, 0},
		"an index":           {"", Criteria{JSONPath: "{.metadata.labels[0]}"}, 0, 1},
	} {
		matches, broken := 0, 0
		test.criteria.Path = test.below
		for _, m := range collect(t, Find(context.Background(), e.live, &Decoder{Prefix: defaultPrefix}, test.criteria, 0, nil)) {
			if m.Error != "" {
				broken++
			} else {
				matches++
			}
		}
		if matches != test.matches || broken != test.broken {
			t.Errorf("%s: %d and %d broken, want %d and %d", name, matches, broken, test.matches, test.broken)
		}
	}
	for _, c := range []Criteria{{Name: "["}, {JSONPath: "{.a"}} {
		if err := firstErr(Find(context.Background(), e.live, &Decoder{Prefix: defaultPrefix}, c, 0, nil)); err == nil {
			t.Errorf("%+v is accepted", c)
		}
	}
}

func TestTop(t *testing.T) {
	e := newEtcd(t)
	furnish(t, e)
	since := e.put(t, "/registry/pods/default/pod-000", "x")
	for range 5 {
		e.put(t, "/registry/pods/default/pod-001", "y")
	}
	e.del(t, "/registry/pods/default/pod-002")
	e.put(t, "/registry/pods/default/pod-002", "z")
	e.del(t, "/registry/configmaps/kube-system/c")
	top := func(o TopOptions) ([]Usage, Usage) {
		o.Prefix, o.Since = defaultPrefix, since
		rows, total, err := Top(context.Background(), e.live, o, nil)
		if err != nil {
			t.Fatal(err)
		}
		return rows, total
	}
	rows, total := top(TopOptions{By: "resource", Sort: "keys"})
	if rows[0].Name != "pods" || rows[0].Keys != 150 || rows[0].Churn != 7 || rows[0].Writes != 156 {
		t.Errorf("%+v", rows)
	}
	if total.Keys != 153 || total.Churn != 8 {
		t.Errorf("total %+v", total)
	}
	var sum Usage
	for _, row := range rows {
		sum.add(row)
	}
	if sum.Keys != total.Keys || sum.Bytes != total.Bytes || sum.Writes != total.Writes || sum.Churn != total.Churn {
		t.Errorf("the sum is %+v, and the total %+v", sum, total)
	}
	rows, _ = top(TopOptions{By: "object", Sort: "churn", Limit: 2})
	if len(rows) != 2 || rows[0].Name != "/registry/pods/default/pod-001" || rows[0].Churn != 5 || rows[1].Churn != 2 {
		t.Errorf("%+v", rows)
	}
	rows, _ = top(TopOptions{By: "namespace", Sort: "keys", Path: "/registry/pods"})
	if len(rows) != 1 || rows[0].Name != "default" {
		t.Errorf("%+v", rows)
	}
	for _, o := range []TopOptions{{By: "color", Sort: "keys"}, {By: "object", Sort: "color"}} {
		if _, _, err := Top(context.Background(), e.live, o, nil); err == nil {
			t.Errorf("%+v is accepted", o)
		}
	}
}

func TestDiff(t *testing.T) {
	e := newEtcd(t)
	furnish(t, e)
	head, err := e.live.Head(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	e.put(t, "/registry/pods/default/pod-001", "y")
	e.put(t, "/registry/pods/default/new", "n")
	to := e.del(t, "/registry/pods/default/pod-002")
	var got []string
	for _, d := range collect(t, Diff(context.Background(), e.live, "/registry/pods", head.Revision, to)) {
		got = append(got, fmt.Sprintf("%s %t %t", d.Key, d.Before != nil, d.After != nil))
	}
	if want := []string{"/registry/pods/default/new false true", "/registry/pods/default/pod-001 true true", "/registry/pods/default/pod-002 true false"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if got := collect(t, Diff(context.Background(), e.live, "", to, to)); len(got) != 0 {
		t.Errorf("one revision differs from itself: %v", got)
	}
}

// TestExamine has everything that the doctor looks for and that a test can make.
func TestExamine(t *testing.T) {
	e := newEtcd(t)
	furnish(t, e)
	now := time.Now().Truncate(time.Second) // as times in objects are
	examine := func() map[string]Finding {
		findings, err := Examine(context.Background(), e.live, &Decoder{Prefix: defaultPrefix}, nil, now, nil)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]Finding{}
		for _, f := range findings {
			out[f.Check] = f
			if (f.Level != OK) != (f.Advice != "") {
				t.Errorf("%s is %s and advises %q", f.Check, f.Level, f.Advice)
			}
		}
		return out
	}
	for name, f := range examine() {
		if f.Level != OK && name != "latency" {
			t.Errorf("a healthy one: %+v", f)
		}
	}
	e.put(t, "/registry/configmaps/default/large", `{"apiVersion":"v1","kind":"ConfigMap","data":{"a":"`+strings.Repeat("x", 600<<10)+`"}}`)
	e.put(t, "/registry/configmaps/default/broken", "k8s\x00broken")
	e.put(t, "/registry/old.example.com/bears/default/b", panda)
	future := metav1.NewTime(now.Add(time.Hour))
	e.put(t, "/registry/pods/default/future", string(protobufOf(t, podKind, &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "future", CreationTimestamp: future}})))
	for range 150 {
		e.put(t, "/registry/configmaps/default/hot", `{"apiVersion":"v1","kind":"ConfigMap"}`)
	}
	findings := examine()
	for check, want := range map[string]struct {
		level Level
		key   string
		text  string
	}{
		"large objects": {Warning, "/registry/configmaps/default/large", "600 KiB"},
		"values":        {Problem, "/registry/configmaps/default/broken", "1 can't be decoded"},
		"orphans":       {Warning, "/registry/old.example.com/bears/default/b", "bears.old.example.com"},
		"clock":         {Warning, "/registry/pods/default/future", "1h0m0s"},
		"hot keys":      {Warning, "/registry/configmaps/default/hot", "1 keys"},
		"members":       {OK, "", "all well"},
		"alarms":        {OK, "", "none"},
		"quota":         {OK, "", "%"},
	} {
		f := findings[check]
		if f.Level != want.level || !strings.Contains(f.Finding, want.text) || want.key != "" && !slices.Contains(f.Keys, want.key) {
			t.Errorf("%s: %+v", check, f)
		}
	}
}

// TestExamineMembers judges members by their status alone.
func TestExamineMembers(t *testing.T) {
	// A member goes on applying while it answers.
	ahead := MemberStatus{ID: "a", HasLeader: true, RaftIndex: 10, RaftApplied: 11}
	if f := examineMembers([]MemberStatus{ahead}); f.Level != OK {
		t.Errorf("%+v", f)
	}
	behind := MemberStatus{ID: "b", HasLeader: true, RaftIndex: 10, RaftApplied: 10}
	ahead.RaftIndex = 10 + raftLag + 1
	if f := examineMembers([]MemberStatus{ahead, behind}); f.Level != Problem {
		t.Errorf("%+v", f)
	}
	f := examineQuota([]MemberStatus{{Endpoint: "full", DBSize: 96, Quota: 100}, {Endpoint: "empty", DBSize: 1, Quota: 100}})
	if f.Level != Problem || f.Finding != "full uses 96.0 % of its quota" {
		t.Errorf("%+v", f)
	}
}
