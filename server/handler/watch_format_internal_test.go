package handler

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// TestEventBytes compares events with what the libraries make of a metav1.WatchEvent. A large one of an object that others
// have too holds no copy of it.
func TestEventBytes(t *testing.T) {
	for _, size := range []int{1, 200, watchFlushBytes} {
		object := []byte(`{"k":"` + strings.Repeat("x", size) + `"}`)
		event := metav1.WatchEvent{Type: "ADDED", Object: runtime.RawExtension{Raw: object}}
		asJSON, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		asJSON = append(asJSON, '\n')
		asProtobuf, err := event.Marshal()
		if err != nil {
			t.Fatal(err)
		}
		length := binary.BigEndian.AppendUint32(nil, uint32(len(asProtobuf)))
		for mediaType, want := range map[string]struct{ frame, event []byte }{
			runtime.ContentTypeJSON:     {nil, asJSON},
			runtime.ContentTypeProtobuf: {length, asProtobuf},
		} {
			for _, kept := range []bool{false, true} {
				b := &watchBuffers{}
				format := watchFormatFor(mediaType)
				// An event before it, for places in the buffer.
				format.write(b, true, "ADDED", []byte("{}"), kept)
				before := bytes.Clone(b.out.Bytes())
				format.write(b, true, "ADDED", object, kept)
				var sent bytes.Buffer
				if err := b.writeTo(&sent); err != nil {
					t.Fatal(err)
				}
				if got := sent.Bytes(); len(got) != b.size() || !bytes.Equal(got, bytes.Join([][]byte{before, want.frame, want.event}, nil)) {
					t.Errorf("%s of %d bytes, kept: %v: %.100q", mediaType, size, kept, got)
				}
				if copied := b.out.Len() >= size; size == watchFlushBytes && copied == kept {
					t.Errorf("%s of %d bytes, kept: %v: copied: %v", mediaType, size, kept, copied)
				}
				b.reset()
				format.write(b, false, "ADDED", object, kept)
				if !bytes.Equal(b.out.Bytes(), want.event) {
					t.Errorf("%s of %d bytes as a message: %.100q", mediaType, size, b.out.Bytes())
				}
			}
		}
	}
}
