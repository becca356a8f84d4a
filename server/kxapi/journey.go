package kxapi

import (
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/trace"
)

var levels = map[trace.Level]string{trace.Steps: "Steps", trace.Objects: "Objects"}

// journeyFields returns the fields for field selectors.
func journeyFields(j *v1alpha1.Journey) fields.Set {
	return fields.Set{
		"metadata.name": j.Name, "spec.verb": j.Spec.Verb, "spec.group": j.Spec.Group, "spec.resource": j.Spec.Resource,
		"spec.namespace": j.Spec.Namespace, "spec.name": j.Spec.Name, "spec.user": j.Spec.User,
		"status.phase": string(j.Status.Phase), "status.code": strconv.Itoa(int(j.Status.Code)),
	}
}

// journeyOf converts a record into the object that clients get, at a resourceVersion. It escapes the texts of clients.
func journeyOf(r *trace.Record, version string) *v1alpha1.Journey {
	j := &v1alpha1.Journey{
		ObjectMeta: metav1.ObjectMeta{
			Name:              r.ID,
			UID:               types.UID(r.ID),
			ResourceVersion:   version,
			CreationTimestamp: metav1.NewTime(r.Started),
		},
		Spec: v1alpha1.JourneySpec{
			Method: r.Request.Method, URI: r.Request.URI, Verb: r.Request.Verb,
			Group: r.Request.Group, Version: r.Request.Version, Resource: r.Request.Resource, Subresource: r.Request.Subresource,
			Namespace: r.Request.Namespace, Name: r.Request.Name, ContentType: r.Request.ContentType,
			User: r.Request.User, ImpersonatedUser: r.Request.ImpersonatedUser, UserAgent: r.Request.UserAgent,
			SourceIP: r.Request.SourceIP, AuditID: r.Request.AuditID, TraceID: r.Span.TraceID(),
		},
		Status: v1alpha1.JourneyStatus{
			Phase: v1alpha1.JourneyComplete, Started: metav1.NewMicroTime(r.Started), TookMicros: r.Took.Microseconds(),
			Code: int32(r.Response.Code), WatchError: int32(r.WatchError), Bytes: r.Response.Bytes,
			Level: levels[r.Level], Cut: int32(r.Cut),
			StepCount: int32(r.StepCount), Tries: int32(r.Tries), Revision: r.Revision,
		},
	}
	if r.Running {
		// Values of expressions may still be recorded after the request has ended. Until then, clients get no time.
		j.Status.Phase, j.Status.TookMicros = v1alpha1.JourneyRunning, 0
	}
	if len(r.Held) > 0 {
		j.Status.Phase = v1alpha1.JourneyHeld
	}
	if r.Cause != (trace.Cause{}) {
		j.Status.Cause = &v1alpha1.Cause{Journey: r.Cause.Journey, Revision: r.Cause.Revision}
	}
	touchedOf(&j.Status, r)
	for i := range r.Steps {
		j.Status.Steps = append(j.Status.Steps, stepOf(&r.Steps[i]))
	}
	j.Status.Sentences = sentencesOf(r.Steps)
	for _, m := range r.Marks {
		j.Status.Marks = append(j.Status.Marks, markOf(m))
	}
	for _, d := range r.Deliveries {
		j.Status.Deliveries = append(j.Status.Deliveries, v1alpha1.Delivery{
			Watcher: d.Watcher, User: d.User, UserAgent: d.UserAgent,
			Type: d.Type, Revision: d.Revision, AfterMicros: d.After.Microseconds(),
		})
	}
	j.Texts(escape.Line)
	return j
}

// effectOf describes a journey that another one caused, which started at began.
func effectOf(r *trace.Record, began time.Time) v1alpha1.Effect {
	e := v1alpha1.Effect{
		Journey: r.ID, UserAgent: r.Request.UserAgent, Verb: r.Request.Verb, Resource: r.Request.Resource,
		Subresource: r.Request.Subresource, Revision: r.Revision, AfterMicros: r.Started.Sub(began).Microseconds(),
	}
	for _, text := range []*string{&e.UserAgent, &e.Verb, &e.Resource, &e.Subresource} {
		*text = escape.Line(*text)
	}
	return e
}

func markOf(m trace.MarkRecord) v1alpha1.Mark {
	info, site := m.ID.Info(), trace.SiteOfStep(m.ID)
	return v1alpha1.Mark{
		ID: info.Name, Layer: info.Layer.String(), Title: info.Title,
		Function: site.Function, File: site.File, Line: int32(site.Line),
		Upstream: info.Upstream.Symbol, UpstreamFile: info.Upstream.File, UpstreamRelease: info.Upstream.Release,
		Revision: m.Revision, AfterMicros: m.After.Microseconds(),
	}
}

func stepOf(s *trace.StepRecord) v1alpha1.Step {
	info, site := s.ID.Info(), trace.SiteOfStep(s.ID)
	step := v1alpha1.Step{
		ID: info.Name, Layer: info.Layer.String(), Title: info.Title,
		Function: site.Function, File: site.File, Line: int32(site.Line),
		Upstream: info.Upstream.Symbol, UpstreamFile: info.Upstream.File, UpstreamRelease: info.Upstream.Release,
		Parent: int32(s.Parent), StartMicros: s.Start.Microseconds(), TookNanos: s.Took.Nanoseconds(),
		Subject: s.Subject, Why: s.Why, Error: s.Error,
		Before: raw(s.Before), After: raw(s.After),
	}
	for _, a := range s.Attrs {
		step.Attributes = append(step.Attributes, attributeOf(a))
	}
	if !s.Reason.IsZero() {
		step.Reason = &v1alpha1.Reason{Kind: s.Reason.String()}
		for _, v := range s.Values {
			step.Reason.Values = append(step.Reason.Values, attributeOf(v))
		}
	}
	return step
}

// sentencesOf returns the sentences of the steps' reasons, each once.
func sentencesOf(steps []trace.StepRecord) (sentences []v1alpha1.Sentence) {
	for i := range steps {
		r := steps[i].Reason
		same := func(s v1alpha1.Sentence) bool { return s.Kind == r.String() }
		if !r.IsZero() && !slices.ContainsFunc(sentences, same) {
			sentences = append(sentences, v1alpha1.Sentence{Kind: r.String(), English: r.Sentence(), Chinese: r.Chinese()})
		}
	}
	return sentences
}

func attributeOf(a trace.Attr) v1alpha1.Attribute {
	if a.IsInt {
		return v1alpha1.Attribute{Name: a.Name, Value: strconv.FormatInt(a.Int, 10)}
	}
	return v1alpha1.Attribute{Name: a.Name, Value: a.Text}
}

func raw(data []byte) *runtime.RawExtension {
	if data == nil {
		return nil
	}
	return &runtime.RawExtension{Raw: data}
}
