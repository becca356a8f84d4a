package handler

import (
	"encoding/json"
	"testing"
)

// TestCountJSONFields counts as decoded objects are counted.
func TestCountJSONFields(t *testing.T) {
	for _, text := range []string{
		`{}`, `[]`, ` { } `, `{"a":1}`, `{"a":[],"b":{}, "c":[ 1 , 2, {"d":"e,f"}]}`, `{"a":"\",{","b\"":"\\","c":[[[]]]}`, `[{},{},{}]`,
		`{"metadata":{"name":"a","labels":{"x":"y"}},"managedFields":[1,2],"spec":{"managedFields":[1,2]}}`, `{"a":null,"b":"{"}`,
	} {
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			t.Fatal(err)
		}
		if fields, owned := countJSONFields([]byte(text)); fields != countValue(value) || owned != 0 {
			t.Errorf("%s has %d fields, %d of them owned, and not %d", text, fields, owned, countValue(value))
		}
	}
	const managed = `{"metadata":{"managedFields":[{"fieldsV1":{"f:a":{},"f:b":{}}}, {}],"name":"a"},"data":{"a":"b"}}`
	if fields, owned := countJSONFields([]byte(managed)); fields != 5 || owned != 5 {
		t.Errorf("%s has %d fields and %d owned ones", managed, fields, owned)
	}
}
