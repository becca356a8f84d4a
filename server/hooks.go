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
	initial := func(checks ...health.Check) []health.Check {
		if s.tasks == nil {
			return nil
		}
		return checks
	}
	tried := func(name string) health.Check {
		return hook(name, func(context.Context) error {
			if !s.tasks.Tried(name) {
				return errors.New("not finished")
			}
			return nil
		})
	}
	storages := func(context.Context) error { return s.filling.check(s.chain.readiness) }
	controllers, services := s.chain.controllers.Load(), s.chain.aggregator
	return slices.Concat(
		[]health.Check{
			hook("start-apiserver-admission-initializer", done), hook("generic-apiserver-start-informers", done),
			hook("start-apiextensions-informers", done), hook("start-apiextensions-controllers", done),
			hook("crd-informer-synced", s.definitionsRead), hook("start-system-namespaces-controller", done),
		},
		initial(tried(bootstrap.Authentication)),
		[]health.Check{hook("storage-readiness", storages)},
		initial(hook("start-service-ip-repair-controllers", controllers.Ready), tried(bootstrap.Roles),
			tried(bootstrap.PriorityClasses), tried(bootstrap.Service), tried(bootstrap.ServiceCIDR)),
		// The aggregator knows the API services, and has begun to check, list and describe what is behind them. The
		// server's own versions have API services, with a status.
		[]health.Check{hook("start-kube-aggregator-informers", services.Ready)},
		initial(hook("apiservice-status-local-available-controller", controllers.CheckRegistered)),
		[]health.Check{
			hook("apiservice-status-remote-available-controller", services.Ready),
			hook("apiservice-registration-controller", services.Ready),
		},
		// A kube-apiserver does not count the second one among its post-start hooks.
		initial(hook("kube-apiserver-autoregistration", controllers.CheckRegistered),
			health.Check{Name: "autoregister-completion", Run: controllers.CheckRegistered}),
		[]health.Check{hook("apiservice-openapi-controller", services.Ready)},
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
