package controller_test

import (
	"fmt"
	"sync"
	"testing"
	"time"
)

// TestGarbageCascade has an owner of many, which go with it, and nothing else.
func TestGarbageCascade(t *testing.T) {
	t.Parallel()
	const clients = 16
	dependents := many(200)
	c, ns := sharedGarbage(t)
	owner := c.configMap(ns, "owner", nil)
	c.configMap(ns, "witness", nil)
	var creating sync.WaitGroup
	for i := range clients {
		creating.Go(func() {
			for k := i; k < dependents; k += clients {
				c.configMap(ns, fmt.Sprint("child-", k), owns(true, owner))
			}
		})
	}
	creating.Wait()
	began := time.Now()
	c.remove(owner, background)
	c.until(ns, only("witness"))
	t.Logf("%d dependents went in %v", dependents, time.Since(began))
}
