package keys

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"go.yaml.in/yaml/v3"
)

// fileMost limits the size of a file of keys.
const fileMost = 64 << 10

// Map holds the user's own keys for commands.
type Map map[ID][]string

// Read parses a map from YAML: the ID of a command, and its key or a list of keys. A command with an empty list is
// only in the palette.
func Read(text []byte) (Map, error) {
	if len(text) > fileMost {
		return nil, fmt.Errorf("it has %d bytes: there may be %d", len(text), fileMost)
	}
	raw := map[string]yaml.Node{}
	if err := yaml.Unmarshal(text, &raw); err != nil {
		return nil, err
	}
	m := Map{}
	var errs []error
	for id, value := range raw {
		keys, err := read(&value)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		m[ID(id)] = keys
	}
	return m, sorted(errs)
}

// read parses a key or a list of keys, as plain text. It ignores their YAML tags, since YAML takes n, y and digits
// for other types.
func read(value *yaml.Node) ([]string, error) {
	all := []*yaml.Node{value}
	switch {
	case value.Kind == yaml.SequenceNode:
		all = value.Content
	case value.Tag == "!!null":
		all = nil
	}
	keys := []string{}
	for _, v := range all {
		key := v.Value
		if key == "space" {
			key = " "
		}
		if !isKey(key) {
			return nil, fmt.Errorf(
				"%q is not a key: a key is a character, such as x, or a name, such as enter, space, f5, ctrl+x or alt+x", key)
		}
		keys = append(keys, key)
	}
	return keys, nil
}

// named lists the keys with names.
var named = strings.Fields("enter tab esc backspace delete insert up down left right home end pgup pgdown")

// isKey reports whether a terminal may have a key of that name.
func isKey(key string) bool {
	if r, n := utf8.DecodeRuneInString(key); n == len(key) && n > 0 {
		return unicode.IsGraphic(r)
	}
	bare := key
	for _, with := range []string{"alt+", "ctrl+", "shift+"} {
		bare = strings.TrimPrefix(bare, with)
	}
	if slices.Contains(named, bare) {
		return true
	}
	var n int
	if _, err := fmt.Sscanf(bare, "f%d", &n); err == nil && fmt.Sprintf("f%d", n) == bare && n >= 1 && n <= 20 {
		return true
	}
	return bare != key && utf8.RuneCountInString(bare) == 1
}

// fixed lists the commands that keep their keys, so that a lost user finds the way out.
var fixed = []ID{"quit.always", Back}

// Apply sets the commands' keys. The error lists all mistakes of the map.
func (m Map) Apply(commands []Command) error {
	known := map[ID]bool{}
	for i := range commands {
		c := &commands[i]
		known[c.ID] = true
		if keys, ok := m[c.ID]; ok && !slices.Contains(fixed, c.ID) {
			c.Keys = keys
		}
	}
	var errs []error
	for id := range m {
		switch {
		case slices.Contains(fixed, id):
			errs = append(errs, fmt.Errorf("%s: its keys can't be changed", id))
		case !known[id]:
			errs = append(errs, fmt.Errorf("%s: there is no such command (the palette shows all)", id))
		}
	}
	return sorted(errs)
}

// sorted joins errors in a fixed order.
func sorted(errs []error) error {
	slices.SortFunc(errs, func(a, b error) int { return strings.Compare(a.Error(), b.Error()) })
	return errors.Join(errs...)
}
