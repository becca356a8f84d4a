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

// hook is one task of the server's start. It has the name of the same post-start hook of a kube-apiserver.
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

// hooks are all hooks of the server, in the order in which health checks list them. They include the readiness of the
// storages, as in a kube-apiserver.
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

// newHooks makes the hooks. Those of the initial objects are only among them if the server creates these.
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

// finish marks hooks as done.
func (h *hooks) finish(names ...string) {
	for _, hook := range h.known {
		if slices.Contains(names, hook.name) {
			hook.done.Store(true)
		}
	}
}

// checks returns one health check for each hook. storages checks the readiness of the storages, and unreadable returns
// why some definitions can't be read.
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

// warning wraps a check so that it warns of unreadable definitions when it passes. The server stays ready: it serves
// all other resources, and must serve so that a user can mend the definition.
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
