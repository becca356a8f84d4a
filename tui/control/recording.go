package control

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/api"
)

// Recording tells what a server records and allows at one moment. It is zero for a server that has no recordings.
type Recording struct {
	// Known says that the server has told: it always has the recording that says what its flags allow.
	Known bool
	// Objects says that objects are recorded, at least those of some requests, and Until when. All says that those of
	// all requests are, as long as the server runs.
	Objects, All bool
	Until        time.Time
	// Breakpoints and Faults say that they are allowed now.
	Breakpoints, Faults bool
}

const recordingsPath = api.KX + "/recordings"

func (c *Control) followRecordings(ctx context.Context) {
	feed[v1alpha1.Recording]{
		control: c, path: recordingsPath,
		listed: func(items []v1alpha1.Recording, _ uint64) {
			c.recordings = map[string]v1alpha1.Recording{}
			for _, r := range items {
				c.recordings[r.Name] = r
			}
		},
		event: func(kind string, r v1alpha1.Recording) {
			_, known := c.recordings[r.Name]
			if !known && len(c.recordings) >= objectsMost {
				return
			}
			if c.recordings[r.Name] = r; kind == deleted {
				delete(c.recordings, r.Name)
			}
			if !known || kind == deleted { // otherwise a request was recorded
				c.run(c.askAllowed)
			}
		},
	}.run(ctx)
}

// recording sums up what the recordings of the server say. The caller holds mu.
func (c *Control) recording() Recording {
	_, known := c.recordings["flags"]
	sum := Recording{Known: known}
	for _, r := range c.recordings {
		sum.Breakpoints = sum.Breakpoints || slices.Contains(r.Spec.Allow, v1alpha1.AllowBreakpoints)
		sum.Faults = sum.Faults || slices.Contains(r.Spec.Allow, v1alpha1.AllowFaults)
		sum.All = sum.All || r.Status.AllObjects
		if r.Status.Until != nil {
			sum.Objects = true
			if r.Status.Until.After(sum.Until) {
				sum.Until = r.Status.Until.Time
			}
		}
	}
	return sum
}

// Record makes a recording of all requests, which also allows the rules that the server does not allow yet, unless its
// flags forbid them.
func (c *Control) Record(ctx context.Context) (*v1alpha1.Recording, error) {
	c.mu.Lock()
	now := c.recording()
	c.mu.Unlock()
	made := &v1alpha1.Recording{
		TypeMeta:   metav1.TypeMeta{APIVersion: v1alpha1.SchemeGroupVersion.String(), Kind: "Recording"},
		ObjectMeta: metav1.ObjectMeta{GenerateName: "screen-"},
	}
	var wanted []v1alpha1.Permission
	if !now.Breakpoints {
		wanted = append(wanted, v1alpha1.AllowBreakpoints)
	}
	if !now.Faults {
		wanted = append(wanted, v1alpha1.AllowFaults)
	}
	tries := [][]v1alpha1.Permission{wanted}
	for _, one := range wanted { // flags may forbid the other
		tries = append(tries, []v1alpha1.Permission{one})
	}
	var err error
	for _, made.Spec.Allow = range append(tries, nil) {
		if err = c.api.Create(ctx, recordingsPath, made, made); api.Code(err) != http.StatusForbidden {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("make a recording: %w", err)
	}
	return made, nil
}

// EndRecordings ends all recordings of the server.
func (c *Control) EndRecordings(ctx context.Context) error {
	if err := c.api.Delete(ctx, recordingsPath); err != nil {
		return fmt.Errorf("end the recordings: %w", err)
	}
	return nil
}
