package kxtest_test

import (
	"context"
	"strconv"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"

	"github.com/kx-apiserver/kx/server/kxtest"
)

// TestBudget: a controller may lose five writes, and neither lists nor writes more than it must.
func TestBudget(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	s.Fault(t, kxtest.Conflict().On("update", "widgets/status").Times(5))
	must(t, markReady(context.Background(), s.As("testdata/rbac/role.yaml"), "first"))

	s.MustStayWithin(t, "agent:widget-manager", kxtest.Budget{
		"list *": 0, "get widgets": 6, "update widgets/status": 6,
		"conflicts": 5, "errors": 0, "unchanged": 0, "hot loops": 0, "bytes": 16 << 10,
	})
	bill := s.Bill(t, "agent:widget-manager")
	if len(bill.Items) != 2 {
		t.Fatalf("%s", bill)
	}
	bytes := bill.Items[1].Bytes
	want := kxtest.Item{
		User: bill.Items[0].User, Agent: "widget-manager", Verb: "update", Resource: "widgets.example.com/status",
		Requests: 6, Objects: 1, Conflicts: 5, Bytes: bytes,
	}
	if bill.Items[1] != want || bytes == 0 || len(bill.HotLoops) != 0 {
		t.Errorf("%s", bill)
	}
	for _, want := range []string{
		want.User + " with widget-manager:\n",
		"  requests  objects  conflicts  errors  unchanged  bytes\n",
		"         6        1          0       0          0 ", "  get widgets.example.com\n",
		"         6        1          5       0          0 ", "  update widgets.example.com/status\n",
	} {
		if !strings.Contains(bill.String(), want) {
			t.Errorf("%s\nlacks %q", bill, want)
		}
	}
}

// annotate writes each of the values into an annotation of the first widget.
func annotate(t testing.TB, config *rest.Config, values ...string) {
	t.Helper()
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	for _, value := range values {
		_, err = client.Resource(widgets).Namespace("default").Patch(within(t), "first", types.MergePatchType,
			[]byte(`{"metadata":{"annotations":{"at":"`+value+`"}}}`), metav1.PatchOptions{})
		must(t, err)
	}
}

// TestHotLoop: a client that changes an object again and again is found, if nothing else can be the cause.
func TestHotLoop(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"), kxtest.Flags("--controllers="))
	var values []string
	for n := range kxtest.HotLoopLeast {
		values = append(values, strconv.Itoa(n))
	}
	last := len(values) - 1
	loop, other := s.User("looper", "system:masters"), s.User("other", "system:masters")
	annotate(t, loop, values[:last]...)
	annotate(t, other, "cause")
	annotate(t, loop, values[:last]...)
	maps := clientOf(t, loop).CoreV1().ConfigMaps("default")
	_, err := maps.Create(within(t), configMap("progress"), metav1.CreateOptions{})
	must(t, err)
	annotate(t, loop, values[:last]...)
	annotate(t, loop, values[last-1]) // nothing changes
	if bill := s.Bill(t, ""); len(bill.HotLoops) != 0 {
		t.Errorf("each had a cause:\n%s", bill)
	}
	annotate(t, loop, values[last])
	bill := s.Bill(t, "user:looper")
	want := kxtest.HotLoop{User: "looper", Resource: "widgets.example.com", Namespace: "default", Name: "first", Writes: len(values)}
	if len(bill.HotLoops) != 1 || bill.HotLoops[0] != want || bill.Items[len(bill.Items)-1].Unchanged != 1 {
		t.Errorf("%s", bill)
	}
	if line := "hot loop: looper changed widgets.example.com default/first 6 times while nothing else changed\n"; !strings.HasSuffix(bill.String(), line) {
		t.Errorf("%s", bill)
	}
	if bill := s.Bill(t, "user:other"); len(bill.HotLoops) != 0 {
		t.Errorf("it is another user's:\n%s", bill)
	}
}

// TestOverBudget: a test fails with what went over the budget, and with names that are no names.
func TestOverBudget(t *testing.T) {
	t.Parallel()
	s := kxtest.Start(t, kxtest.CRDs("testdata/crd"), kxtest.Objects("testdata/objects"))
	config := s.User("manager", "system:masters")
	config.UserAgent = "widget-manager/v2 (linux)"
	client, err := dynamic.NewForConfig(config)
	must(t, err)
	for range 2 {
		_, err = client.Resource(widgets).List(within(t), metav1.ListOptions{})
		must(t, err)
	}
	widget := &unstructured.Unstructured{}
	widget.SetAPIVersion("example.com/v1")
	widget.SetKind("Widget")
	widget.SetName("first")
	if _, err = client.Resource(widgets).Namespace("default").Create(within(t), widget, metav1.CreateOptions{}); err == nil {
		t.Fatal("there are two of a name")
	}
	annotate(t, config, "a", "a", "a")
	for key, test := range map[string]struct {
		most int64
		want []string
	}{
		"list widgets":           {1, []string{"list widgets: 2, and at most 1\nmanager with widget-manager:\n", "  list widgets.example.com\n"}},
		"list,patch widgets":     {4, []string{"list,patch widgets: 5, and at most 4\n", "  patch widgets.example.com\n"}},
		"* *":                    {5, []string{"* *: 6, and at most 5\n"}},
		"create *":               {1, nil},
		"patch widgets/status":   {0, nil},
		"errors":                 {0, []string{"errors: 1, and at most 0\n", "  create widgets.example.com\n"}},
		"unchanged":              {1, []string{"unchanged: 2, and at most 1\n", "  patch widgets.example.com\n"}},
		"conflicts":              {0, nil},
		"list widgest":           {0, []string{`no resource "widgest"; near are widgets.example.com`}},
		"lits widgets":           {0, []string{`"widgets" has no verb "lits"`}},
		"lits *":                 {0, []string{`there is no verb "lits"`}},
		"conflict":               {0, []string{`the budget of "conflict": `, `near are "conflicts"`}},
		"hot-loops":              {0, []string{`near are "hot loops"`}},
		"list widgets/scale":     {0, []string{`no resource "widgets/scale"`}},
		"update,patch *":         {3, nil},
		"get,list,watch,patch *": {9, nil},
	} {
		said := failing(t, func(t testing.TB) { s.MustStayWithin(t, "agent:widget-manager", kxtest.Budget{key: test.most}) })
		if (said == "") != (test.want == nil) {
			t.Errorf("%s: %q", key, said)
		}
		for _, want := range test.want {
			if !strings.Contains(said, want) {
				t.Errorf("%s: %q lacks %q", key, said, want)
			}
		}
	}
	said := failing(t, func(t testing.TB) { s.MustStayWithin(t, "agent:wiget-manager", kxtest.Budget{}) })
	if !strings.Contains(said, `no request matches "agent:wiget-manager"; the clients are `) || !strings.Contains(said, "user:manager agent:widget-manager") {
		t.Errorf("a client that is not there: %q", said)
	}
}
