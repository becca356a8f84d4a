package tui

import (
	"github.com/kx-apiserver/kx/tui/capture"
	"github.com/kx-apiserver/kx/tui/screen"
)

// makers are the screens: the numbered ones in the order of their digits, then those that open above them.
var makers = []func(screen.Host) screen.Screen{
	func(h screen.Host) screen.Screen { return capture.New(h) },
}

// numbered are the screens that have a digit, in order.
var numbered = []screen.Name{screen.Capture, screen.Send, screen.Etcd, screen.Cache, screen.Structure}
