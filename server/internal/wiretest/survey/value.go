package survey

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
)

// parse reads JSON that is known to be valid. Numbers stay as they are written.
func parse(data []byte) any {
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(fmt.Sprintf("%v in %s", err, data))
	}
	return value
}

// render writes JSON as short as it can be. What parse returned can always be written.
func render(value any) json.RawMessage {
	var out bytes.Buffer
	encoder := json.NewEncoder(&out)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(value); err != nil {
		panic(err)
	}
	return bytes.TrimSuffix(out.Bytes(), []byte("\n"))
}

func clone(value any) any { return parse(render(value)) }

// member is a member of an object, nil if there is none.
func member(value any, path ...string) any {
	for _, name := range path {
		object, _ := value.(map[string]any)
		value = object[name]
	}
	return value
}

func text(value any, path ...string) string {
	s, _ := member(value, path...).(string)
	return s
}

var (
	escapePointer   = strings.NewReplacer("~", "~0", "/", "~1")
	unescapePointer = strings.NewReplacer("~1", "/", "~0", "~")
)

// below is the JSON pointer of a member.
func below(at, name string) string { return at + "/" + escapePointer.Replace(name) }

// names are the parts of a JSON pointer.
func names(at string) []string {
	if at == "" {
		return nil
	}
	parts := strings.Split(at[1:], "/")
	for i := range parts {
		parts[i] = unescapePointer.Replace(parts[i])
	}
	return parts
}

// edit sets the value at a pointer, and removes it if to is nil. The value that holds it must be there. The name - is
// the end of a list.
func edit(value any, path []string, to json.RawMessage) (any, error) {
	if len(path) == 0 {
		return parse(to), nil
	}
	name, last := path[0], len(path) == 1
	switch value := value.(type) {
	case map[string]any:
		if last && to == nil {
			delete(value, name)
			return value, nil
		}
		if _, found := value[name]; !found && !last {
			return nil, fmt.Errorf("there is no %s", name)
		}
		changed, err := edit(value[name], path[1:], to)
		value[name] = changed
		return value, err
	case []any:
		if name == "-" && last {
			return append(value, parse(to)), nil
		}
		i, err := strconv.Atoi(name)
		if err != nil || i >= len(value) {
			return nil, fmt.Errorf("there is no element %s", name)
		}
		if last && to == nil {
			return append(value[:i:i], value[i+1:]...), nil
		}
		value[i], err = edit(value[i], path[1:], to)
		return value, err
	}
	return nil, fmt.Errorf("nothing holds a %s", name)
}

// differences adds what leads from one value to another: by pointer the new value, null where there is none any more.
func differences(from, to any, at string, found map[string]any) {
	switch from := from.(type) {
	case map[string]any:
		to, both := to.(map[string]any)
		if !both {
			break
		}
		for name, was := range from {
			if is, still := to[name]; still {
				differences(was, is, below(at, name), found)
			} else {
				found[below(at, name)] = nil
			}
		}
		for name, is := range to {
			if _, was := from[name]; !was {
				found[below(at, name)] = is
			}
		}
		return
	case []any:
		to, both := to.([]any)
		if !both || len(from) != len(to) {
			break
		}
		for i := range from {
			differences(from[i], to[i], below(at, strconv.Itoa(i)), found)
		}
		return
	}
	if !bytes.Equal(render(from), render(to)) {
		found[at] = to
	}
}
