package handler

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// watchFormat describes the encoding of events in a media type.
type watchFormat struct {
	mediaType   string // the accepted media type
	contentType string // the Content-Type of the response
	objectType  string // the media type of the object inside an event
	text        bool   // whether its WebSocket messages are text
	// frame precedes each event of a stream of bytes; a WebSocket message needs none.
	frame string
	// sized is true if the frame holds the length of its event.
	sized bool
	// head writes the part of an event before the encoded object, which has the given size; tail follows the object.
	head func(out *bytes.Buffer, eventType string, size int)
	tail string
}

// watchFormats lists the formats of watches. YAML is not among them: a client that prefers it gets a 406, as from a
// kube-apiserver.
var watchFormats = []*watchFormat{
	{
		mediaType: runtime.ContentTypeJSON, contentType: runtime.ContentTypeJSON, objectType: runtime.ContentTypeJSON,
		text: true, head: writeJSONHead, tail: jsonTail,
	},
	{
		mediaType: runtime.ContentTypeProtobuf, contentType: runtime.ContentTypeProtobuf + ";stream=watch",
		objectType: runtime.ContentTypeProtobuf, frame: "\x00\x00\x00\x00", sized: true, head: writeProtobufHead,
	},
}

func watchFormatFor(mediaType string) *watchFormat {
	for _, f := range watchFormats {
		if f.mediaType == mediaType {
			return f
		}
	}
	return nil
}

// write adds an event to b, in a frame if the stream needs one. It does not copy a large object that is kept and
// immutable: otherwise each client that stops reading would hold a copy.
func (f *watchFormat) write(b *watchBuffers, framed bool, eventType string, object []byte, kept bool) {
	if f.text {
		object = bytes.TrimSuffix(object, []byte("\n"))
	}
	start := b.out.Len()
	if framed {
		b.out.WriteString(f.frame)
	}
	body := b.out.Len()
	f.head(&b.out, eventType, len(object))
	if framed && kept && len(object) >= watchFlushBytes {
		b.object, b.tail = object, f.tail
	} else {
		b.out.Write(object)
		b.out.WriteString(f.tail)
	}
	if framed && f.sized {
		binary.BigEndian.PutUint32(b.out.Bytes()[start:], uint32(b.size()-body))
	}
}

// writeJSONHead and jsonTail surround the object as encoding/json does in a metav1.WatchEvent.
func writeJSONHead(out *bytes.Buffer, eventType string, _ int) {
	out.WriteString(`{"type":"`)
	out.WriteString(eventType)
	out.WriteString(`","object":`)
}

const jsonTail = "}\n"

// writeProtobufHead writes a metav1.WatchEvent up to the raw object, which is its last field.
func writeProtobufHead(out *bytes.Buffer, eventType string, size int) {
	head := out.AvailableBuffer()
	head = protowire.AppendTag(head, 1, protowire.BytesType) // WatchEvent.Type
	head = protowire.AppendString(head, eventType)
	head = protowire.AppendTag(head, 2, protowire.BytesType) // WatchEvent.Object
	head = protowire.AppendVarint(head, uint64(protowire.SizeTag(1)+protowire.SizeBytes(size)))
	head = protowire.AppendTag(head, 1, protowire.BytesType) // RawExtension.Raw
	head = protowire.AppendVarint(head, uint64(size))
	out.Write(head)
}

// watchBuffers holds the buffers of a watch while it has events to send.
type watchBuffers struct {
	out bytes.Buffer // events; if object is set, the last one only up to object
	// object is a large object, shared with other watches. tail follows it.
	object []byte
	tail   string

	encoded   bytes.Buffer // the object of the current event
	allocator runtime.Allocator
}

// size returns the number of bytes to send.
func (b *watchBuffers) size() int { return b.out.Len() + len(b.object) + len(b.tail) }

// writeTo writes them to w.
func (b *watchBuffers) writeTo(w io.Writer) error {
	for _, p := range [][]byte{b.out.Bytes(), b.object, []byte(b.tail)} {
		if len(p) == 0 {
			continue
		}
		if _, err := w.Write(p); err != nil {
			return err
		}
	}
	return nil
}

func (b *watchBuffers) reset() {
	b.out.Reset()
	b.object, b.tail = nil, ""
}

const (
	// watchFlushBytes limits the bytes that wait for further events.
	watchFlushBytes = 64 << 10
	// watchKeepBytes limits the size of buffers that go back to the pool.
	watchKeepBytes = 1 << 20
)

var watchBufferPool = sync.Pool{New: func() any { return new(watchBuffers) }}

func newWatchBuffers() *watchBuffers { return watchBufferPool.Get().(*watchBuffers) }

func (b *watchBuffers) release() {
	if b.out.Cap()+b.encoded.Cap() > watchKeepBytes {
		return
	}
	b.reset()
	b.encoded.Reset()
	watchBufferPool.Put(b)
}
