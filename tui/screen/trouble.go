package screen

import (
	"errors"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
)

// NoAnswer stands where the answer of a silent server would be. The line of state says why there is none.
const NoAnswer = "The server does not answer. It is asked again by itself."

// Trouble describes an error in one line. A constant text of it may be translated where it is shown.
func Trouble(err error) string {
	var away *api.Away
	if errors.As(err, &away) {
		return NoAnswer
	}
	return draw.Clean(api.Reason(err))
}
