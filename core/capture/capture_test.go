package capture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
)

var saved = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func journey(name string) *v1alpha1.Journey {
	j := &v1alpha1.Journey{Spec: v1alpha1.JourneySpec{Method: "PUT", URI: "/api/v1/x?a=<b>", Verb: "update"}}
	j.Name = name
	j.Status = v1alpha1.JourneyStatus{
		Phase: v1alpha1.JourneyComplete, Started: metav1.NewMicroTime(saved.Local()), Code: 200,
		Steps: []v1alpha1.Step{
			{ID: "handler.update", Parent: -1, Before: &runtime.RawExtension{Raw: []byte(`{"a":"1"}`)}, After: &runtime.RawExtension{Raw: []byte(`{"a":"2"}`)}},
			{ID: "store.update", Why: "line\nbreak", Attributes: []v1alpha1.Attribute{{Name: "n", Value: "v"}}},
		},
		Deliveries: []v1alpha1.Delivery{{Watcher: "w", Type: "MODIFIED", Revision: 7}},
	}
	return j
}

func write(t testing.TB, journeys ...*v1alpha1.Journey) []byte {
	t.Helper()
	var b bytes.Buffer
	w, err := NewWriter(&b, "https://127.0.0.1:7443", saved)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range journeys {
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	return b.Bytes()
}

func readAll(r io.Reader) (h Header, all []*v1alpha1.Journey, err error) {
	reader, err := NewReader(r)
	if err != nil {
		return h, nil, err
	}
	for {
		j, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return reader.Header, all, nil
		}
		if err != nil {
			return reader.Header, all, err
		}
		all = append(all, j)
	}
}

func TestRoundTrip(t *testing.T) {
	want := []*v1alpha1.Journey{journey("a-1"), journey("a-2")}
	header, got, err := readAll(bytes.NewReader(write(t, want...)))
	if err != nil {
		t.Fatal(err)
	}
	if !header.Saved.Equal(saved) || header.Server != "https://127.0.0.1:7443" || header.Version != version {
		t.Errorf("header %+v", header)
	}
	if !reflect.DeepEqual(asJSON(t, got), asJSON(t, want)) {
		t.Errorf("read %s\nwrote %s", asJSON(t, got), asJSON(t, want))
	}
}

func asJSON(t testing.TB, v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestRefuses(t *testing.T) {
	good := string(write(t, journey("a-1")))
	for _, test := range []struct {
		name, text, want string
		journeys         int
	}{
		{name: "nothing", text: "", want: "empty"},
		{name: "something else", text: `{"kind":"Pod"}`, want: "no capture"},
		{name: "no JSON", text: "hello", want: "line 1"},
		{name: "a later version", text: `{"kind":"KxCapture","version":2}`, want: "version 2"},
		{name: "no version", text: `{"kind":"KxCapture"}`, want: "version 0"},
		{name: "cut off", text: good[:len(good)-10], want: "cut off within line 2"},
		{name: "cut off in the first line", text: good[:10], want: "cut off within line 1"},
		{name: "wrong within a line", text: good + "{\"metadata\"}\n", want: "line 3 of the capture: invalid", journeys: 1},
		{name: "no journey", text: good + "{}\n", want: "line 3", journeys: 1},
		{name: "a wrong type", text: good + `{"metadata":7}` + "\n", want: "line 3", journeys: 1},
		{name: "a line without end", text: good + strings.Repeat("x", LineMost+1), want: "line 3", journeys: 1},
		{name: "empty lines", text: good + "\n \n", journeys: 1},
	} {
		_, all, err := readAll(strings.NewReader(test.text))
		if (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) || len(all) != test.journeys {
			t.Errorf("%s: %d journeys, %v; want %d and %q", test.name, len(all), err, test.journeys, test.want)
		}
	}
}

type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestWriteFails(t *testing.T) {
	if _, err := NewWriter(&failing{}, "", saved); err == nil {
		t.Error("the header could not be written, and nobody said so")
	}
	w, err := NewWriter(&failing{left: 1}, "", saved)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Write(journey("a-1")); err == nil || !strings.Contains(err.Error(), "a-1") {
		t.Errorf("%v", err)
	}
}
