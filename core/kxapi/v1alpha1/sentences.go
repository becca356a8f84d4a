package v1alpha1

// Complete gives the journey one sentence for each kind of reason that its steps have, in their order. It keeps the
// journey's own, and takes those that it lacks from find.
func (j *Journey) Complete(find func(kind string) (Sentence, bool)) {
	own := make(map[string]Sentence, len(j.Status.Sentences))
	for _, s := range j.Status.Sentences {
		own[s.Kind] = s
	}
	var all []Sentence
	done := map[string]bool{}
	for i := range j.Status.Steps {
		r := j.Status.Steps[i].Reason
		if r == nil || done[r.Kind] {
			continue
		}
		done[r.Kind] = true
		s, ok := own[r.Kind]
		if !ok {
			s, ok = find(r.Kind)
		}
		if ok {
			all = append(all, s)
		}
	}
	j.Status.Sentences = all
}
