package kms

import (
	"bytes"
	"errors"
	"fmt"
	"maps"
	"slices"

	"google.golang.org/protobuf/encoding/protowire"
	"k8s.io/apimachinery/pkg/util/validation"
)

// The limits of the protocol.
const (
	maxKeyID       = 1 << 10
	maxSource      = 1 << 10
	maxAnnotations = 32 << 10
)

// Prefix begins the values that plugins of v2 have to do with. The provider's name follows, and a colon.
const Prefix = "k8s:enc:kms:v2:"

// KeyID returns the id of the plugin's key in a stored value, if the value has one.
func KeyID(stored []byte) (id string, ok bool) {
	rest, ok := bytes.CutPrefix(stored, []byte(Prefix))
	if !ok {
		return "", false
	}
	_, rest, ok = bytes.Cut(rest, []byte(":"))
	if !ok {
		return "", false
	}
	from, _, err := parse(rest)
	return from.keyID, err == nil
}

// sourceType is the kind of a value's encrypted key source.
type sourceType uint64

const (
	// sourceKey is a key of AES-GCM. Such values are read; none is written.
	sourceKey sourceType = 0
	// sourceSeed: keys are derived from a seed.
	sourceSeed sourceType = 1
)

// source is where the key of a value comes from, as the value itself says.
type source struct {
	kind        sourceType
	keyID       string
	encrypted   []byte
	annotations map[string][]byte
}

func (s *source) validate() error {
	if s.kind != sourceKey && s.kind != sourceSeed {
		return fmt.Errorf("unknown encryptedDEKSourceType: %d", s.kind)
	}
	switch n := len(s.encrypted); {
	case n == 0:
		return errors.New("failed to validate encrypted DEK source: encrypted DEK source is empty")
	case n > maxSource:
		return fmt.Errorf("failed to validate encrypted DEK source: encrypted DEK source is %d bytes, which exceeds the max size of %d", n,
			maxSource)
	}
	if err := validateKeyID(s.keyID); err != nil {
		return fmt.Errorf("failed to validate key id: %w", err)
	}
	size := 0
	for name, value := range s.annotations {
		// Upstream wants the names to be domains with at least one dot.
		if len(validation.IsDNS1123Subdomain(name)) > 0 || !slices.Contains([]byte(name), '.') {
			return errors.New("failed to validate annotations: a name is not a fully qualified domain name")
		}
		size += len(name) + len(value)
	}
	if size > maxAnnotations {
		return fmt.Errorf("failed to validate annotations: total size of annotations is %d, which exceeds the max size of %d", size,
			maxAnnotations)
	}
	return nil
}

func validateKeyID(id string) error {
	switch n := len(id); {
	case n == 0:
		return errors.New("keyID is empty")
	case n > maxKeyID:
		return fmt.Errorf("keyID is %d bytes, which exceeds the max size of %d", n, maxKeyID)
	}
	return nil
}

// The numbers of the fields of EncryptedObject, and of an entry of its map.
const (
	fieldData protowire.Number = iota + 1
	fieldKeyID
	fieldSource
	fieldAnnotations
	fieldKind

	fieldName  protowire.Number = 1
	fieldValue protowire.Number = 2
)

// append appends the encoded source.
func (s *source) append(to []byte) []byte {
	to = protowire.AppendString(protowire.AppendTag(to, fieldKeyID, protowire.BytesType), s.keyID)
	to = protowire.AppendBytes(protowire.AppendTag(to, fieldSource, protowire.BytesType), s.encrypted)
	for _, name := range slices.Sorted(maps.Keys(s.annotations)) {
		entry := protowire.AppendString(protowire.AppendTag(nil, fieldName, protowire.BytesType), name)
		entry = protowire.AppendBytes(protowire.AppendTag(entry, fieldValue, protowire.BytesType), s.annotations[name])
		to = protowire.AppendBytes(protowire.AppendTag(to, fieldAnnotations, protowire.BytesType), entry)
	}
	if s.kind != 0 {
		to = protowire.AppendVarint(protowire.AppendTag(to, fieldKind, protowire.VarintType), uint64(s.kind))
	}
	return to
}

// appendObject returns a value whose data is given.
func appendObject(s *source, data []byte) []byte {
	out := make([]byte, 0, len(data)+len(s.encrypted)+len(s.keyID)+64)
	out = protowire.AppendBytes(protowire.AppendTag(out, fieldData, protowire.BytesType), data)
	return s.append(out)
}

// parse reads a value. Its results share bytes with the value.
func parse(value []byte) (s source, data []byte, err error) {
	err = eachField(value, func(number protowire.Number, kind protowire.Type, content []byte, n uint64) error {
		switch {
		case number == fieldData && kind == protowire.BytesType:
			data = content
		case number == fieldKeyID && kind == protowire.BytesType:
			s.keyID = string(content)
		case number == fieldSource && kind == protowire.BytesType:
			s.encrypted = content
		case number == fieldKind && kind == protowire.VarintType:
			s.kind = sourceType(n)
		case number == fieldAnnotations && kind == protowire.BytesType:
			var name string
			var value []byte
			err := eachField(content, func(number protowire.Number, kind protowire.Type, content []byte, _ uint64) error {
				switch {
				case number == fieldName && kind == protowire.BytesType:
					name = string(content)
				case number == fieldValue && kind == protowire.BytesType:
					value = content
				}
				return nil
			})
			if err != nil {
				return err
			}
			if s.annotations == nil {
				s.annotations = map[string][]byte{}
			}
			s.annotations[name] = value
		}
		return nil
	})
	if err == nil && len(data) == 0 {
		err = errors.New("encrypted data is empty")
	}
	if err == nil {
		err = s.validate()
	}
	return s, data, err
}

var errDamaged = errors.New("the stored data is not an EncryptedObject of KMS v2")

// eachField calls do for each field of a message, with its bytes or its number.
func eachField(message []byte, do func(number protowire.Number, kind protowire.Type, content []byte, n uint64) error) error {
	for len(message) > 0 {
		number, kind, n := protowire.ConsumeTag(message)
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		var content []byte
		var varint uint64
		switch kind {
		case protowire.BytesType:
			content, n = protowire.ConsumeBytes(message)
		case protowire.VarintType:
			varint, n = protowire.ConsumeVarint(message)
		default:
			n = protowire.ConsumeFieldValue(number, kind, message)
		}
		if n < 0 {
			return errDamaged
		}
		message = message[n:]
		if err := do(number, kind, content, varint); err != nil {
			return err
		}
	}
	return nil
}
