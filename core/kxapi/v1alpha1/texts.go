package v1alpha1

// Texts replaces each text of a journey by what change makes of it: clients choose some, and captures may have any text
// anywhere. The objects before and after steps stay as they are.
func (j *Journey) Texts(change func(string) string) {
	all := func(texts ...*string) {
		for _, text := range texts {
			*text = change(*text)
		}
	}
	s := &j.Spec
	all(&j.Name, &s.Method, &s.URI, &s.Verb, &s.Group, &s.Version, &s.Resource, &s.Subresource, &s.Namespace, &s.Name,
		&s.ContentType, &s.User, &s.ImpersonatedUser, &s.UserAgent, &s.SourceIP, &s.AuditID, &s.TraceID, &j.Status.Level)
	j.Status.Phase = JourneyPhase(change(string(j.Status.Phase)))
	for i := range j.Status.Steps {
		step := &j.Status.Steps[i]
		all(&step.ID, &step.Layer, &step.Title, &step.Function, &step.File, &step.Upstream, &step.UpstreamFile, &step.UpstreamRelease,
			&step.Subject, &step.Why, &step.Error)
		if r := step.Reason; r != nil {
			all(&r.Kind, &r.Function, &r.File)
			for k := range r.Values {
				all(&r.Values[k].Name, &r.Values[k].Value)
			}
		}
		for k := range step.Attributes {
			all(&step.Attributes[k].Name, &step.Attributes[k].Value)
		}
	}
	for i := range j.Status.Sentences {
		sentence := &j.Status.Sentences[i]
		all(&sentence.Kind, &sentence.English, &sentence.Chinese)
	}
	for i := range j.Status.Marks {
		m := &j.Status.Marks[i]
		all(&m.ID, &m.Layer, &m.Title, &m.Function, &m.File, &m.Upstream, &m.UpstreamFile, &m.UpstreamRelease)
	}
	for i := range j.Status.Interventions {
		v := &j.Status.Interventions[i]
		all(&v.Kind, &v.By, &v.User, &v.Message)
		v.At = StepEdge(change(string(v.At)))
	}
	for i := range j.Status.Held {
		h := &j.Status.Held[i]
		all(&h.ID, &h.By)
		h.At = StepEdge(change(string(h.At)))
		for k := range h.Actions {
			h.Actions[k] = JourneyAction(change(string(h.Actions[k])))
		}
	}
	for i := range j.Status.Touched {
		all(&j.Status.Touched[i])
	}
	if c := j.Status.Cause; c != nil {
		all(&c.Journey)
	}
	for i := range j.Status.Effects {
		e := &j.Status.Effects[i]
		all(&e.Journey, &e.UserAgent, &e.Verb, &e.Resource, &e.Subresource)
	}
	for i := range j.Status.Deliveries {
		d := &j.Status.Deliveries[i]
		all(&d.Watcher, &d.User, &d.UserAgent, &d.Type)
	}
}
