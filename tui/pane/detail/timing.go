package detail

import (
	"time"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/steps"
)

// timeKind classifies a step's own time.
type timeKind uint8

const (
	workTime timeKind = iota
	etcdTime          // etcd's round trips
	waitTime          // waiting for the watch cache to have seen a revision
)

// timeReport divides a journey's time: each step's own work without its calls, requests to etcd, waits for the watch
// cache, and deliberate holds or delays. Concurrent steps may take more time together than their caller; negative times
// count as 0.
type timeReport struct {
	// Total is the time from the journey's beginning to its end; for a running one, to its last known event.
	Total time.Duration
	// Work, Etcd and Wait add up the steps' own times.
	Work, Etcd, Wait time.Duration
	// OnPurpose is the time of deliberate holds and delays.
	OnPurpose time.Duration
	// Outside is the time outside of all steps.
	Outside time.Duration
	Steps   []stepTime
}

// stepTime divides one step's time.
type stepTime struct {
	Kind timeKind
	// Start is the time since the journey's beginning.
	Start, Took time.Duration
	// Own is the step's time without its calls and without deliberate waits.
	Own time.Duration
	// OnPurpose is the time of deliberate holds and delays, from OnPurposeStart on.
	OnPurpose, OnPurposeStart time.Duration
	Running                   bool

	calls []int
}

// reportTime divides a journey's time.
func reportTime(j *v1alpha1.Journey) *timeReport {
	st := &j.Status
	r := &timeReport{Total: micros(st.TookMicros), Steps: make([]stepTime, len(st.Steps))}
	last := time.Duration(0)
	for i := range st.Steps {
		s := &st.Steps[i]
		r.Steps[i] = stepTime{Start: max(micros(s.StartMicros), 0), Took: max(time.Duration(s.TookNanos), 0), Running: s.TookNanos < 0}
		last = max(last, r.Steps[i].Start+r.Steps[i].Took)
		switch {
		case steps.InfoOf(s.ID).Waits:
			r.Steps[i].Kind = waitTime
		case s.Layer == steps.LayerEtcd.String():
			r.Steps[i].Kind = etcdTime
		}
		if parent := int(s.Parent); parent >= 0 && parent < i {
			r.Steps[parent].calls = append(r.Steps[parent].calls, i)
		}
	}
	if r.Total <= 0 {
		r.Total = last
	}
	for _, i := range st.Interventions {
		if n := int(i.Step); n >= 0 && n < len(r.Steps) && i.TookMicros > 0 {
			s := &r.Steps[n]
			if s.OnPurpose == 0 {
				s.OnPurposeStart = micros(i.StartMicros)
			}
			s.OnPurpose += micros(i.TookMicros)
			r.OnPurpose += micros(i.TookMicros)
		}
	}
	r.add(st.Steps)
	return r
}

// add adds up the steps' own times.
func (r *timeReport) add(taken []v1alpha1.Step) {
	accounted := time.Duration(0)
	for i := range r.Steps {
		s := &r.Steps[i]
		s.Own = s.Took - s.OnPurpose
		for _, c := range s.calls {
			s.Own -= r.Steps[c].Took
		}
		s.Own = max(s.Own, 0)
		switch s.Kind {
		case etcdTime:
			r.Etcd += s.Own
		case waitTime:
			r.Wait += s.Own
		default:
			r.Work += s.Own
		}
		if parent := int(taken[i].Parent); parent < 0 || parent >= i {
			accounted += s.Took
		}
	}
	r.Outside = max(r.Total-accounted, 0)
}

// Marks of a bar's cells.
const (
	ownCell       = '#' // the step itself
	callsCell     = '-' // its calls
	onPurposeCell = '=' // held, or made to wait
)

// bar draws the i-th step on a time line of w cells for the whole journey. A step that ran has a cell at least.
func (r *timeReport) bar(i, w int) string {
	if w <= 0 {
		return ""
	}
	bar := make([]byte, w)
	for c := range bar {
		bar[c] = ' '
	}
	s := &r.Steps[i]
	took := s.Took
	if s.Running {
		took = max(r.Total-s.Start, 0)
	}
	r.paint(bar, s.Start, took, ownCell)
	for _, c := range s.calls {
		if called := &r.Steps[c]; called.Took*time.Duration(w) >= r.Total {
			r.paint(bar, called.Start, called.Took, callsCell)
		}
	}
	if s.OnPurpose > 0 {
		r.paint(bar, s.OnPurposeStart, s.OnPurpose, onPurposeCell)
	}
	return string(bar)
}

func (r *timeReport) paint(bar []byte, start, took time.Duration, with byte) {
	if r.Total <= 0 {
		return
	}
	w := time.Duration(len(bar))
	first := min(max(start*w/r.Total, 0), w-1)
	last := min(max((start+took)*w/r.Total, first+1), w)
	for c := first; c < last; c++ {
		bar[c] = with
	}
}
