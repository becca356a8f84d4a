package screen

import (
	"errors"

	"github.com/kx-apiserver/kx/tui/api"
	"github.com/kx-apiserver/kx/tui/draw"
)

// NoAnswer is what stands where something would be if the server answered. Why it does not, the program says below.
const NoAnswer = "The server does not answer. It is asked again by itself."

// Trouble is why something can't be shown, in a line.
func Trouble(err error) string {
	var away *api.Away
	if errors.As(err, &away) {
		return NoAnswer
	}
	return draw.Clean(api.Reason(err))
}
