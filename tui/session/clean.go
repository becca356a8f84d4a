package session

import (
	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/tui/draw"
)

// clean makes every text of a journey one that can be shown. Objects stay as they are: they are read as JSON before
// they are shown.
func clean(j *v1alpha1.Journey) {
	j.ManagedFields, j.Labels, j.Annotations = nil, nil, nil // nothing of them is shown
	s := &j.Spec
	texts(&j.Name, &s.Method, &s.URI, &s.Verb, &s.Group, &s.Version, &s.Resource, &s.Subresource, &s.Namespace, &s.Name,
		&s.ContentType, &s.User, &s.UserAgent, &s.SourceIP, &s.AuditID, &j.Status.Level)
	for i := range j.Status.Steps {
		step := &j.Status.Steps[i]
		texts(&step.ID, &step.Layer, &step.Title, &step.Function, &step.File, &step.Upstream, &step.UpstreamFile,
			&step.Subject, &step.Why, &step.Error)
		for k := range step.Attributes {
			texts(&step.Attributes[k].Name, &step.Attributes[k].Value)
		}
		if step.Parent >= int32(i) {
			step.Parent = -1 // a step begins after the one that called it
		}
	}
	for i := range j.Status.Marks {
		m := &j.Status.Marks[i]
		texts(&m.ID, &m.Layer, &m.Title, &m.Function, &m.File, &m.Upstream, &m.UpstreamFile)
	}
	for i := range j.Status.Interventions {
		v := &j.Status.Interventions[i]
		texts(&v.Kind, &v.By, &v.User, &v.Message)
	}
	for i := range j.Status.Held {
		h := &j.Status.Held[i]
		texts(&h.ID, &h.By)
		for k := range h.Actions {
			h.Actions[k] = v1alpha1.JourneyAction(draw.Clean(string(h.Actions[k])))
		}
	}
	for i := range j.Status.Touched {
		texts(&j.Status.Touched[i])
	}
	for i := range j.Status.Deliveries {
		d := &j.Status.Deliveries[i]
		texts(&d.Watcher, &d.User, &d.UserAgent, &d.Type)
	}
}

func texts(all ...*string) {
	for _, s := range all {
		*s = draw.Clean(*s)
	}
}
