package migrate

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/util/flowcontrol"
)

const (
	// manager is the field manager of the patches. It never owns a field.
	manager = "kx-storage-migrate"
	// pageObjects is the number of objects of a page, which lists only metadata.
	pageObjects = 500
	// mostFailures limits the failures of a resource that are reported. All are counted.
	mostFailures = 10
)

// Failure is an object that could not be written.
type Failure struct {
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	Error     string `json:"error"`
}

// Result is the result of a resource.
type Result struct {
	Resource string `json:"resource"`
	Objects  int64  `json:"objects"`
	// Rewritten counts objects that were stored in an old form, and Current those that were not. Changed counts
	// objects that another client has written meanwhile, and Gone deleted ones.
	Rewritten int64     `json:"rewritten"`
	Current   int64     `json:"current"`
	Changed   int64     `json:"changed"`
	Gone      int64     `json:"gone"`
	Failed    int64     `json:"failed"`
	Failures  []Failure `json:"failures,omitempty"`
	// Cursor resumes the migration if it was stopped.
	Cursor string `json:"cursor,omitempty"`
	// StoredVersions lists the storedVersions of a custom resource's definition.
	StoredVersions []string `json:"storedVersions,omitempty"`
	// Droppable lists those of them in which no object is stored any more. Dropped is set if they were removed.
	Droppable []string `json:"droppable,omitempty"`
	Dropped   bool     `json:"dropped,omitempty"`

	generation int64 // of the definition
}

// Migration writes objects again.
type Migration struct {
	Metadata metadata.Interface
	Dynamic  dynamic.Interface
	// Pace limits the objects per second.
	Pace flowcontrol.RateLimiter
	// Progress, if not nil, is called for each object.
	Progress func(objects int)
}

// Resource migrates all objects of a resource, or those from the cursor on. With an error the result covers the part
// before it.
func (m *Migration) Resource(ctx context.Context, gvr schema.GroupVersionResource, from *Cursor) (*Result, error) {
	r := &run{Migration: m, gvr: gvr, result: &Result{Resource: gvr.GroupResource().String()}}
	err := r.begin(ctx, from)
	for err == nil {
		var more bool
		if more, err = r.page(ctx); !more {
			break
		}
	}
	if err != nil {
		r.result.Cursor = r.cursor.String()
		return r.result, fmt.Errorf("%s: %w", r.result.Resource, err)
	}
	r.droppable()
	return r.result, nil
}

// run is a migration of one resource.
type run struct {
	*Migration
	gvr        schema.GroupVersionResource
	result     *Result
	cursor     Cursor
	definition *definition // nil for a built-in resource
}

func (r *run) begin(ctx context.Context, from *Cursor) (err error) {
	r.cursor.Resource = r.result.Resource
	if r.definition, err = r.readDefinition(ctx); err != nil {
		return err
	}
	if r.definition != nil {
		r.cursor.Generation, r.result.generation = r.definition.Generation, r.definition.Generation
		r.result.StoredVersions = r.definition.Status.StoredVersions
	}
	if from == nil {
		return nil
	}
	if from.Generation != r.cursor.Generation {
		return fmt.Errorf("its definition has changed since the migration was stopped: begin anew, without --from")
	}
	r.cursor = *from
	return nil
}

// page migrates a page of objects. more reports whether another page follows.
func (r *run) page(ctx context.Context) (more bool, err error) {
	list, err := r.list(ctx)
	if err != nil {
		return false, err
	}
	failed := r.result.Failed
	for i := range list.Items {
		if err := r.Pace.Wait(ctx); err != nil {
			return false, errors.Join(errors.New("stopped"), context.Cause(ctx))
		}
		if err := r.object(ctx, &list.Items[i]); err != nil {
			return false, err
		}
		if r.Progress != nil {
			r.Progress(1)
		}
	}
	r.cursor.Continue = list.Continue
	r.cursor.Failed += r.result.Failed - failed
	return list.Continue != "", nil
}

// list reads the cursor's page. If the token has expired, the server returns one that resumes at the same place.
func (r *run) list(ctx context.Context) (*metav1.PartialObjectMetadataList, error) {
	for {
		list, err := r.Metadata.Resource(r.gvr).List(ctx, metav1.ListOptions{Limit: pageObjects, Continue: r.cursor.Continue})
		var status apierrors.APIStatus
		if apierrors.IsResourceExpired(err) && errors.As(err, &status) && status.Status().Continue != "" &&
			status.Status().Continue != r.cursor.Continue {
			r.cursor.Continue = status.Status().Continue
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("list: %w", err)
		}
		return list, nil
	}
}

// object makes the server write one object. An error ends the migration.
func (r *run) object(ctx context.Context, obj *metav1.PartialObjectMetadata) error {
	patch, err := json.Marshal(map[string]any{"metadata": map[string]any{"uid": obj.UID, "resourceVersion": obj.ResourceVersion}})
	if err != nil {
		return err
	}
	r.result.Objects++
	after, err := r.Metadata.Resource(r.gvr).Namespace(obj.Namespace).
		Patch(ctx, obj.Name, types.MergePatchType, patch, metav1.PatchOptions{FieldManager: manager})
	switch {
	case err == nil && after.ResourceVersion == obj.ResourceVersion:
		r.result.Current++
	case err == nil:
		r.result.Rewritten++
	case apierrors.IsConflict(err):
		r.result.Changed++
	case apierrors.IsNotFound(err):
		r.result.Gone++
	case ctx.Err() != nil:
		r.result.Objects-- // the write's outcome is unknown, and the page will be read again
		return errors.Join(errors.New("stopped"), context.Cause(ctx))
	default:
		r.result.Failed++
		if len(r.result.Failures) < mostFailures {
			r.result.Failures = append(r.result.Failures, Failure{Namespace: obj.Namespace, Name: obj.Name, Error: err.Error()})
		}
	}
	return nil
}
