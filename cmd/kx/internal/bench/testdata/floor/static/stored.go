package static

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

// stored is an object as a server answers with it: with the metadata that servers add, and who owns which field.
func stored(body []byte) []byte {
	var object map[string]any
	if json.Unmarshal(body, &object) != nil {
		return body
	}
	fields, err := json.Marshal(map[string]any{
		"f:metadata": map[string]any{"f:labels": map[string]any{".": struct{}{}, "f:group": struct{}{}}}, "f:spec": owned(object["spec"])})
	if err != nil {
		return body
	}
	begin := []byte(`"metadata":{`)
	i := bytes.Index(body, begin) + len(begin)
	added := fmt.Appendf(nil, `"creationTimestamp":"2020-01-01T00:00:00Z","generation":1,"managedFields":[{"apiVersion":%q,"fieldsType":"FieldsV1","fieldsV1":%s,`+
		`"manager":"kx-bench","operation":"Update","time":"2020-01-01T00:00:00Z"}],"namespace":"kx-bench-000000","resourceVersion":"100000","uid":"00000000-0000-0000-0000-000000000000",`,
		object["apiVersion"], fields)
	return slices.Concat(body[:i], added, body[i:])
}

// owned are the fields of a value, as managed fields write them. Lists have keys.
func owned(value any) map[string]any {
	set := map[string]any{".": struct{}{}}
	switch v := value.(type) {
	case map[string]any:
		for name, field := range v {
			set["f:"+name] = leafOr(field)
		}
	case []any:
		for _, item := range v {
			entry, _ := item.(map[string]any)
			key, err := json.Marshal(map[string]any{"name": entry["name"]})
			if err == nil {
				set["k:"+string(key)] = owned(entry)
			}
		}
	}
	return set
}

func leafOr(field any) any {
	switch field.(type) {
	case map[string]any, []any:
		return owned(field)
	default:
		return struct{}{}
	}
}
