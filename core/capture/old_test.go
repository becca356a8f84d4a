package capture_test

import (
	"bytes"
	"errors"
	"io"
	"os"
	"reflect"
	"testing"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/capture"
	"github.com/kx-apiserver/kx/core/filter"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/subject"
	"github.com/kx-apiserver/kx/core/trace"
)

// TestBeforeReasons reads a capture of a kx that recorded sentences alone: it loads, is written as it was read, and what
// was refused in it is still told from what was written.
func TestBeforeReasons(t *testing.T) {
	recorded, err := os.ReadFile("testdata/before-reasons.kxtrace")
	if err != nil {
		t.Fatal(err)
	}
	old := read(t, recorded)
	if len(old) != 2 {
		t.Fatalf("%d journeys, want 2", len(old))
	}
	var again bytes.Buffer
	w, err := capture.NewWriter(&again, "", old[0].CreationTimestamp.Time)
	if err != nil {
		t.Fatal(err)
	}
	for _, j := range old {
		if err := w.Write(j); err != nil {
			t.Fatal(err)
		}
	}
	if !reflect.DeepEqual(old, read(t, again.Bytes())) {
		t.Error("what was read is written as something else")
	}
	whys, written := 0, 0
	for i := range old[1].Status.Steps {
		s := &old[1].Status.Steps[i]
		if s.Reason != nil {
			t.Errorf("step %s has the reason %v", s.ID, s.Reason)
		}
		if s.Why != "" {
			whys++
		}
		if _, _, ok := blame.StepWrite(s); ok {
			written++
		}
	}
	if whys == 0 || written != 1 {
		t.Errorf("%d steps say why, and %d wrote; want some, and one: the other was refused", whys, written)
	}
	for text, want := range map[string]bool{`why:"nothing was written"`: true, "reason:*": false} {
		f, err := filter.Parse(text, trace.Names)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Match(subject.NewSubject(old[1])); got != want {
			t.Errorf("%s matches: %v, want %v", text, got, want)
		}
	}
}

func read(t *testing.T, recorded []byte) (all []*v1alpha1.Journey) {
	t.Helper()
	r, err := capture.NewReader(bytes.NewReader(recorded))
	if err != nil {
		t.Fatal(err)
	}
	for {
		j, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, j)
	}
}
