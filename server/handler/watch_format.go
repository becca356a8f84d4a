package handler

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"sync"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"
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
	// event writes an event around its encoded object.
	event func(out *bytes.Buffer, eventType string, object []byte) error
}

// watchFormats are those in which a watch can be had.
var watchFormats = []watchFormat{
	{
		mediaType: runtime.ContentTypeJSON, contentType: runtime.ContentTypeJSON, objectType: runtime.ContentTypeJSON,
		text: true, event: writeJSONEvent,
	},
	{
		mediaType: runtime.ContentTypeYAML, contentType: runtime.ContentTypeYAML + ";stream=watch", objectType: runtime.ContentTypeJSON,
		text: true, frame: "---\n", event: writeYAMLEvent,
	},
	{
		mediaType: runtime.ContentTypeProtobuf, contentType: runtime.ContentTypeProtobuf + ";stream=watch", objectType: runtime.ContentTypeProtobuf,
		frame: "\x00\x00\x00\x00", sized: true, event: writeProtobufEvent,
	},
}

func watchFormatFor(mediaType string) *watchFormat {
	for i := range watchFormats {
		if watchFormats[i].mediaType == mediaType {
			return &watchFormats[i]
		}
	}
	return nil
}

// write writes an event into out, in a frame if the stream needs one.
func (f *watchFormat) write(out *bytes.Buffer, framed bool, eventType string, object []byte) error {
	if !framed {
		return f.event(out, eventType, object)
	}
	start := out.Len()
	out.WriteString(f.frame)
	if err := f.event(out, eventType, object); err != nil {
		return err
	}
	if f.sized {
		written := out.Bytes()[start:]
		binary.BigEndian.PutUint32(written, uint32(len(written)-len(f.frame)))
	}
	return nil
}

// writeJSONEvent writes what encoding/json would write for a metav1.WatchEvent. The object is encoded JSON already.
func writeJSONEvent(out *bytes.Buffer, eventType string, object []byte) error {
	out.WriteString(`{"type":"`)
	out.WriteString(eventType)
	out.WriteString(`","object":`)
	out.Write(bytes.TrimSuffix(object, []byte("\n")))
	out.WriteString("}\n")
	return nil
}

func writeYAMLEvent(out *bytes.Buffer, eventType string, object []byte) error {
	var event bytes.Buffer
	if err := writeJSONEvent(&event, eventType, object); err != nil {
		return err
	}
	document, err := yaml.JSONToYAML(event.Bytes())
	if err != nil {
		return fmt.Errorf("write a watch event as YAML: %w", err)
	}
	out.Write(document)
	return nil
}

func writeProtobufEvent(out *bytes.Buffer, eventType string, object []byte) error {
	event := metav1.WatchEvent{Type: eventType, Object: runtime.RawExtension{Raw: object}}
	size := event.Size()
	out.Grow(size)
	written, err := event.MarshalToSizedBuffer(out.AvailableBuffer()[:size])
	if err != nil {
		return fmt.Errorf("write a watch event as protobuf: %w", err)
	}
	out.Write(out.AvailableBuffer()[:written])
	return nil
}

// watchBuffers are what a watch needs while it has something to send.
type watchBuffers struct {
	out       bytes.Buffer // whole events
	object    bytes.Buffer // the object of the event at hand
	allocator runtime.Allocator
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
	if b.out.Cap()+b.object.Cap() > watchKeepBytes {
		return
	}
	b.out.Reset()
	b.object.Reset()
	watchBufferPool.Put(b)
}
