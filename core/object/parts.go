package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
)

// CutTypeMeta takes the brace, the kind and the apiVersion away, with which the JSON of every typed object begins: items of
// typed lists don't say of which kind they are.
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

// An object in protobuf is a prefix of four bytes and a message that says of which kind it is and has the object itself as
// raw bytes.
var protobufPrefix = []byte("k8s\x00")

const (
	bytesType = 2 // of a field that has a length
	rawField  = 2<<3 | bytesType
)

var errNotProtobuf = errors.New("it is not encoded as a Kubernetes API server does")

// CutRaw finds the object itself in one that is encoded in protobuf, and what is before and after it.
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
