package cacher

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"time"
)

// CheckVariable is the environment variable that has every cache compared with etcd again and again, for tests. A cache
// that differs ends the process. Its value is true, for every five minutes, or how often, such as 10s.
const CheckVariable = "KUBE_WATCHCACHE_CONSISTENCY_CHECKER"

const (
	// defaultCheckPeriod is upstream's.
	defaultCheckPeriod = 5 * time.Minute
	// settleTime is long enough for a cache to learn that its connection to etcd is lost.
	settleTime = time.Second
)

// checkPeriod returns the interval of comparisons with etcd that the environment sets; 0 for none.
func checkPeriod() (time.Duration, error) {
	value := os.Getenv(CheckVariable)
	if value == "" {
		return 0, nil
	}
	if on, err := strconv.ParseBool(value); err == nil {
		if on {
			return defaultCheckPeriod, nil
		}
		return 0, nil
	}
	period, err := time.ParseDuration(value)
	if err != nil || period <= 0 {
		return 0, fmt.Errorf("%s=%s: want true, false, or a duration such as 10s", CheckVariable, value)
	}
	return period, nil
}

// keepChecking compares the cache with etcd until the cacher stops. A difference ends the process: whatever it would
// answer after that can't be trusted.
func (c *Cacher) keepChecking(period time.Duration) {
	for {
		sleep(c.ctx, period+rand.N(period/2+1))
		if c.ctx.Err() != nil {
			return
		}
		if report := c.differs(c.ctx); report != nil {
			panic(fmt.Sprintf("the watch cache of %s differs from etcd at revision %d: %v, and %d more",
				c.config.GroupResource, report.Revision, report.Differences, report.Cut))
		}
	}
}

// differs returns the differences between the cache and etcd, nil if there are none or if they can't be found now. A
// comparison with a replaced etcd proves nothing: the cache notices that by its lost connection, and is filled again.
func (c *Cacher) differs(ctx context.Context) *Consistency {
	follows := c.follows.Load()
	report, err := c.CheckConsistency(ctx)
	if err != nil || len(report.Differences) == 0 {
		return nil
	}
	sleep(ctx, settleTime)
	if ctx.Err() != nil || c.follows.Load() != follows || c.state.get().State != Fresh {
		return nil
	}
	return report
}
