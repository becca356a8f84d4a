package zpages

import (
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"

	"k8s.io/apimachinery/pkg/runtime"
)

type flagz struct {
	object `json:",inline"`
	Flags  map[string]string `json:"flags,omitempty"`
}

// NewFlagz creates the handler of /flagz, which shows flags by name. errors writes errors.
func NewFlagz(flags map[string]string, errors runtime.NegotiatedSerializer) http.Handler {
	return &page{
		kind: "Flagz", errors: errors,
		text: func(w io.Writer) {
			for _, name := range slices.Sorted(maps.Keys(flags)) {
				fmt.Fprintf(w, "%s: %s\n", name, flags[name])
			}
		},
		structured: func(o object) any { return flagz{o, flags} },
	}
}
