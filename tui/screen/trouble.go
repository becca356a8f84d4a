package screen

import (
	"errors"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
)

// NoAnswer replaces the answer of a silent server. The line of state gives the reason.
const NoAnswer = "The server does not answer. It is asked again by itself."

// Trouble describes an error in one line. Where it is constant, the caller may translate it.
func Trouble(err error) string {
	var away *api.UnreachableError
	if errors.As(err, &away) {
		return NoAnswer
	}
	return draw.Clean(api.Reason(err))
}
