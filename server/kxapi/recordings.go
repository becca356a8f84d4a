package kxapi

import (
	"fmt"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	"github.com/kx-apiserver/kx/server/options"
)

const (
	// flagsRecording is the name of the recording that says what flags allow.
	flagsRecording = "flags"
	// recordSeconds and recordMost are how long a recording takes if it does not say, and at most.
	recordSeconds, recordMost = 15 * 60, 24 * 60 * 60
)

var recordingColumns = []builtin.Column{
	builtin.NameColumn,
	{Name: "Filter", Type: "string", Description: "Which requests."},
	{Name: "Allows", Type: "string", Description: "What administrators may do meanwhile."},
	{Name: "Requests", Type: "integer", Description: "How many were recorded with objects."},
	{Name: "Until", Type: "string", Description: "When it ends by itself."},
	{Name: "Last", Type: "string", Description: "The journey that was recorded last."},
}

func recordingRow(r *v1alpha1.Recording) metav1.TableRow {
	until := ""
	if r.Status.Until != nil {
		until = r.Status.Until.Format(time.RFC3339)
	}
	allows := ""
	for i, a := range r.Spec.Allow {
		if i > 0 {
			allows += ","
		}
		allows += string(a)
	}
	return builtin.Row(r.Name, r.Spec.Filter, allows, r.Status.Requests, until, r.Status.Last)
}

// recordings are the recordings of this process, and with its flags what they allow.
type recordings struct {
	ruleStorage
	flags options.Allow
}

func newRecordings(p parser, flags options.Allow) *recordings {
	r := &recordings{flags: flags}
	r.ruleStorage = newRules(resource[*v1alpha1.Recording]{
		plural: "recordings", singular: "recording", empty: &v1alpha1.RecordingList{}, columns: recordingColumns, row: recordingRow,
	}, ruleKind[*v1alpha1.Recording]{
		allows: r.mayAllow, parse: p.recording, setStatus: setRecordingStatus, setTime: true,
	}, p.recorder.Control())
	own := &v1alpha1.Recording{ObjectMeta: metav1.ObjectMeta{Name: flagsRecording, CreationTimestamp: metav1.Now()}}
	own.Status.AllObjects = flags.Objects
	for what, permit := range r.permits() {
		if permit == options.Always {
			own.Spec.Allow = append(own.Spec.Allow, what)
		}
	}
	slices.Sort(own.Spec.Allow)
	r.keep(&ruleEntry{object: own, rule: &trace.Rule{Name: flagsRecording, Kind: trace.Recording}})
	return r
}

func (r *recordings) permits() map[v1alpha1.Permission]options.Permit {
	return map[v1alpha1.Permission]options.Permit{v1alpha1.AllowBreakpoints: r.flags.Breakpoints, v1alpha1.AllowFaults: r.flags.Faults}
}

// flagOf is the flag of kx serve that allows something.
var flagOf = map[v1alpha1.Permission]string{v1alpha1.AllowBreakpoints: "--allow-breakpoints", v1alpha1.AllowFaults: "--allow-faults"}

// mayAllow refuses a recording that allows what the flags never do.
func (r *recordings) mayAllow(object *v1alpha1.Recording) error {
	for what, permit := range r.permits() {
		if permit == options.Never && slices.Contains(object.Spec.Allow, what) {
			return errNeverAllowed(what)
		}
	}
	return nil
}

func errNeverAllowed(what v1alpha1.Permission) error {
	return fmt.Errorf("this server was started with %s=%s", flagOf[what], options.Never)
}

// refuse returns an error if something of this name is not allowed now, neither by the flags nor by a recording.
func (r *recordings) refuse(name string, what v1alpha1.Permission) error {
	switch r.permits()[what] {
	case options.Always:
		return nil
	case options.Never:
		return fmt.Errorf("%s are not allowed: %w", name, errNeverAllowed(what))
	}
	entries, _ := r.selectEntries(nil)
	for _, e := range entries {
		if slices.Contains(e.object.(*v1alpha1.Recording).Spec.Allow, what) {
			return nil
		}
	}
	return fmt.Errorf("%s are off on this server: kx trace record %s switches them on for a while, and the flag %s of kx serve for good",
		name, recordFlag[what], flagOf[what])
}

// recordFlag is the flag of kx trace record that allows something.
var recordFlag = map[v1alpha1.Permission]string{v1alpha1.AllowBreakpoints: "--breakpoints", v1alpha1.AllowFaults: "--faults"}

// recording fills in the defaults and returns the rule and the time for which it holds.
func (p parser) recording(r *v1alpha1.Recording) (*trace.Rule, time.Duration, field.ErrorList) {
	spec, s := field.NewPath("spec"), &r.Spec
	f, errs := p.filter(spec.Child("filter"), s.Filter)
	if err := trace.CheckRecording(f); len(errs) == 0 && err != nil {
		errs = append(errs, field.Invalid(spec.Child("filter"), s.Filter, err.Error()))
	}
	if s.Seconds == 0 {
		s.Seconds = recordSeconds
	}
	if s.Seconds < 0 || s.Seconds > recordMost {
		errs = append(errs, field.Invalid(spec.Child("seconds"), s.Seconds, fmt.Sprintf("must be from 1 to %d", recordMost)))
	}
	for i, a := range s.Allow {
		errs = append(errs, oneOf(spec.Child("allow").Index(i), &a, v1alpha1.AllowBreakpoints, v1alpha1.AllowFaults)...)
		if a == "" || slices.Contains(s.Allow[:i], a) {
			errs = append(errs, field.Duplicate(spec.Child("allow").Index(i), a))
		}
	}
	return &trace.Rule{Name: r.Name, Kind: trace.Recording, Filter: f, Probability: 1}, time.Duration(s.Seconds) * time.Second, errs
}

func setRecordingStatus(r *v1alpha1.Recording, status v1alpha1.RuleStatus) {
	r.Status = v1alpha1.RecordingStatus{Requests: status.Hits}
	if status.LastHit != nil {
		r.Status.Last = status.LastHit.Journey
	}
	if r.Spec.Seconds > 0 && !r.CreationTimestamp.IsZero() {
		until := metav1.NewTime(r.CreationTimestamp.Add(time.Duration(r.Spec.Seconds) * time.Second))
		r.Status.Until = &until
	}
}
