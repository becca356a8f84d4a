package admin

import (
	"context"
	"errors"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// check compares a custom resource with its definition. A definition that can't be used is not tried again.
func (c *contents) check(ctx context.Context, resource schema.GroupResource, kv *KV) {
	if c.unchecked[resource] != nil {
		return
	}
	v, err := c.decoder.Decode(kv.Key, kv.Value)
	if err != nil {
		return // it is among those that can't be decoded
	}
	var wrong *Objections
	switch err := c.custom(ctx, resource, v.Object); {
	case err == nil:
	case errors.As(err, &wrong):
		c.unfit.add(kv.Key)
		if c.unfitReason == "" {
			c.unfitReason = wrong.Reasons[0]
		}
	default:
		if c.unchecked == nil {
			c.unchecked = map[schema.GroupResource]error{}
		}
		c.unchecked[resource] = err
	}
}

func (c *contents) schemas() Finding {
	f := Finding{Check: "schemas", Level: OK, Finding: "custom resources are what their definitions want", Keys: c.unfit.keys}
	if c.unfit.count > 0 {
		f.Level = Warning
		f.Finding = fmt.Sprintf("%d custom resources are not what their definitions want: %s", c.unfit.count, c.unfitReason)
		f.Advice = "the next write of such an object may be refused: put it right through the API, " +
			"or change the schema (kx storage what-if tries one)"
	}
	for resource, err := range c.unchecked {
		f.Level = Warning
		f.Finding += fmt.Sprintf("; those of %s could not be checked: %v", resource, err)
	}
	return f
}
