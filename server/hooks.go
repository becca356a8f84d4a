package server

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/kx-apiserver/kx/server/bootstrap"
	"github.com/kx-apiserver/kx/server/health"
)

// hooks returns the checks of the start's tasks. They have the names and the order of a kube-apiserver's post-start
// hooks. Tasks that precede the first request always pass. As in a kube-apiserver, the readiness of the storages is
// among them.
func (s *Server) hooks() []health.Check {
	hook := func(name string, run func(context.Context) error) health.Check {
		return health.Check{Name: "poststarthook/" + name, Run: run}
	}
	done := health.Ping.Run
	initial := func(names ...string) (all []health.Check) {
		if s.tasks == nil {
			return nil
		}
		for _, name := range names {
			all = append(all, hook(name, func(context.Context) error {
				if !s.tasks.Tried(name) {
					return errors.New("not finished")
				}
				return nil
			}))
		}
		return all
	}
	storages := func(context.Context) error { return s.filling.check(s.chain.readiness) }
	return slices.Concat(
		[]health.Check{
			hook("start-apiextensions-informers", done), hook("start-apiextensions-controllers", done),
			hook("crd-informer-synced", s.definitionsRead), hook("start-system-namespaces-controller", done),
		},
		initial(bootstrap.Authentication),
		[]health.Check{hook("storage-readiness", storages)},
		initial(bootstrap.Roles, bootstrap.PriorityClasses, bootstrap.Service, bootstrap.ServiceCIDR),
	)
}

// definitionsRead warns of unreadable definitions. The server stays ready: it serves all other resources, and must
// serve so that a user can mend the definition.
func (s *Server) definitionsRead(context.Context) error {
	all := s.chain.customResources.Unreadable()
	if len(all) == 0 {
		return nil
	}
	text := all[0].Error()
	if len(all) > 1 {
		text += fmt.Sprintf(" (and %d more, which are in the log)", len(all)-1)
	}
	return health.Warning(text)
}
