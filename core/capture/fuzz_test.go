package capture_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/capture/capturetest"
)

// FuzzReader reads anything; what it can read, it writes and reads again the same.
func FuzzReader(f *testing.F) {
	f.Add(capturetest.Recorded)
	f.Add([]byte(`{"kind":"KxCapture","version":1}` + "\n" + `{"metadata":{"name":"x"}}`))
	f.Add([]byte("<html>\n" + capture.PageBegin + "\n" + string(capturetest.Recorded) + capture.PageEnd + "\n"))
	f.Add([]byte("{}\n\n[]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		capturetest.Watch(t)
		roundTrip(t, data)
	})
}

// FuzzChanged does the same with a recorded capture that was changed.
func FuzzChanged(f *testing.F) {
	for _, recipe := range capturetest.Seeds() {
		f.Add(recipe)
	}
	f.Fuzz(func(t *testing.T, recipe []byte) {
		capturetest.Watch(t)
		roundTrip(t, capturetest.Changed(recipe))
	})
}

// roundTrip writes what it can read, and reads it again.
func roundTrip(t *testing.T, data []byte) {
	t.Helper()
	all := capturetest.Read(data)
	var b bytes.Buffer
	w, err := capture.NewWriter(&b, "", time.Time{})
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range all {
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	again := capturetest.Read(b.Bytes())
	if len(again) != len(all) {
		t.Fatalf("read %d journeys, then %d", len(all), len(again))
	}
	for i := range all {
		if got, want := meaning(t, again[i]), meaning(t, all[i]); !reflect.DeepEqual(got, want) {
			t.Errorf("read %v\nthen %v", want, got)
		}
	}
}

// meaning is what JSON says, whichever escapes it has.
func meaning(t *testing.T, v any) (m any) {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber() // an object may have any
	if err := d.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}
