package pod

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"text/tabwriter"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var rewrite = flag.Bool("rewrite", false, "write the golden file anew")

// tableCases are pods, in YAML without their names, whose rows are in testdata/table.txt.
var tableCases = []struct{ name, pod string }{
	{"pending", "status: {phase: Pending}"},
	{"running", "status: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: {}}}]}"},
	{"creating", "status: {phase: Pending, containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}"},
	{"crashing", "status: {phase: Running, containerStatuses: [{name: c, restartCount: 3, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 1, finishedAt: '${20d}'}}}]}"},
	{"restarted", "status: {phase: Running, containerStatuses: [{name: c, restartCount: 2, ready: true, state: {running: {}}}]}"},
	{"completed", "status: {phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}]}"},
	{"half-done", "spec: {containers: [{name: c, image: i}, {name: d, image: i}]}\nstatus: {phase: Running, conditions: [{type: Ready, status: 'True'}], containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}"},
	{"half-done-unready", "spec: {containers: [{name: c, image: i}, {name: d, image: i}]}\nstatus: {phase: Running, containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}, {name: d, ready: true, state: {running: {}}}]}"},
	{"failed", "status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {exitCode: 3}}}]}"},
	{"killed", "status: {phase: Failed, containerStatuses: [{name: c, state: {terminated: {signal: 9}}}]}"},
	{"evicted", "status: {phase: Failed, reason: Evicted}"},
	{"gated", "status: {phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: SchedulingGated}]}"},
	{"init", "spec: {initContainers: [{name: a, image: i}, {name: b, image: i}]}\nstatus: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {}}}, {name: b, restartCount: 1, state: {running: {}}}], containerStatuses: [{name: c, state: {waiting: {reason: PodInitializing}}}]}"},
	{"init-first", "spec: {initContainers: [{name: a, image: i}, {name: b, image: i}]}\nstatus: {phase: Pending, initContainerStatuses: [{name: a, state: {waiting: {reason: PodInitializing}}}, {name: b, state: {waiting: {reason: PodInitializing}}}]}"},
	{"init-crashing", "spec: {initContainers: [{name: a, image: i}]}\nstatus: {phase: Pending, initContainerStatuses: [{name: a, restartCount: 2, state: {waiting: {reason: CrashLoopBackOff}}, lastState: {terminated: {finishedAt: '${20d}'}}}]}"},
	{"init-error", "spec: {initContainers: [{name: a, image: i}]}\nstatus: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 2, reason: Error}}}]}"},
	{"init-exit", "spec: {initContainers: [{name: a, image: i}]}\nstatus: {phase: Pending, initContainerStatuses: [{name: a, state: {terminated: {exitCode: 2}}}]}"},
	{"sidecar", "spec: {initContainers: [{name: a, image: i, restartPolicy: Always}]}\nstatus: {phase: Running, initContainerStatuses: [{name: a, ready: true, started: true, restartCount: 1, state: {running: {}}}], containerStatuses: [{name: c, ready: true, state: {running: {}}}]}"},
	{"terminating", "metadata: {deletionTimestamp: '${20d}'}\nstatus: {phase: Running, containerStatuses: [{name: c, ready: true, state: {running: {}}}]}"},
	{"terminating-done", "metadata: {deletionTimestamp: '${20d}'}\nstatus: {phase: Succeeded, containerStatuses: [{name: c, state: {terminated: {reason: Completed}}}]}"},
	{"lost", "metadata: {deletionTimestamp: '${20d}'}\nstatus: {phase: Running, reason: NodeLost}"},
	{"wide", "metadata: {creationTimestamp: '${20d}'}\nspec: {nodeName: n1, readinessGates: [{conditionType: a}, {conditionType: b}]}\nstatus: {phase: Running, podIPs: [{ip: 10.0.0.1}, {ip: 'fd00::1'}], nominatedNodeName: m, conditions: [{type: a, status: 'True'}, {type: b, status: 'False'}]}"},
}

func TestTable(t *testing.T) {
	list := &corev1.PodList{}
	twentyDaysAgo := time.Now().Add(-(20*24 + 12) * time.Hour).UTC().Format(time.RFC3339)
	for _, tc := range tableCases {
		pod := parse(t, strings.ReplaceAll(tc.pod, "${20d}", twentyDaysAgo))
		pod.Name = tc.name
		list.Items = append(list.Items, *pod)
	}
	table, err := tables.ConvertToTable(context.Background(), list, nil)
	if err != nil {
		t.Fatal(err)
	}
	var out strings.Builder
	w := tabwriter.NewWriter(&out, 0, 0, 3, ' ', 0)
	for i, column := range table.ColumnDefinitions {
		fmt.Fprintf(w, "%s\t", strings.ToUpper(column.Name))
		if wide := i > 4; (column.Priority == 1) != wide {
			t.Errorf("column %s has priority %d", column.Name, column.Priority)
		}
	}
	fmt.Fprintln(w, "CONDITION")
	for _, row := range table.Rows {
		for _, cell := range row.Cells {
			fmt.Fprintf(w, "%v\t", cell)
		}
		for _, condition := range row.Conditions {
			if condition.Type != metav1.RowCompleted || condition.Status != metav1.ConditionTrue {
				t.Errorf("condition %+v", condition)
			}
			fmt.Fprintf(w, "%s: %s", condition.Reason, condition.Message)
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
	if *rewrite {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile("testdata/table.txt", []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("testdata/table.txt")
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), out.String()); diff != "" {
		t.Error(diff)
	}
}
