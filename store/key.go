package store

import (
	"fmt"
	"strings"
)

// PrepareKey checks a key that a request led to and, for a recursive read or watch, ends it with a slash: what lies
// below "/pods/a" must not include "/pods/ab".
//
// A key with "." or ".." for a part, an empty one and one outside resourcePrefix are refused: they would reach other
// resources, or all of them.
func PrepareKey(resourcePrefix, key string, recursive bool) (string, error) {
	if hasDotPart(key) {
		return "", fmt.Errorf("invalid key: %q", key)
	}
	if key == "" || key == "/" {
		return "", fmt.Errorf("empty key: %q", key)
	}
	if recursive && !strings.HasSuffix(key, "/") {
		key += "/"
	}
	if !strings.HasPrefix(key, resourcePrefix) {
		return "", fmt.Errorf("invalid key: %q lacks resource prefix: %q", key, resourcePrefix)
	}
	return key, nil
}

func hasDotPart(key string) bool {
	// Nearly all keys have no part that begins with a dot, and need not be split.
	if !strings.HasPrefix(key, ".") && !strings.Contains(key, "/.") {
		return false
	}
	for part := range strings.SplitSeq(key, "/") {
		if part == "." || part == ".." {
			return true
		}
	}
	return false
}
