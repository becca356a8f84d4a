package server

import (
	"context"
	"errors"
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

// checks are those of the hooks; storages is the one of their readiness.
func (h *hooks) checks(storages func(context.Context) error) []health.Check {
	var all []health.Check
	for _, hook := range h.known {
		check := hook.check()
		if hook.name == storageReadiness {
			check.Run = storages
		}
		all = append(all, check)
	}
	return all
}
