package join

import (
	"fmt"
	"runtime"

	"github.com/kx-apiserver/kx/server/version"
)

// Agent returns the user agent of the commands. It does not contain the file name of the program.
func Agent() string {
	return fmt.Sprintf("kx/%s (%s/%s)", version.Release, runtime.GOOS, runtime.GOARCH)
}
