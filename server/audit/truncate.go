package audit

import (
	"errors"
	"maps"

	auditinternal "k8s.io/apiserver/pkg/apis/audit"
)

// truncatedAnnotation marks an event whose bodies were removed.
const truncatedAnnotation = "audit.k8s.io/truncated"

// truncatingSink is a sink that removes the bodies of large events. It drops events that are too large even without
// them.
type truncatingSink struct {
	next   sink
	most   int64 // bytes of an event in JSON
	failed func(error, int)
}

var errTooLarge = errors.New("an event is too large even without its bodies")

func (t *truncatingSink) take(e *auditinternal.Event) error {
	size, err := encodedSize(e)
	if err == nil && size > t.most && e.Level.GreaterOrEqual(auditinternal.LevelRequest) {
		e = withoutBodies(e)
		size, err = encodedSize(e)
	}
	if err == nil && size > t.most {
		err = errTooLarge
	}
	if err != nil {
		t.failed(err, 1)
		return nil // the request goes on, as upstream
	}
	return t.next.take(e)
}

// withoutBodies returns a copy of an event. It copies the annotations, too, because other sinks get the original.
func withoutBodies(e *auditinternal.Event) *auditinternal.Event {
	out := *e
	out.RequestObject, out.ResponseObject = nil, nil
	out.Annotations = maps.Clone(e.Annotations)
	if out.Annotations == nil {
		out.Annotations = map[string]string{}
	}
	out.Annotations[truncatedAnnotation] = "true"
	return &out
}

func encodedSize(e *auditinternal.Event) (int64, error) {
	var size counter
	err := encoder.Encode(e, &size)
	return int64(size), err
}

// counter counts written bytes.
type counter int64

func (c *counter) Write(p []byte) (int, error) {
	*c += counter(len(p))
	return len(p), nil
}
