package handler

import (
	"bytes"

	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// expandedMost limits the bytes of a YAML body after its aliases are expanded. A body without aliases has the same
// limit.
const expandedMost = 3 << 20

// mayAlias reports whether a body could contain aliases, if it is YAML.
func mayAlias(body []byte) bool {
	return bytes.IndexByte(body, '&') >= 0 && bytes.IndexByte(body, '*') >= 0
}

// expansion is the size of a YAML body after its aliases are expanded. The decoded document still shares their targets;
// its JSON does not.
type expansion struct{ fields, bytes int }

func expand(body []byte) (e expansion) {
	var document any
	if goyaml.Unmarshal(body, &document) == nil { // else the decoder reports the error
		e.add(document)
	}
	return e
}

func (e *expansion) add(value any) {
	switch v := value.(type) {
	case map[any]any:
		e.fields += len(v)
		for key, value := range v {
			e.add(key)
			e.add(value)
		}
	case []any:
		e.fields += len(v)
		for _, item := range v {
			e.add(item)
		}
	case string:
		e.bytes += len(v)
	}
}
