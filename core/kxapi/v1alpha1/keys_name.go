package v1alpha1

import (
	"fmt"
	"strings"
)

// escape begins a byte that a name can't have as it is: two hexadecimal digits follow.
const escape = '='

// plain reports whether a byte of a key stays the same in a name. None of these bytes is special in the path of a
// URL or to a shell, wherever it stands.
func plain(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || '0' <= c && c <= '9' || c == '-' || c == '.' || c == '_' || c == '+' || c == '@'
}

// KeyName is the name of a key's object: a colon stands for each slash, and =3A for a colon, as for all other bytes
// that the path of a URL can't have. The name of /registry/configmaps/default/settings is
// :registry:configmaps:default:settings.
func KeyName(key string) string {
	var b strings.Builder
	for i := range len(key) {
		switch c := key[i]; {
		case c == '/':
			b.WriteByte(':')
		case plain(c) && key != "." && key != "..":
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%c%02X", escape, c)
		}
	}
	return b.String()
}

// KeyOfName is the key that a name stands for.
func KeyOfName(name string) (string, error) {
	if name == "" || name == "." || name == ".." {
		return "", fmt.Errorf("%q is no name of a key", name)
	}
	var b strings.Builder
	for i := 0; i < len(name); i++ {
		switch c := name[i]; {
		case c == ':':
			b.WriteByte('/')
		case plain(c):
			b.WriteByte(c)
		case c == escape && i+2 < len(name) && hex(name[i+1]) >= 0 && hex(name[i+2]) >= 0:
			b.WriteByte(byte(hex(name[i+1])<<4 | hex(name[i+2])))
			i += 2
		default:
			return "", fmt.Errorf("%q is no name of a key: at byte %d it has %q; a name is the key with : "+
				"for each / and =XX for each byte other than a-z A-Z 0-9 - . _ + @", name, i, c)
		}
	}
	return b.String(), nil
}

// hex returns the value of a hex digit, -1 for any other byte. Letters must be upper case, so that a key has only one
// name.
func hex(c byte) int {
	switch {
	case '0' <= c && c <= '9':
		return int(c - '0')
	case 'A' <= c && c <= 'F':
		return int(c-'A') + 10
	}
	return -1
}
