package server

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"

	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/health"
)

// hook is something that the server does when it starts, under the name that the Kubernetes API server has for the same.
type hook struct {
	name string
	done atomic.Bool
}

// check passes when the hook has been done.
func (h *hook) check() health.Check {
	return health.Check{Name: "poststarthook/" + h.name, Run: func(context.Context) error {
		if !h.done.Load() {
			return errors.New("not finished")
		}
		return nil
	}}
}

// hooks are all that the server has, in the order in which health checks name them. The readiness of the storages is one of the
// Kubernetes API server's hooks too.
type hooks struct {
	known []*hook
}

const (
	definitions           = "start-apiextensions-informers"
	definitionControllers = "start-apiextensions-controllers"
	definitionsKnown      = "crd-informer-synced"
	systemNamespaces      = "start-system-namespaces-controller"
	storageReadiness      = "storage-readiness"
)

// newHooks makes the hooks, with those of the initial objects if the server makes any.
func newHooks(initialObjects bool) *hooks {
	h := &hooks{}
	add := func(names ...string) {
		for _, name := range names {
			h.known = append(h.known, &hook{name: name})
		}
	}
	add(definitions, definitionControllers, definitionsKnown, systemNamespaces)
	if initialObjects {
		add(bootstrap.Authentication)
	}
	add(storageReadiness)
	if initialObjects {
		add(bootstrap.Roles, bootstrap.PriorityClasses, bootstrap.Service, bootstrap.ServiceCIDR)
	}
	return h
}

// finish says that hooks have been done.
func (h *hooks) finish(names ...string) {
	for _, hook := range h.known {
		if slices.Contains(names, hook.name) {
			hook.done.Store(true)
		}
	}
}

// checks are those of the hooks. storages is the one of their readiness, and unreadable has the reasons of definitions that can't be
// read.
func (h *hooks) checks(storages func(context.Context) error, unreadable func() []error) []health.Check {
	var all []health.Check
	for _, hook := range h.known {
		check := hook.check()
		switch hook.name {
		case storageReadiness:
			check.Run = storages
		case definitionsKnown:
			check.Run = warning(check.Run, unreadable)
		}
		all = append(all, check)
	}
	return all
}

// warning is a check that warns of what is unreadable when it passes. A server without one definition serves all others, and has to
// serve for that one to be mended: it is ready.
func warning(check func(context.Context) error, unreadable func() []error) func(context.Context) error {
	return func(ctx context.Context) error {
		if err := check(ctx); err != nil {
			return err
		}
		if all := unreadable(); len(all) > 0 {
			text := all[0].Error()
			if len(all) > 1 {
				text += fmt.Sprintf(" (and %d more, which are in the log)", len(all)-1)
			}
			return health.Warning(text)
		}
		return nil
	}
}
