package core

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"

	"github.com/kx-apiserver/kx/server/builtin"
)

var (
	eventResource                       = builtin.Declare(Event(time.Hour))
	eventRules, eventTables, eventAttrs = eventResource.Strategy(), eventResource.Table(), eventResource.Attrs()
)

func TestEventValidate(t *testing.T) {
	event := func(namespace, of string) corev1.Event {
		return corev1.Event{
			ObjectMeta:     metav1.ObjectMeta{Name: "e", Namespace: namespace},
			InvolvedObject: corev1.ObjectReference{Namespace: of},
		}
	}
	newer := func(namespace, of string) corev1.Event {
		e := event(namespace, of)
		e.EventTime = metav1.NowMicro()
		e.ReportingController, e.ReportingInstance, e.Action, e.Reason = "example.com/c", "i", "a", "r"
		return e
	}
	without := newer("a", "a")
	without.ReportingController, without.ReportingInstance, without.Action, without.Reason = "", "", "", ""
	long := newer("a", "a")
	long.ReportingInstance, long.Message = strings.Repeat("x", 129), strings.Repeat("x", 1025)

	const wrong = `involvedObject.namespace: Invalid value: %: does not match event.namespace`
	for name, tc := range map[string]struct {
		event corev1.Event
		want  []string
	}{
		"same":                            {event("a", "a"), nil},
		"other":                           {event("a", "b"), []string{strings.Replace(wrong, "%", `"b"`, 1)}},
		"cluster's in default":            {event("default", ""), nil},
		"cluster's elsewhere":             {event("a", ""), []string{strings.Replace(wrong, "%", `""`, 1)}},
		"newer":                           {newer("a", "a"), nil},
		"newer, cluster's in kube-system": {newer("kube-system", ""), nil},
		"newer, cluster's elsewhere":      {newer("a", ""), []string{strings.Replace(wrong, "%", `""`, 1)}},
		"newer, about another's":          {newer("a", "b"), nil},
		"newer, without what it must say": {without, []string{
			`reportingComponent: Required value`,
			`reportingComponent: Invalid value: "": name part must be non-empty`,
			`reportingComponent: Invalid value: "": name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')`,
			`reportingInstance: Required value`, `action: Required value`, `reason: Required value`,
		}},
		"newer, too long": {long, []string{
			`reportingInstance: Invalid value: "": can have at most 128 characters`,
			`message: Invalid value: "": can have at most 1024 characters`,
		}},
	} {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, messages(eventRules.Validate(context.Background(), &tc.event))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestEventAttrs(t *testing.T) {
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: "e", Namespace: "a"},
		InvolvedObject: corev1.ObjectReference{Kind: "Pod", Namespace: "a", Name: "p", UID: "u", APIVersion: "v1",
			ResourceVersion: "3", FieldPath: "spec.containers{c}"},
		Reason: "Started", Type: "Normal", ReportingController: "kubelet",
	}
	_, got, err := eventAttrs(e)
	if err != nil {
		t.Fatal(err)
	}
	want := fields.Set{
		"metadata.name": "e", "metadata.namespace": "a", "involvedObject.kind": "Pod", "involvedObject.namespace": "a",
		"involvedObject.name": "p", "involvedObject.uid": "u", "involvedObject.apiVersion": "v1", "involvedObject.resourceVersion": "3",
		"involvedObject.fieldPath": "spec.containers{c}", "reason": "Started", "type": "Normal", "reportingComponent": "kubelet", "source": "kubelet",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestEventTable(t *testing.T) {
	ago := func(d time.Duration) metav1.Time { return metav1.NewTime(time.Now().Add(-d - time.Second)) }
	object := corev1.ObjectReference{Kind: "Pod", Name: "p", FieldPath: "spec.containers{c}"}
	for name, tc := range map[string]struct {
		event corev1.Event
		want  []any
	}{
		"counted": {corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: object, Type: "Warning", Reason: "BackOff", Message: " restarting \n",
			Source: corev1.EventSource{Component: "kubelet", Host: "n1"}, FirstTimestamp: ago(time.Hour * 5), LastTimestamp: ago(3 * time.Minute), Count: 9,
		}, []any{"3m1s", "Warning", "BackOff", "pod/p", "spec.containers{c}", "kubelet, n1", "restarting", "5h", int64(9), "e"}},
		"once": {corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e"}, InvolvedObject: corev1.ObjectReference{Kind: "Node"},
			EventTime: metav1.MicroTime(ago(time.Hour * 5)), ReportingController: "example.com/c",
		}, []any{"5h", "", "", "node", "", "example.com/c", "", "5h", int64(1), "e"}},
		"series": {corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "e"}, EventTime: metav1.MicroTime(ago(time.Hour * 5)),
			Series: &corev1.EventSeries{Count: 4, LastObservedTime: metav1.MicroTime(ago(3 * time.Minute))},
		}, []any{"3m1s", "", "", "", "", "", "", "5h", int64(4), "e"}},
		"timeless": {corev1.Event{}, []any{"<unknown>", "", "", "", "", "", "", "<unknown>", int64(1), ""}},
	} {
		got, err := eventTables.ConvertToTable(context.Background(), &tc.event, nil)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(tc.want, got.Rows[0].Cells); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
		if len(got.ColumnDefinitions) != len(got.Rows[0].Cells) {
			t.Errorf("%d columns, %d cells", len(got.ColumnDefinitions), len(got.Rows[0].Cells))
		}
	}
}
