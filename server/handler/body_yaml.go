package handler

import (
	"bytes"

	goyaml "sigs.k8s.io/yaml/goyaml.v2"
)

// expandedMost is how many bytes a body in YAML may have when its aliases are replaced by what they stand for: as many as one
// without aliases may have.
const expandedMost = 3 << 20

// mayAlias says whether a body may have aliases, if it is YAML.
func mayAlias(body []byte) bool {
	return bytes.IndexByte(body, '&') >= 0 && bytes.IndexByte(body, '*') >= 0
}

// expansion is how large a body in YAML is when its aliases are replaced. Until it becomes JSON they share what they stand for.
type expansion struct{ fields, bytes int }

func expand(body []byte) (e expansion) {
	var document any
	if goyaml.Unmarshal(body, &document) == nil { // or else its decoder says why
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
