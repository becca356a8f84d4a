package flow

import (
	"errors"
	"math"
	"sync/atomic"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing"
	"k8s.io/apiserver/pkg/util/flowcontrol/fairqueuing/eventclock"
	"k8s.io/apiserver/pkg/util/flowcontrol/metrics"

	"github.com/kx-apiserver/kx/core/escape"
)

// level is a priority level with its queues. name, set, removed and places can be used at any time. The mutex of the
// control guards the other fields.
type level struct {
	name string
	// set is the level's queues, and its requests without a queue. It is set once, before the level has requests.
	set fairqueuing.QueueSet
	// removed is true for a level without an object that still has requests.
	removed atomic.Bool
	places  places

	object  *flowcontrolv1.PriorityLevelConfiguration
	queuing fairqueuing.QueuingConfig

	// nominal are the level's own seats. It always keeps least of them, and may borrow until it has most. current are
	// the seats that it has now.
	nominal, least, most, current int
	need                          need

	// The gauges are written by the library.
	requests  metrics.RatioedGaugePair
	executing metrics.RatioedGauge
	demand    fairqueuing.Integrator
	ratio     metrics.RatioedGauge
}

func newLevel(name string) *level {
	labels := []string{name}
	return &level{
		name:      name,
		requests:  metrics.RatioedGaugeVecPhasedElementPair(metrics.PriorityLevelConcurrencyGaugeVec, 1, 1, labels),
		executing: metrics.PriorityLevelExecutionSeatsGaugeVec.NewForLabelValuesSafe(0, 1, labels),
		demand:    fairqueuing.NewNamedIntegrator(eventclock.Real{}, name),
		ratio:     metrics.ApiserverSeatDemands.NewForLabelValuesSafe(0, 1, labels),
	}
}

// mandatory are the levels that always exist, with their state without an object.
var mandatory = map[string]*flowcontrolv1.PriorityLevelConfiguration{
	flowcontrolv1.PriorityLevelConfigurationNameExempt:   bootstrap.MandatoryPriorityLevelConfigurationExempt,
	flowcontrolv1.PriorityLevelConfigurationNameCatchAll: bootstrap.MandatoryPriorityLevelConfigurationCatchAll,
}

// configure puts objects into force. It returns the conditions that schemas should have and don't.
func (c *Control) configure(objects []*flowcontrolv1.PriorityLevelConfiguration, schemas []*flowcontrolv1.FlowSchema) []condition {
	c.mu.Lock()
	defer c.mu.Unlock()
	stored := c.keepLevels(objects)
	c.share()
	c.lend()
	var wanted []condition
	var usable []*flowcontrolv1.FlowSchema
	for _, s := range schemas {
		exists := stored[s.Spec.PriorityLevelConfiguration.Name]
		if exists {
			usable = append(usable, s)
		}
		if lacking := dangling(s, !exists); lacking != nil {
			wanted = append(wanted, *lacking)
		}
	}
	c.rules.Store(newRules(usable, c.levels))
	return wanted
}

// keepLevels makes levels of the valid objects, and returns their names. A mandatory level without an object stays as
// it was. Others stay until their last request has ended. The caller holds mu.
func (c *Control) keepLevels(objects []*flowcontrolv1.PriorityLevelConfiguration) (stored map[string]bool) {
	stored = map[string]bool{}
	keep := func(o *flowcontrolv1.PriorityLevelConfiguration) error {
		queuing, err := queuingOf(o)
		if err == nil { // the factory checks it too
			_, err = c.sets.BeginConstruction(queuing, metrics.RatioedGaugePair{}, nil, nil)
		}
		if err != nil {
			return err
		}
		if c.levels[o.Name] == nil {
			c.levels[o.Name] = newLevel(o.Name)
		}
		l := c.levels[o.Name]
		l.object, l.queuing = o, queuing
		l.removed.Store(false)
		return nil
	}
	for _, o := range objects {
		err := keep(o)
		if err != nil {
			c.log.Error("a priority level is invalid: it counts as missing", "name", escape.Line(o.Name), "error", escape.Line(err.Error()))
			continue
		}
		stored[o.Name] = true
	}
	for name, l := range c.levels {
		if stored[name] || mandatory[name] != nil {
			continue
		}
		l.removed.Store(true)
		if l.set.IsIdle() {
			delete(c.levels, name)
		}
	}
	for name, object := range mandatory {
		if c.levels[name] == nil {
			_ = keep(object) // it is valid
		}
	}
	return stored
}

// idle requests a new configuration when the last request of a removed level has ended.
func (c *Control) idle(l *level) {
	if l.removed.Load() {
		c.signal()
	}
}

// queuingOf returns the queues of a level: none at all for one whose requests don't wait, and -1 if it is exempt.
func queuingOf(o *flowcontrolv1.PriorityLevelConfiguration) (fairqueuing.QueuingConfig, error) {
	none := fairqueuing.QueuingConfig{Name: o.Name}
	exempt, limited := o.Spec.Exempt, o.Spec.Limited
	switch {
	case (o.Spec.Type == flowcontrolv1.PriorityLevelEnablementExempt) != (exempt != nil):
		return none, errors.New("exempt must be set for the type Exempt, and for no other")
	case (o.Spec.Type == flowcontrolv1.PriorityLevelEnablementLimited) != (limited != nil):
		return none, errors.New("limited must be set for the type Limited, and for no other")
	case (o.Name == flowcontrolv1.PriorityLevelConfigurationNameExempt) != (exempt != nil):
		return none, errors.New("the level exempt must be exempt, and no other may be")
	case exempt != nil:
		return fairqueuing.QueuingConfig{Name: o.Name, DesiredNumQueues: -1}, nil
	case limited == nil:
		return none, errors.New("the type is unknown")
	}
	queuing := limited.LimitResponse.Queuing
	switch {
	case (limited.LimitResponse.Type == flowcontrolv1.LimitResponseTypeReject) != (queuing == nil):
		return none, errors.New("queuing must be missing for the response Reject, and for no other")
	case queuing == nil:
		return none, nil
	}
	return fairqueuing.QueuingConfig{
		Name: o.Name, DesiredNumQueues: int(queuing.Queues), QueueLengthLimit: int(queuing.QueueLengthLimit),
		HandSize: int(queuing.HandSize),
	}, nil
}

// terms returns what requests need to know of the level.
func (l *level) terms() terms {
	t := terms{
		named: ObjectRef{l.name, l.object.UID}, exempt: l.object.Spec.Exempt != nil, queues: l.queuing.DesiredNumQueues > 0,
		flows: l.queuing.DesiredNumQueues > 1,
	}
	if t.queues { // a request gets a small part of the level, so that several can run
		part := min(int(math.Ceil(float64(l.nominal)*largestPart)), l.nominal/max(l.queuing.HandSize, 1))
		t.largest = uint64(max(part, 1))
	}
	return t
}

// largestPart is the largest part of a level's seats that one request may take.
const largestPart = 0.15

// limit gives the level its seats.
func (l *level) limit(sets fairqueuing.QueueSetFactory, denominator int) (err error) {
	var c fairqueuing.QueueSetCompleter
	if l.set != nil {
		c, err = l.set.BeginConfigChange(l.queuing)
	} else {
		c, err = sets.BeginConstruction(l.queuing, l.requests, l.executing, metrics.NewUnionGauge(l.demand, l.ratio))
	}
	if err != nil {
		return err
	}
	set := c.Complete(fairqueuing.DispatchingConfig{ConcurrencyLimit: l.current, ConcurrencyDenominator: denominator})
	if l.set == nil {
		l.set = set
	}
	return nil
}
