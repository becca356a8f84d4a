package object

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/runtime"
)

// An encoded object is a prefix of four bytes and a message that says of which kind it is and has the object itself as raw
// bytes. A list has its metadata in field 1, and its items, without any of that around them, in field 2.
var protobufPrefix = []byte("k8s\x00")

const (
	bytesType = 2 // of a field that has a length
	rawField  = 2<<3 | bytesType
	itemField = 2<<3 | bytesType
)

func (l *List) writeProtobuf(id runtime.Identifier, encode func(runtime.Object, io.Writer) error, w io.Writer) error {
	envelope, err := l.encodeEmpty(encode)
	if err != nil {
		return err
	}
	before, list, after, err := cutRaw(envelope)
	if err != nil {
		return fmt.Errorf("write a list: %w", err)
	}
	items := make([][]byte, len(l.Items))
	size := len(list)
	for i, item := range l.Items {
		data, err := item.form(id, encode)
		if err != nil {
			return err
		}
		if _, items[i], _, err = cutRaw(data); err != nil {
			return fmt.Errorf("write %s as an item of a list: %w", item.key, err)
		}
		size += 1 + varintSize(len(items[i])) + len(items[i])
	}
	out := newChunks(w)
	defer out.release()
	var header [1 + binary.MaxVarintLen64]byte
	field := func(tag byte, size int) []byte { return binary.AppendUvarint(append(header[:0], tag), uint64(size)) }
	out.write(before)
	out.write(field(rawField, size))
	out.write(list)
	for _, item := range items {
		out.write(field(itemField, len(item)))
		if err := out.write(item); err != nil {
			return err
		}
	}
	out.write(after)
	return out.flush()
}

var errNotProtobuf = errors.New("it is not encoded as a Kubernetes API server does")

// cutRaw finds the object itself in an encoded one, and what is before and after it.
func cutRaw(data []byte) (before, raw, after []byte, err error) {
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

func varintSize(n int) int {
	size := 1
	for ; n >= 1<<7; n >>= 7 {
		size++
	}
	return size
}
