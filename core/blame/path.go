package blame

import (
	"fmt"
	"strconv"
	"strings"
)

// Path leads to a field: names in objects, indices in lists.
type Path []string

// ParsePath reads a path such as spec.template.spec.containers[0].image or metadata.labels[app.kubernetes.io/name].
func ParsePath(path string) (Path, error) {
	var parts Path
	rest := strings.TrimPrefix(path, ".")
	for rest != "" {
		if rest[0] == '[' {
			end := strings.IndexByte(rest, ']')
			if end < 0 {
				return nil, fmt.Errorf("the path %q has a [ without a ]", path)
			}
			parts = append(parts, strings.Trim(rest[1:end], `"'`))
			rest = strings.TrimPrefix(rest[end+1:], ".")
			continue
		}
		end := strings.IndexAny(rest, ".[")
		if end < 0 {
			end = len(rest)
		}
		parts = append(parts, rest[:end])
		rest = strings.TrimPrefix(rest[end:], ".")
	}
	for _, part := range parts {
		if part == "" {
			return nil, fmt.Errorf("the path %q has an empty part", path)
		}
	}
	if len(parts) == 0 {
		return nil, fmt.Errorf("the path is empty: give one such as spec.replicas")
	}
	return parts, nil
}

// String writes the path as ParsePath reads it.
func (p Path) String() string {
	var b strings.Builder
	for i, part := range p {
		switch _, err := strconv.Atoi(part); {
		case err == nil || part == "" || strings.ContainsAny(part, ".[]"):
			b.WriteString("[" + part + "]")
		default:
			if i > 0 {
				b.WriteByte('.')
			}
			b.WriteString(part)
		}
	}
	return b.String()
}

// Key is the path as a key of a map: different paths have different ones.
func (p Path) Key() string { return strings.Join(p, "\x00") }

// with is the path of a part. It copies, so that paths of siblings don't overwrite each other.
func (p Path) with(part string) Path { return append(p[:len(p):len(p)], part) }
