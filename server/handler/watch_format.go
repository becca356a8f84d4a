package handler

import (
	"bytes"
	"encoding/binary"
	"io"
	"sync"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// watchFormat is how events are written in a media type.
type watchFormat struct {
	mediaType   string // that the client accepts
	contentType string // that the response has
	objectType  string // the media type of the object inside an event
	text        bool   // a WebSocket message of it is text
	// frame comes before each event of a stream of bytes; a WebSocket message needs none.
	frame string
	// sized says that the frame is to hold the length of its event.
	sized bool
	// head writes what stands before an encoded object of some size in its event; tail stands behind it.
	head func(out *bytes.Buffer, eventType string, size int)
	tail string
}

// watchFormats are those in which a watch can be had. YAML is none: who accepts that first is answered 406, as by the Kubernetes
// API server.
var watchFormats = []*watchFormat{
	{
		mediaType: runtime.ContentTypeJSON, contentType: runtime.ContentTypeJSON, objectType: runtime.ContentTypeJSON,
		text: true, head: writeJSONHead, tail: jsonTail,
	},
	{
		mediaType: runtime.ContentTypeProtobuf, contentType: runtime.ContentTypeProtobuf + ";stream=watch", objectType: runtime.ContentTypeProtobuf,
		frame: "\x00\x00\x00\x00", sized: true, head: writeProtobufHead,
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

// write adds an event to b, in a frame if the stream needs one. A large object that nobody will change is not copied: a
// client that does not read it would hold a copy each.
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

// writeJSONHead and jsonTail are what encoding/json would write for a metav1.WatchEvent.
func writeJSONHead(out *bytes.Buffer, eventType string, _ int) {
	out.WriteString(`{"type":"`)
	out.WriteString(eventType)
	out.WriteString(`","object":`)
}

const jsonTail = "}\n"

// writeProtobufHead writes a metav1.WatchEvent but for the raw object, which is its last field.
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

// watchBuffers are what a watch needs while it has something to send.
type watchBuffers struct {
	out bytes.Buffer // events; of the last one what stands before object, if that is set
	// object is large, and others have it too. Behind it comes tail.
	object []byte
	tail   string

	encoded   bytes.Buffer // the object of the event at hand
	allocator runtime.Allocator
}

// size is how much there is to send.
func (b *watchBuffers) size() int { return b.out.Len() + len(b.object) + len(b.tail) }

// writeTo sends it.
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
	// watchFlushBytes is how much is held back in the hope of more.
	watchFlushBytes = 64 << 10
	// watchKeepBytes is how large a buffer may be to be used again.
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
