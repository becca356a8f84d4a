package join

import (
	"fmt"
	"runtime"

	"github.com/kx-apiserver/kx/server/version"
)

// Agent is the user agent of the commands. The name of the program's file is no part of it.
func Agent() string {
	return fmt.Sprintf("kx/%s (%s/%s)", version.Release, runtime.GOOS, runtime.GOARCH)
}
