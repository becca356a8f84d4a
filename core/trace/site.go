package trace

import (
	"reflect"
	"runtime"
	"strings"
)

// SiteOf is where a function is written, as compiled into this binary. Of a function that another returned, it is the place
// inside of that other one.
func SiteOf(function any) Site {
	pc := reflect.ValueOf(function).Pointer()
	f := runtime.FuncForPC(pc)
	if f == nil {
		return Site{}
	}
	file, line := f.FileLine(pc)
	return Site{Function: strings.TrimPrefix(f.Name(), module), File: strings.TrimPrefix(file, sourceRoot()), Line: line}
}
