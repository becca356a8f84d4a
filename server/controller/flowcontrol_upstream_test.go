package controller_test

import (
	"encoding/json"
	"os"
	"reflect"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/server/internal/controllertest"
	"github.com/kx-apiserver/kx/server/options"
)

// flowControlObject is what is compared of one: all but what differs between any two servers.
type flowControlObject struct {
	Annotations map[string]string   `json:"annotations"`
	Labels      map[string]string   `json:"labels"`
	Generation  int64               `json:"generation"`
	Spec        map[string]any      `json:"spec"`
	Conditions  []map[string]string `json:"conditions"`
}

// TestFlowControlUpstream compares the objects of a new server with those that a kube-apiserver v1.37.1 makes, object by object.
func TestFlowControlUpstream(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile("testdata/flowcontrol.json")
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]flowControlObject{}
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatal(err)
	}
	clients, _ := controllertest.Serve(t, options.New(), "")
	deadline := time.After(controllertest.Patience)
	for {
		got := map[string]flowControlObject{}
		for _, resource := range []string{"flowschemas", "prioritylevelconfigurations"} {
			raw, err := clients.RESTClient().Get().AbsPath("/apis/flowcontrol.apiserver.k8s.io/v1", resource).SetHeader("Accept", "application/json").DoRaw(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			collectFlowControl(t, resource, raw, got)
		}
		if reflect.DeepEqual(got, want) {
			return
		}
		select {
		case <-deadline:
			for name := range want {
				if !reflect.DeepEqual(got[name], want[name]) {
					t.Errorf("%s is\n%+v\nand upstream has\n%+v", name, got[name], want[name])
				}
			}
			t.Fatalf("%d objects of %d", len(got), len(want))
		case <-time.After(20 * time.Millisecond): // conditions come later
		}
	}
}

func collectFlowControl(t *testing.T, resource string, raw []byte, into map[string]flowControlObject) {
	t.Helper()
	var list struct {
		Items []struct {
			Metadata struct {
				Name        string            `json:"name"`
				Annotations map[string]string `json:"annotations"`
				Labels      map[string]string `json:"labels"`
				Generation  int64             `json:"generation"`
			} `json:"metadata"`
			Spec   map[string]any `json:"spec"`
			Status struct {
				Conditions []map[string]string `json:"conditions"`
			} `json:"status"`
		} `json:"items"`
	}
	if err := json.Unmarshal(raw, &list); err != nil {
		t.Fatal(err)
	}
	for _, i := range list.Items {
		one := flowControlObject{i.Metadata.Annotations, i.Metadata.Labels, i.Metadata.Generation, i.Spec, []map[string]string{}}
		for _, c := range i.Status.Conditions {
			delete(c, "lastTransitionTime")
			one.Conditions = append(one.Conditions, c)
		}
		into[resource+"/"+i.Metadata.Name] = one
	}
}
