package journey

import (
	"fmt"
	"io"
	"strings"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/core/story"
)

// Story writes a journey as sentences, one on each line, each layer folded. If the request was refused, others holds
// the journeys that [refusal.Related] selects.
func Story(out io.Writer, j *v1alpha1.Journey, others []*v1alpha1.Journey, p Paint) {
	for _, l := range story.Tell(j, p.words, others...).Lines() {
		text := l.Text
		if l.Failed {
			text = p.bad(text)
		}
		fmt.Fprintf(out, "%s%s\n", strings.Repeat("  ", l.Depth), text)
	}
}
