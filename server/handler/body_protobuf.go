package handler

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufPrefix begins every body in protobuf.
var protobufPrefix = []byte("k8s\x00")

// maxMessageDepth limits the nesting of messages, because a decoder recurses at each level.
const maxMessageDepth = 1000

// countProtobufFields counts the fields and list items of a body in protobuf, but stops at most. An empty container
// takes two bytes in the body, and a thousand times as much when it is decoded. It counts what the Go type of the body
// would hold, and does not look into the values of maps.
func countProtobufFields(body []byte, creater runtime.ObjectCreater, most int) int {
	var envelope runtime.Unknown
	if err := envelope.Unmarshal(bytes.TrimPrefix(body, protobufPrefix)); err != nil {
		return 0
	}
	obj, err := creater.New(envelope.GroupVersionKind())
	if err != nil {
		return 0
	}
	c := &messageCounter{most: most, messages: map[reflect.Type]map[protowire.Number]reflect.Type{}}
	c.count(envelope.Raw, reflect.TypeOf(obj).Elem(), 0)
	return c.fields
}

type messageCounter struct {
	fields, most int
	// messages holds, for each type, the fields that are messages themselves, with their types.
	messages map[reflect.Type]map[protowire.Number]reflect.Type
}

func (c *messageCounter) count(data []byte, t reflect.Type, depth int) {
	if depth > maxMessageDepth {
		c.fields = c.most + 1
	}
	inside := c.messagesOf(t)
	for len(data) > 0 && c.fields <= c.most {
		number, wire, n := protowire.ConsumeTag(data)
		if n < 0 {
			return // the decoder reports the error
		}
		c.fields++
		data = data[n:]
		size := protowire.ConsumeFieldValue(number, wire, data)
		if size < 0 {
			return
		}
		if message, ok := inside[number]; ok && wire == protowire.BytesType {
			value, _ := protowire.ConsumeBytes(data)
			c.count(value, message, depth+1)
		}
		data = data[size:]
	}
}

func (c *messageCounter) messagesOf(t reflect.Type) map[protowire.Number]reflect.Type {
	inside, ok := c.messages[t]
	if ok {
		return inside
	}
	inside = map[protowire.Number]reflect.Type{}
	for i := range t.NumField() {
		field := t.Field(i)
		// Such as "bytes,2,rep,name=containers".
		_, tag, _ := strings.Cut(field.Tag.Get("protobuf"), ",")
		text, _, _ := strings.Cut(tag, ",")
		number, err := strconv.Atoi(text)
		of := field.Type
		for of.Kind() == reflect.Pointer || of.Kind() == reflect.Slice {
			of = of.Elem()
		}
		if err == nil && of.Kind() == reflect.Struct {
			inside[protowire.Number(number)] = of
		}
	}
	c.messages[t] = inside
	return inside
}
