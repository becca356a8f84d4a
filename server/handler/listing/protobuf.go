package listing

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/kx-apiserver/kx/core/object"
)

// A list in protobuf has its metadata in field 1, and its items, one field for each, in field 2, or the other way
// round. Both together are the raw bytes of the enclosing message, and their length precedes them.
const (
	rawField       = 2<<3 | 2
	itemField      = 2<<3 | 2
	itemFieldFirst = 1<<3 | 2
)

// heldBytes limits the encoded items that are kept from measuring the list until they are written.
const heldBytes = 2 << 20

// heldItem is an encoded item, and the key of its object.
type heldItem struct {
	key  string
	data []byte
}

var errChanged = errors.New("write a list: its items changed while they were written")

func writeProtobuf(ctx context.Context, out *chunks, e *Encoding, d *Document) error {
	whole, err := e.whole(d.Empty)
	if err != nil {
		return err
	}
	before, list, after, err := object.CutRaw(whole)
	if err != nil {
		return fmt.Errorf("write a list: %w", err)
	}
	items, held, err := measure(ctx, e, d)
	if err != nil {
		return err
	}
	out.write(before)
	out.writeField(rawField, len(list)+items)
	if !d.ItemsFirst {
		out.write(list)
	}
	out.cut()
	if err := writeItems(ctx, out, e, d, items, held); err != nil {
		return err
	}
	out.cut()
	if d.ItemsFirst {
		out.write(list)
	}
	return out.write(after)
}

// writeItems writes items that take size bytes. held has all of them, or is nil.
func writeItems(ctx context.Context, out *chunks, e *Encoding, d *Document, size int, held []heldItem) error {
	field := byte(itemField)
	if d.ItemsFirst {
		field = itemFieldFirst
	}
	for _, item := range held {
		out.writeField(field, len(item.data))
		out.write(item.data)
		out.endItem(item.key)
	}
	if held != nil {
		return out.err
	}
	counts := e.Counts
	defer func() { e.Counts = counts }() // the second pass finds more bytes that exist already
	for element, err := range e.elements(ctx, d) {
		if err != nil {
			return err
		}
		if size -= fieldSize(len(element.Data)); size < 0 {
			return errChanged
		}
		out.writeField(field, len(element.Data))
		if err := out.write(element.Data); err != nil {
			return err
		}
		out.endItem(e.key)
	}
	if size != 0 {
		return errChanged
	}
	return nil
}

// measure returns the size of all items, and the encoded items if they take no more than heldBytes; otherwise nil.
func measure(ctx context.Context, e *Encoding, d *Document) (size int, held []heldItem, err error) {
	held = []heldItem{}
	for element, err := range e.elements(ctx, d) {
		if err != nil {
			return 0, nil, err
		}
		size += fieldSize(len(element.Data))
		switch {
		case size > heldBytes:
			held = nil
		case held != nil && e.borrowed:
			held = append(held, heldItem{e.key, bytes.Clone(element.Data)})
		case held != nil:
			held = append(held, heldItem{e.key, element.Data})
		}
	}
	return size, held, nil
}

// fieldSize returns the size of a field whose value takes n bytes.
func fieldSize(n int) int {
	size := 2 + n
	for v := n; v >= 1<<7; v >>= 7 {
		size++
	}
	return size
}

func (c *chunks) writeField(tag byte, size int) {
	var header [1 + binary.MaxVarintLen64]byte
	c.write(binary.AppendUvarint(append(header[:0], tag), uint64(size)))
}
