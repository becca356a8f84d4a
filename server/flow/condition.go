package flow

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"math/rand/v2"
	"slices"
	"time"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store"
)

// condition is the condition Dangling that a schema should have.
type condition struct {
	// seen is the schema as it was when the condition was decided.
	seen            *flowcontrolv1.FlowSchema
	status          flowcontrolv1.ConditionStatus
	reason, message string
}

// dangling returns the condition that says whether the level of a schema is missing, nil if the schema has it.
func dangling(s *flowcontrolv1.FlowSchema, missing bool) *condition {
	level := s.Spec.PriorityLevelConfiguration.Name
	c := condition{s, flowcontrolv1.ConditionFalse, "Found",
		fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q and it exists", level)}
	if missing {
		c = condition{s, flowcontrolv1.ConditionTrue, "NotFound",
			fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q but there is no such object", level)}
	}
	for i := range s.Status.Conditions {
		has := &s.Status.Conditions[i]
		if has.Type == flowcontrolv1.FlowSchemaConditionDangling && has.Status == c.status && has.Reason == c.reason &&
			has.Message == c.message {
			return nil
		}
	}
	return &c
}

// manager owns the conditions in the schemas.
const manager = "api-priority-and-fairness-config-consumer-v1"

// conditions writes conditions of schemas. Only one goroutine uses it.
type conditions struct {
	schemas *work.Objects[*flowcontrolv1.FlowSchema]
	log     *slog.Logger
	// written has the last condition of each schema, which may not have come back from etcd yet, and times of writes.
	written map[string]writtenCondition
	// retry is the pause after the next failure.
	retry time.Duration
}

type writtenCondition struct {
	condition
	times []time.Time
}

func newConditions(kit *work.Kit, log *slog.Logger) conditions {
	writer := kit.Writer(manager, "")
	writer.User = work.APIServer
	schemas := work.ObjectsOf[*flowcontrolv1.FlowSchema](kit, writer, flowcontrolv1.SchemeGroupVersion.WithResource("flowschemas"))
	return conditions{schemas: schemas, log: log, written: map[string]writtenCondition{}, retry: shortestRetry}
}

const (
	// shortestRetry and longestPause limit the pause after a failure, which doubles.
	shortestRetry = 200 * time.Millisecond
	longestPause  = time.Minute
	// writesMost limits the writes to a schema in a minute: another server may disagree about its level.
	writesMost = 6
)

// write writes conditions. If some could not be written, it returns the pause until the next attempt.
func (c *conditions) write(ctx context.Context, wanted []condition) (pause time.Duration) {
	maps.DeleteFunc(c.written, func(_ string, w writtenCondition) bool { return time.Since(w.times[len(w.times)-1]) > time.Minute })
	failed := false
	for _, want := range wanted {
		name := want.seen.Name
		before := c.written[name]
		if before.condition == want {
			continue
		}
		before.times = slices.DeleteFunc(before.times, func(t time.Time) bool { return time.Since(t) > time.Minute })
		if len(before.times) >= writesMost {
			pause = 30*time.Second + rand.N(45*time.Second)
			continue
		}
		err := c.apply(ctx, want)
		if ctx.Err() != nil {
			return 0
		}
		if err != nil {
			failed = true
			if errors.Is(err, store.ErrRewound) {
				continue
			}
			c.log.Warn("cannot write the condition of a flow schema: trying again", "name", escape.Line(name),
				"error", escape.Line(err.Error()))
			continue
		}
		c.written[name] = writtenCondition{condition: want, times: append(before.times, time.Now())}
	}
	if !failed {
		c.retry = shortestRetry
		return pause
	}
	pause, c.retry = c.retry, min(2*c.retry, longestPause)
	return pause
}

var (
	levelThere = trace.Because("level-there",
		"the priority level that the flow schema names exists",
		"flow schema 指定的优先级存在")
	levelMissing = trace.Because("level-missing",
		"the priority level that the flow schema names does not exist: its requests go by catch-all",
		"flow schema 指定的优先级不存在：其请求按 catch-all 处理")
)

func (c *conditions) apply(ctx context.Context, want condition) error {
	return c.schemas.Apply(ctx, want.seen, "status", work.Decision{
		// The changes that a server makes to its own schemas while it starts are not worth a journey.
		Quiet: want.seen.Annotations[flowcontrolv1.AutoUpdateAnnotationKey] == "true",
		Why: func(step *trace.Step) {
			if want.status == flowcontrolv1.ConditionTrue {
				step.Why(levelMissing)
			} else {
				step.Why(levelThere)
			}
		},
	}, map[string]any{"status": map[string]any{"conditions": []any{map[string]any{
		"type": string(flowcontrolv1.FlowSchemaConditionDangling), "status": string(want.status), "reason": want.reason,
		"message": want.message, "lastTransitionTime": time.Now().UTC().Format(time.RFC3339),
	}}}})
}
