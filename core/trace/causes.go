package trace

// Cause is the write that triggered work of the server without a request.
type Cause struct {
	// Journey wrote it; empty if no journey of this process did.
	Journey string
	// Revision is etcd's revision of the write; 0 if nothing was the cause.
	Revision int64
}

// maxEffects bounds the effects that a journey lists.
const maxEffects = 64

// CausedBy records that a revision which the server saw triggered the journey. The journey that wrote the revision
// lists this one among its effects as soon as it is known.
func (j *Journey) CausedBy(revision int64) {
	if j == nil || revision == 0 {
		return
	}
	j.mu.Lock()
	j.cause.Revision = revision
	j.mu.Unlock()
	r := j.rec
	r.mu.Lock()
	w := r.writes.find(revision)
	writer := w.journey
	if writer == nil && len(w.effects) < maxEarly {
		w.effects = append(w.effects, j)
	}
	r.mu.Unlock()
	if writer != nil {
		writer.linkEffect(j)
	}
}

// linkEffect links the journey and its effect.
func (j *Journey) linkEffect(effect *Journey) {
	j.mu.Lock()
	if len(j.effects) == maxEffects || j.gone {
		j.cut.Add(1)
	} else {
		j.effects = append(j.effects, effect)
	}
	j.mu.Unlock()
	effect.mu.Lock()
	effect.cause.Journey = j.id
	effect.mu.Unlock()
}

// Effects are copies of the journeys that the journey caused, without their steps.
func (j *Journey) Effects() []Record {
	j.mu.Lock()
	effects := j.effects[:len(j.effects):len(j.effects)]
	j.mu.Unlock()
	records := make([]Record, len(effects))
	for i, e := range effects {
		records[i] = e.Summary()
	}
	return records
}
