package admin

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// unmarshalMetadata reads field 1 of a message.
func unmarshalMetadata(message []byte, out *metav1.ObjectMeta) error {
	damaged := errors.New("the protobuf message is damaged or cut off")
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return damaged
		}
		message = message[n:]
		if number == 1 && kind == protowire.BytesType {
			metadata, n := protowire.ConsumeBytes(message)
			if n < 0 || out.Unmarshal(metadata) != nil {
				return damaged
			}
			return nil
		}
		if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
			return damaged
		}
		message = message[n:]
	}
	return nil
}

// Author is a manager that wrote a revision of an object, according to its managed fields.
type Author struct {
	Manager     string    `json:"manager"`
	Operation   string    `json:"operation,omitempty"`
	Subresource string    `json:"subresource,omitempty"`
	Time        time.Time `json:"time,omitzero"`
}

// whoWrote compares the managed fields of an object before and after a write: the managers whose entries changed made
// it. before is nil for the first known write. An object without managed fields has no authors.
func whoWrote(before, after *metav1.ObjectMeta) []Author {
	known := map[string]metav1.ManagedFieldsEntry{}
	if before != nil {
		for _, entry := range before.ManagedFields {
			known[managerKey(entry)] = entry
		}
	}
	var out []Author
	var latest time.Time
	for _, entry := range after.ManagedFields {
		author := Author{Manager: entry.Manager, Operation: string(entry.Operation), Subresource: entry.Subresource}
		if entry.Time != nil {
			author.Time = entry.Time.Time
		}
		if old, ok := known[managerKey(entry)]; ok && old.Time.Equal(entry.Time) && sameFields(old.FieldsV1, entry.FieldsV1) {
			continue
		}
		out = append(out, author)
		if author.Time.After(latest) {
			latest = author.Time
		}
	}
	if before == nil {
		// Without the earlier object, the manager of the latest entry made the write.
		out = slices.DeleteFunc(out, func(a Author) bool { return a.Time.Before(latest) })
	}
	slices.SortFunc(out, func(a, b Author) int { return cmp.Or(b.Time.Compare(a.Time), cmp.Compare(a.Manager, b.Manager)) })
	return out
}

func managerKey(e metav1.ManagedFieldsEntry) string {
	return e.Manager + "\x00" + string(e.Operation) + "\x00" + e.APIVersion + "\x00" + e.Subresource
}

func sameFields(a, b *metav1.FieldsV1) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.Equal(*b)
}
