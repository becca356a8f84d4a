package admin

import (
	"bytes"
	"encoding/binary"
	"fmt"

	"google.golang.org/protobuf/encoding/protowire"
)

// etcd's keys in its database are revisions.
const (
	revisionBytes  = 17 // main, an underscore, sub
	tombstoneBytes = 18 // and a t
)

// place is the position of a change in the history, and whether it is a deletion.
type place struct {
	main, sub int64
	deleted   bool
}

func parsePlace(k []byte) (place, error) {
	if len(k) != revisionBytes && len(k) != tombstoneBytes || k[8] != '_' {
		return place{}, fmt.Errorf("it has %x where a revision should be", k)
	}
	return place{
		main:    int64(binary.BigEndian.Uint64(k)),
		sub:     int64(binary.BigEndian.Uint64(k[9:])),
		deleted: len(k) == tombstoneBytes,
	}, nil
}

func (p place) bytes() []byte {
	k := make([]byte, revisionBytes, tombstoneBytes)
	binary.BigEndian.PutUint64(k, uint64(p.main))
	k[8] = '_'
	binary.BigEndian.PutUint64(k[9:], uint64(p.sub))
	if p.deleted {
		k = append(k, 't')
	}
	return k
}

// record is a change as etcd stores it. Its slices point into the file.
type record struct {
	key, value                   []byte
	create, mod, version, leases int64
}

// parseRecord reads etcd's KeyValue message without copying it.
func parseRecord(data []byte) (r record, err error) {
	for len(data) > 0 {
		number, kind, n := protowire.ConsumeTag(data)
		if n < 0 {
			return r, protowire.ParseError(n)
		}
		data = data[n:]
		switch kind {
		case protowire.BytesType:
			var value []byte
			if value, n = protowire.ConsumeBytes(data); n >= 0 {
				switch number {
				case 1:
					r.key = value
				case 5:
					r.value = value
				}
			}
		case protowire.VarintType:
			var value uint64
			if value, n = protowire.ConsumeVarint(data); n >= 0 {
				switch number {
				case 2:
					r.create = int64(value)
				case 3:
					r.mod = int64(value)
				case 4:
					r.version = int64(value)
				case 6:
					r.leases = int64(value)
				}
			}
		default:
			n = protowire.ConsumeFieldValue(number, kind, data)
		}
		if n < 0 {
			return r, protowire.ParseError(n)
		}
		data = data[n:]
	}
	return r, nil
}

func (r record) kv(withValue bool) KV {
	kv := KV{Key: string(r.key), CreateRevision: r.create, ModRevision: r.mod, Version: r.version, Lease: r.leases}
	if withValue {
		kv.Value = bytes.Clone(r.value)
	}
	return kv
}
