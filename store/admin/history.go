package admin

import (
	"context"
	"iter"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Change is one revision of a key, decoded.
type Change struct {
	Revision int64 `json:"revision"`
	// Version counts the writes since the key was created.
	Version int64 `json:"version,omitempty"`
	// Operation is "create", "update" or "delete".
	Operation string    `json:"operation"`
	Bytes     int       `json:"bytes"`
	Authors   []Author  `json:"authors,omitempty"`
	Time      time.Time `json:"time,omitzero"`
	// Error says why the value can't be decoded.
	Error string `json:"error,omitempty"`

	// Value is nil for a deletion, and for a value that can't be decoded.
	Value *Value `json:"-"`
}

// History streams the revisions of a key that etcd still has, oldest first.
func History(ctx context.Context, s Source, d *Decoder, key string) iter.Seq2[Change, error] {
	return func(yield func(Change, error) bool) {
		var teller Teller
		for e, err := range s.History(ctx, key) {
			if err != nil {
				yield(Change{}, err)
				return
			}
			if !yield(teller.Tell(d, e), nil) {
				return
			}
		}
	}
}

// Teller turns the events of one key into changes by comparing each with the one before.
type Teller struct {
	before *metav1.ObjectMeta
}

// Tell decodes an event and says who wrote it.
func (t *Teller) Tell(d *Decoder, e Event) Change {
	c := Change{Revision: e.ModRevision, Version: e.Version, Operation: "update", Bytes: len(e.Value)}
	if e.Deleted {
		t.before = nil
		c.Operation = "delete"
		return c
	}
	if e.CreateRevision == e.ModRevision {
		t.before = nil
		c.Operation = "create"
	}
	var err error
	if c.Value, err = d.Decode(e.Key, e.Value); err != nil {
		c.Error = err.Error()
		return c
	}
	meta := c.Value.Metadata()
	c.Authors = whoWrote(t.before, &meta)
	t.before = &meta
	if len(c.Authors) > 0 {
		c.Time = c.Authors[0].Time
	}
	if c.Time.IsZero() && c.Operation == "create" {
		c.Time = meta.CreationTimestamp.Time
	}
	return c
}
