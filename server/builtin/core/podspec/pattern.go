package podspec

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is compiled on first use. Compiling all of them would slow down every start, and
// few processes see a pod that needs one.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
