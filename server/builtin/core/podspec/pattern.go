package podspec

import (
	"regexp"
	"sync"
)

// pattern is a regular expression that is made when it is first used: every kx would wait for all of them as it starts, and
// few see a pod that needs one.
func pattern(text string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(text) })
}
