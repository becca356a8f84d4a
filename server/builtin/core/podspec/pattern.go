package podspec

import (
	"regexp"
	"sync"
)

// pattern returns a function that compiles a regular expression on first use. Compiling all of them would slow down
// every start, and few processes need one.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
