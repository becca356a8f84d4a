package join

import (
	"fmt"
	"runtime"

	"github.com/kx-apiserver/kx/server/version"
)

// Agent is how the commands name themselves to servers, whatever the program's file is called.
func Agent() string {
	return fmt.Sprintf("kx/%s (%s/%s)", version.Release, runtime.GOOS, runtime.GOARCH)
}
