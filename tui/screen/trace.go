package screen

import (
	"strconv"

	"github.com/kx-apiserver/kx/core/blame"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// InEtcd returns the key and revision in etcd that a step wrote or read; without one, those of the request: its
// write, or else its last read.
func InEtcd(j *v1alpha1.Journey, step int) (ToKey, bool) {
	if step >= 0 && step < len(j.Status.Steps) {
		if to, ok := keyOf(&j.Status.Steps[step]); ok {
			return to, true
		}
	}
	var read ToKey
	for i := len(j.Status.Steps) - 1; i >= 0; i-- {
		step := &j.Status.Steps[i]
		if key, revision, ok := blame.StepWrite(step); ok {
			return ToKey{Key: key, Revision: revision}, true
		}
		if to, ok := keyOf(step); ok {
			read = to
		}
	}
	return read, read.Key != ""
}

// keyOf returns the key that a step wrote or read, with the key's revision.
func keyOf(step *v1alpha1.Step) (ToKey, bool) {
	if key, revision, ok := blame.StepWrite(step); ok {
		return ToKey{Key: key, Revision: revision}, true
	}
	if step.Layer != steps.LayerEtcd.String() || step.Subject == "" {
		return ToKey{}, false
	}
	revision, _ := strconv.ParseInt(step.Attribute("modRevision"), 10, 64) // 0 if it does not say
	return ToKey{Key: step.Subject, Revision: revision}, true
}
