package crd

import (
	"context"
	"sync"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
)

// warmAtATime limits the crdInfos that are created at a time.
const warmAtATime = 4

// Warm creates the crdInfos of all known definitions, so that their caches begin to fill before the first
// requests. It ignores errors: the requests for that definition will report them.
func (s *Server) Warm(ctx context.Context) {
	names := make(chan string)
	var running sync.WaitGroup
	for range warmAtATime {
		running.Go(func() {
			for name := range names {
				_, _, _ = s.create(ctx, name) // failures are in the log
			}
		})
	}
	for _, crd := range s.lister.List() {
		if ctx.Err() == nil && apihelpers.IsCRDConditionTrue(crd, apiextensionsv1.Established) {
			names <- crd.Name
		}
	}
	close(names)
	running.Wait()
}
