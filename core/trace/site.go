package trace

import (
	"reflect"
	"runtime"
	"strings"
)

// SiteOf is where a function is declared, as compiled into this binary. A function literal is inside of the function that
// returned it.
func SiteOf(function any) Site {
	pc := reflect.ValueOf(function).Pointer()
	f := runtime.FuncForPC(pc)
	if f == nil {
		return Site{}
	}
	file, line := f.FileLine(pc)
	return Site{Function: strings.TrimPrefix(f.Name(), module), File: strings.TrimPrefix(file, sourceRoot()), Line: line}
}
