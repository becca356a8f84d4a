package handler

import (
	"bytes"
	"reflect"
	"strconv"
	"strings"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/runtime"
)

// protobufPrefix is what a body in protobuf begins with.
var protobufPrefix = []byte("k8s\x00")

// maxMessageDepth is how deep messages may be inside others. A decoder calls itself for each.
const maxMessageDepth = 1000

// countProtobufFields counts the fields and list items of a body in protobuf, as far as most. An empty container takes two bytes in it,
// and a thousand times as much when it is decoded. Counted is what the Go type of the body would be filled with. Values of maps are not
// looked into.
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
	// messages are the fields of a type that are messages themselves, with their types.
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
			return // its decoder will say so
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
