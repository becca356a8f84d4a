package controller

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apihelpers"
	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/escape"
	"github.com/kx-apiserver/kx/core/rest"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/builtin"
	controllers "github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/etcd3"
)

// Definition is a CustomResourceDefinition as the lister has it.
type Definition = apiextensionsv1.CustomResourceDefinition

type condition = apiextensionsv1.CustomResourceDefinitionCondition

// errChanged says that a definition has changed since it was judged. The lister will report that change.
var errChanged = errors.New("the definition has changed since it was looked at")

const (
	// writesMost limits a controller's concurrent writes. etcd can sync its disk once for many writes.
	writesMost = 16
	// longestWrite limits the duration of a write.
	longestWrite = 30 * time.Second
)

// withWriter returns the context of a controller's read.
func withWriter(ctx context.Context, info *request.RequestInfo) context.Context {
	return controllers.WithRequest(ctx, controllers.APIServer, info)
}

// statusWriter writes the status of definitions.
type statusWriter struct {
	// Storage is the storage of customresourcedefinitions/status.
	Storage rest.Updater
	// Journeys (optional) records the writes, with the judged revision as their cause. Metrics (optional)
	// counts them.
	Journeys *trace.Recorder
	Metrics  *controllers.Metrics
	// Gate (optional) is passed by the writes.
	Gate *etcd3.Gate

	writer *controllers.Writer
}

// forController returns the Status that one of the controllers writes through.
func (s statusWriter) forController(controller string) statusWriter {
	s.writer = &controllers.Writer{Name: controller + "-controller", User: controllers.APIServer, Journeys: s.Journeys, Metrics: s.Metrics}
	return s
}

// Begin starts an action of a controller, caused by the state of a definition. end ends it with *err.
func (s statusWriter) Begin(ctx context.Context, seen *Definition, write controllers.Write) (_ context.Context, end func(err *error)) {
	write.Cause = int64(Revision(seen))
	ctx, ended := s.writer.Begin(ctx, write)
	return ctx, func(err *error) {
		if told := *err; errors.Is(told, errChanged) {
			told = apierrors.NewConflict(apiextensions.Resource(definitions), seen.Name, told)
			err = &told
		}
		ended(err)
	}
}

// definitions is the resource of definitions.
const definitions = "customresourcedefinitions"

var definitionJudged = trace.Because("definition-judged",
	"what is known of the definition calls for {conditions:word}",
	"根据对该 CRD 的了解，应当是 {conditions:word}")

// Update applies change to the definition seen, writes it, and returns it. change may edit the status and the
// finalizers. The error is ErrChanged if etcd has another revision than seen.
func (s statusWriter) Update(ctx context.Context, seen *Definition, change func(*Definition)) (_ *Definition, err error) {
	next := *seen
	next.Status = *seen.Status.DeepCopy()
	next.Finalizers = slices.Clone(seen.Finalizers)
	change(&next)
	for i := range next.Status.Conditions {
		c := &next.Status.Conditions[i]
		c.Message = escape.Text(c.Message) // it may quote the schema
	}

	ctx, cancel := context.WithTimeout(ctx, longestWrite)
	defer cancel()
	ctx, end := s.Begin(ctx, seen, controllers.Write{
		Verb: "update", Resource: apiextensionsv1.SchemeGroupVersion.WithResource(definitions), Subresource: "status", Name: seen.Name,
		Why: func(step *trace.Step) { step.WhyText(definitionJudged, decided(seen, &next)) },
	})
	defer end(&err)
	out, _, err := s.Storage.Update(ctx, seen.Name, rest.DefaultUpdatedObjectInfo(nil, replace(seen, &next)),
		rest.UpdateAdmission{}, &metav1.UpdateOptions{})
	if apierrors.IsNotFound(err) || apierrors.IsConflict(err) {
		return nil, errChanged
	}
	if err != nil {
		return nil, err
	}
	m, err := meta.Accessor(out)
	if err != nil {
		return nil, err
	}
	next.ResourceVersion = m.GetResourceVersion()
	return &next, nil
}

// decided lists the conditions that change, and whether the finalizer is removed.
func decided(seen, next *Definition) string {
	var changes []string
	for _, c := range next.Status.Conditions {
		if before := apihelpers.FindCRDCondition(seen, c.Type); before == nil || !apihelpers.IsCRDConditionEquivalent(before, &c) {
			changes = append(changes, fmt.Sprintf("%s=%s (%s)", c.Type, c.Status, c.Reason))
		}
	}
	for _, c := range seen.Status.Conditions {
		if apihelpers.FindCRDCondition(next, c.Type) == nil {
			changes = append(changes, "no "+string(c.Type))
		}
	}
	if len(next.Finalizers) < len(seen.Finalizers) {
		changes = append(changes, "its end")
	}
	return trace.ListOf(changes).String()
}

// replace returns next if the stored definition is at the revision of seen.
func replace(seen, next *Definition) rest.TransformFunc {
	return func(_ context.Context, _, old runtime.Object) (runtime.Object, error) {
		stored, err := builtin.As[*apiextensions.CustomResourceDefinition](old)
		if err != nil {
			return nil, err
		}
		if stored.UID != seen.UID || stored.ResourceVersion != seen.ResourceVersion {
			return nil, errChanged
		}
		// The spec, which may be large, is shared: a status update leaves it alone.
		d := *stored
		d.ObjectMeta = *stored.ObjectMeta.DeepCopy()
		d.Finalizers = next.Finalizers
		d.Status = apiextensions.CustomResourceDefinitionStatus{}
		err = apiextensionsv1.Convert_v1_CustomResourceDefinitionStatus_To_apiextensions_CustomResourceDefinitionStatus(&next.Status,
			&d.Status, nil)
		return &d, err
	}
}

// Revision returns a definition's resourceVersion as a number. Every definition from storage has one; 0 stands
// for none.
func Revision(d *Definition) uint64 {
	revision, _ := strconv.ParseUint(d.ResourceVersion, 10, 64)
	return revision
}
