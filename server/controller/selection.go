package controller

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Names returns the names of the controllers that can be turned on and off.
func Names() (names []string) {
	for _, c := range known {
		names = append(names, c.name)
	}
	return names
}

// Selection is the value of --controllers: * runs all, a name runs that one, -name does not run it, and -* runs
// none. The first item that names a controller decides, whatever * says.
type Selection []string

// Validate returns an error for each unknown name.
func (s Selection) Validate() error {
	var errs []error
	for _, item := range s {
		name := canonical(strings.TrimPrefix(item, "-"))
		if name != "*" && !slices.Contains(Names(), name) {
			errs = append(errs, fmt.Errorf("%q is not in the list of known controllers: %s", item, strings.Join(Names(), ", ")))
		}
	}
	return errors.Join(errs...)
}

// Has reports whether a controller runs.
func (s Selection) Has(name string) bool {
	all := false
	for _, item := range s {
		switch canonical(strings.TrimPrefix(item, "-")) {
		case name:
			return !strings.HasPrefix(item, "-")
		case "*":
			all = !strings.HasPrefix(item, "-")
		}
	}
	return all && slices.Contains(Names(), name)
}

// any reports whether any controller runs.
func (s Selection) any() bool { return slices.ContainsFunc(Names(), s.Has) }

// canonical returns the name of the controller with that name or short name.
func canonical(name string) string {
	for _, c := range known {
		if c.short != "" && c.short == name {
			return c.name
		}
	}
	return name
}
