package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// CutTypeMeta removes the brace, kind and apiVersion that begin the JSON of a typed object: items of typed lists have
// no kind.
func CutTypeMeta(data []byte) ([]byte, error) {
	rest := data
	for _, field := range []string{`{"kind":"`, `"apiVersion":"`} {
		var ok bool
		if rest, ok = bytes.CutPrefix(rest, []byte(field)); !ok {
			return nil, fmt.Errorf("it does not begin with its kind and apiVersion: %.60q", data)
		}
		if _, rest, ok = bytes.Cut(rest, []byte(`",`)); !ok {
			return nil, fmt.Errorf("it has nothing but its kind and apiVersion: %.60q", data)
		}
	}
	return rest, nil
}

// An object in protobuf is this prefix and a message with the kind and, as raw bytes, the object itself.
var protobufPrefix = []byte("k8s\x00")

const (
	bytesType = 2 // of a field that has a length
	rawField  = 2<<3 | bytesType
)

var errNotProtobuf = errors.New("it is not encoded as a Kubernetes API server does")

// CutRaw splits an encoded protobuf object into what precedes the object itself, the object, and what follows it.
func CutRaw(data []byte) (before, raw, after []byte, err error) {
	if !bytes.HasPrefix(data, protobufPrefix) {
		return nil, nil, nil, errNotProtobuf
	}
	for at := len(protobufPrefix); at < len(data); {
		tag := data[at]
		length, n := binary.Uvarint(data[at+1:])
		start := at + 1 + n
		if n <= 0 || tag&7 != bytesType || length > uint64(len(data)-start) {
			return nil, nil, nil, errNotProtobuf
		}
		end := start + int(length)
		if tag == rawField {
			return data[:at], data[start:end], data[end:], nil
		}
		at = end
	}
	return nil, nil, nil, errNotProtobuf
}
