package garbage

import (
	"bytes"
	"encoding/json"
	"errors"

	"google.golang.org/protobuf/encoding/protowire"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/kx-apiserver/kx/store/admin"
)

// storedParts holds the parts of a stored value that the collector needs.
type storedParts struct {
	apiVersion, kind string
	uid              types.UID
	owners           []metav1.OwnerReference
	// deleting means that it is being deleted; orphan and foreground are its finalizers for that.
	deleting, orphan, foreground bool
}

var errDamaged = errors.New("the value is damaged or cut off")

// scan reads a stored value. It skips the parts that it does not need.
func scan(d *admin.Decoder, key string, value []byte) (*storedParts, error) {
	plain, format, err := d.Plain(key, value)
	if err != nil {
		return nil, err
	}
	f := &storedParts{}
	switch format {
	case admin.Protobuf:
		err = f.protobuf(plain[4:])
	case admin.JSON:
		err = f.json(plain)
	default:
		err = f.whole(d, key, value)
	}
	if err == nil && f.uid == "" {
		err = errors.New("it has no UID")
	}
	return f, err
}

// whole reads values in rarer formats, by decoding all metadata.
func (f *storedParts) whole(d *admin.Decoder, key string, value []byte) error {
	m, err := d.Metadata(key, value)
	if err != nil {
		return err
	}
	f.apiVersion, f.kind, f.uid, f.owners, f.deleting = m.APIVersion, m.Kind, m.UID, m.OwnerReferences, m.DeletionTimestamp != nil
	for _, name := range m.Finalizers {
		f.finalizer(name)
	}
	return nil
}

func (f *storedParts) finalizer(name string) {
	f.orphan = f.orphan || name == metav1.FinalizerOrphanDependents
	f.foreground = f.foreground || name == metav1.FinalizerDeleteDependents
}

// fields calls each for the length-delimited fields of a protobuf message.
func fields(message []byte, each func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		if kind != protowire.BytesType {
			if n = protowire.ConsumeFieldValue(number, kind, message); n < 0 {
				return errDamaged
			}
			message = message[n:]
			continue
		}
		value, n := protowire.ConsumeBytes(message)
		if n < 0 {
			return errDamaged
		}
		if err := each(number, value); err != nil {
			return err
		}
		message = message[n:]
	}
	return nil
}

// protobuf reads a runtime.Unknown: its first field has the kind, its second one the object. generated.proto
// has these numbers.
func (f *storedParts) protobuf(unknown []byte) error {
	return fields(unknown, func(number protowire.Number, value []byte) error {
		switch number {
		case 1:
			return fields(value, func(number protowire.Number, value []byte) error {
				switch number {
				case 1:
					f.apiVersion = string(value)
				case 2:
					f.kind = string(value)
				}
				return nil
			})
		case 2:
			return fields(value, func(number protowire.Number, value []byte) error {
				if number == 1 {
					return f.metadata(value)
				}
				return nil
			})
		}
		return nil
	})
}

// metadata reads an ObjectMeta.
func (f *storedParts) metadata(message []byte) error {
	return fields(message, func(number protowire.Number, value []byte) error {
		switch number {
		case 5:
			f.uid = types.UID(value)
		case 9:
			f.deleting = true
		case 13:
			var owner metav1.OwnerReference
			if owner.Unmarshal(value) != nil {
				return errDamaged
			}
			f.owners = append(f.owners, owner)
		case 14:
			f.finalizer(string(value))
		}
		return nil
	})
}

// json reads an object up to the last of apiVersion, kind and metadata, which kx and Kubernetes API servers
// write first.
func (f *storedParts) json(object []byte) error {
	missing := 3
	err := members(object, func(name, value []byte) error {
		var err error
		switch string(name) {
		case "apiVersion":
			missing--
			err = json.Unmarshal(value, &f.apiVersion)
		case "kind":
			missing--
			err = json.Unmarshal(value, &f.kind)
		case "metadata":
			missing--
			err = members(value, f.member)
		}
		if err == nil && missing == 0 {
			return errEnough
		}
		return err
	})
	if errors.Is(err, errEnough) {
		return nil
	}
	if err != nil {
		return errDamaged // the error of a decoder may quote the value
	}
	return nil
}

// errEnough ends the reading of an object before its end.
var errEnough = errors.New("nothing else is needed")

// member reads a member of the metadata.
func (f *storedParts) member(name, value []byte) error {
	switch string(name) {
	case "uid":
		return json.Unmarshal(value, &f.uid)
	case "deletionTimestamp":
		f.deleting = !bytes.Equal(value, []byte("null"))
	case "ownerReferences":
		return json.Unmarshal(value, &f.owners)
	case "finalizers":
		var names []string
		err := json.Unmarshal(value, &names)
		for _, name := range names {
			f.finalizer(name)
		}
		return err
	}
	return nil
}

// members calls each for the members of a JSON object. Names have no escapes.
func members(object []byte, each func(name, value []byte) error) error {
	i := space(object, 0)
	if i == len(object) || object[i] != '{' {
		return errDamaged
	}
	for i = space(object, i+1); i < len(object) && object[i] != '}'; i = space(object, i) {
		end := text(object, i)
		if end < 0 {
			return errDamaged
		}
		name := object[i+1 : end-1]
		if i = space(object, end); i == len(object) || object[i] != ':' {
			return errDamaged
		}
		i = space(object, i+1)
		if end = value(object, i); end < 0 {
			return errDamaged
		}
		if err := each(name, object[i:end]); err != nil {
			return err
		}
		if i = space(object, end); i < len(object) && object[i] == ',' {
			i++
		}
	}
	if i >= len(object) {
		return errDamaged
	}
	return nil
}

// space returns the end of the spaces at i.
func space(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// text returns the end of the string at i, or -1 if there is none.
func text(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return -1
}

// value returns the end of the value at i, or -1 if there is none.
func value(b []byte, i int) int {
	start, depth := i, 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i = text(b, i); i < 0 {
				return -1
			}
		case '{', '[':
			depth++
			i++
		case '}', ']', ',', ' ', '\n', '\t', '\r':
			if depth == 0 {
				return orNothing(start, i)
			}
			if b[i] == '}' || b[i] == ']' {
				depth--
			}
			i++
		default:
			i++
			continue
		}
		if depth == 0 {
			return i
		}
	}
	return -1
}

func orNothing(start, end int) int {
	if start == end {
		return -1
	}
	return end
}
