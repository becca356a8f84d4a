package crd

import (
	"context"
	"maps"
	"net/http"
	"slices"
	"sync/atomic"
	"time"

	"k8s.io/apiextensions-apiserver/pkg/apis/apiextensions"
	apiequality "k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/crd/controller"
	"github.com/kx-apiserver/kx/server/crd/customresource"
	"github.com/kx-apiserver/kx/server/crd/lister"
	"github.com/kx-apiserver/kx/server/handler"
)

// crdInfo serves one state of a definition. Requests share it; only crd and requests change.
type crdInfo struct {
	// crd is the newest state that the crdInfo can serve: it may be newer than the one that it was created
	// from.
	crd      atomic.Pointer[lister.Definition]
	resource *customresource.Resource
	// versions holds the served versions.
	versions map[string]*version
	scopes   *scopes
	// made is the time of creation, and took its duration.
	made time.Time
	took time.Duration
	// notes are the steps of its creation. by is the journey of the request that created it, or empty.
	notes *trace.Notes
	by    string
	// cause is the write of the definition that it was created from.
	cause trace.Cause

	// requests counts the requests that use it. life ends its watches.
	requests *gate
	life     context.Context
	end      context.CancelFunc
}

// version serves one version, with a handler for each verb. status and scale are nil if it has no such
// subresource.
type version struct {
	resource, status, scale map[string]http.HandlerFunc
	// terminating holds the handlers that differ while the definition is being deleted.
	terminating map[string]http.HandlerFunc
	deprecation handler.Deprecation
}

type versionBuild struct {
	done chan struct{}
	err  error
}

// sameToRequests reports whether one crdInfo can serve two states of a definition. generation counts the
// changes of spec.
func sameToRequests(a, b *lister.Definition) bool {
	return a == b || a.UID == b.UID && a.Generation == b.Generation &&
		slices.Equal(a.Status.StoredVersions, b.Status.StoredVersions) &&
		apiequality.Semantic.DeepEqual(&a.Status.AcceptedNames, &b.Status.AcceptedNames)
}

// serves reports whether the crdInfo can serve a state of the definition.
func (i *crdInfo) serves(crd *lister.Definition) bool {
	known := i.crd.Load()
	if known == crd {
		return true
	}
	if !sameToRequests(known, crd) {
		return false
	}
	i.crd.Store(crd)
	return true
}

var (
	servingInfoReady = trace.Because("serving-info-ready", "it was there", "已经有了")
	servingInfoBuilt = trace.Because("serving-info-built",
		"it was not there: this request built it in {micros}µs",
		"还没有，由本请求创建，用时 {micros}µs")
	servingInfoShared = trace.Because("serving-info-shared",
		"it was not there: another request has built it meanwhile",
		"还没有，期间由另一个请求创建了")
)

// getOrCreateServingInfoFor returns the crdInfo of a definition. The caller counts as one of its requests, and
// must leave.
func (h *crdHandler) getOrCreateServingInfoFor(ctx context.Context, crd *lister.Definition) (info *crdInfo, err error) {
	_, step := trace.Start(ctx, steps.CRDInfo, crd.Name)
	defer step.End(&err)
	if info := (*h.current.Load())[crd.Name]; info != nil && info.serves(crd) && info.requests.enter() {
		step.Why(servingInfoReady)
		return info, nil
	}
	for {
		info, took, err := h.create(ctx, crd.Name)
		if err != nil {
			return nil, err
		}
		if info.requests.enter() {
			if took > 0 {
				step.Why(servingInfoBuilt, took.Microseconds())
			} else {
				step.Why(servingInfoShared)
			}
			return info, nil
		}
	}
}

// create returns a crdInfo for the current state of a definition. Concurrent callers share one; took is 0 for
// all but the caller that created it.
func (h *crdHandler) create(ctx context.Context, name string) (info *crdInfo, took time.Duration, err error) {
	for {
		crd := h.lister.Get(name)
		if crd == nil {
			return nil, 0, apierrors.NewNotFound(apiextensions.Resource("customresourcedefinitions"), name)
		}
		info, b, mine := h.beginBuilding(crd)
		if info != nil {
			return info, 0, nil
		}
		if mine {
			return h.build(ctx, crd, b)
		}
		select {
		case <-b.done:
		case <-ctx.Done():
			return nil, 0, ctx.Err()
		}
		if b.err != nil {
			return nil, 0, b.err
		}
	}
}

// beginBuilding returns the crdInfo for crd if there is one. Otherwise it returns the current build, which is
// the caller's own if mine.
func (h *crdHandler) beginBuilding(crd *lister.Definition) (info *crdInfo, b *versionBuild, mine bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if info = (*h.current.Load())[crd.Name]; info != nil && info.serves(crd) {
		return info, nil, false
	}
	if b = h.building[crd.Name]; b != nil {
		return nil, b, false
	}
	b = &versionBuild{done: make(chan struct{})}
	h.building[crd.Name] = b
	return nil, b, true
}

// build creates the crdInfo for crd, and replaces the previous one.
func (h *crdHandler) build(ctx context.Context, crd *lister.Definition, b *versionBuild) (info *crdInfo, took time.Duration, err error) {
	start := time.Now()
	defer close(b.done)
	defer func() {
		b.err = err
		h.mu.Lock()
		defer h.mu.Unlock()
		delete(h.building, crd.Name)
		if err != nil {
			return
		}
		h.put(crd.Name, info)
		// The lister may have reported a change before the crdInfo was in place.
		if now := h.lister.Get(crd.Name); now == nil || !info.serves(now) {
			h.put(crd.Name, nil)
		}
	}()
	by := ""
	if j := trace.FromContext(ctx); j != nil {
		by = j.ID()
	}
	if info, err = newCRDInfo(h.config, crd, by); err != nil {
		h.config.Log.Error("cannot serve a custom resource", "definition", crd.Name, "error", err)
		return nil, 0, err
	}
	info.made, info.took = start, max(time.Since(start), 1)
	return info, info.took, nil
}

// put replaces the crdInfo of a definition; nil removes it. The caller holds h.mu.
func (h *crdHandler) put(name string, info *crdInfo) {
	old := *h.current.Load()
	next := make(map[string]*crdInfo, len(old)+1)
	maps.Copy(next, old)
	if next[name] = info; info == nil {
		delete(next, name)
	}
	h.current.Store(&next)
	if retired := old[name]; retired != nil {
		h.retire(retired)
	}
}

// retire ends a replaced crdInfo: its watches at once, its storage after its last request.
func (h *crdHandler) retire(info *crdInfo) {
	empty := info.requests.close()
	info.end()
	h.retiring.Go(func() {
		select {
		case <-empty:
		case <-h.stopped.Done():
		}
		info.resource.Destroy()
	})
}

// changed removes the crdInfo of a changed definition. The next request creates another.
func (h *crdHandler) changed(old, _ *lister.Definition) {
	if old == nil {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	info := (*h.current.Load())[old.Name]
	if now := h.lister.Get(old.Name); info != nil && (now == nil || !info.serves(now)) {
		h.put(old.Name, nil)
	}
}

// destroy ends everything. No request may follow; those that remain fail.
func (h *crdHandler) destroy() {
	h.stop()
	h.mu.Lock()
	infos := *h.current.Swap(&map[string]*crdInfo{})
	for _, info := range infos {
		h.retire(info)
	}
	h.mu.Unlock()
	h.retiring.Wait()
}

var (
	firstRequestBuilds = trace.Because("first-request-builds",
		"request {journey:word} was the first for this state of the definition, of revision {revision}",
		"请求 {journey:word} 是该 CRD 这一状态（修订版本 {revision}）的第一个请求")
	builtForNobody = trace.Because("built-for-nobody",
		"before any request asks, from the definition of revision {revision}",
		"在任何请求之前创建，依据修订版本 {revision} 的 CRD")
)

// newCRDInfo creates the crdInfo of a definition. by is the journey of the request that needs it, if any.
func newCRDInfo(c Config, crd *lister.Definition, by string) (_ *crdInfo, err error) {
	notes := trace.NewNotes(trace.StepNote{}, 1+2*len(crd.Spec.Versions))
	note := trace.Note(notes, steps.InstallDefinition, crd.Name)
	defer note.End(&err)
	if by != "" {
		note.WhyText(firstRequestBuilds, by, int64(controller.Revision(crd)))
	} else {
		note.Why(builtForNobody, int64(controller.Revision(crd)))
	}
	resource, err := customresource.New(customresource.Config{
		Definition: crd, Options: c.RESTOptions, Conversion: c.conversion, Limits: c.Limits, Observe: c.Observe, Notes: notes, Note: note,
	})
	if err != nil {
		return nil, err
	}
	info := &crdInfo{resource: resource, versions: map[string]*version{}, requests: newGate(), notes: notes, by: by, cause: c.causeOf(crd)}
	info.crd.Store(crd)
	info.life, info.end = context.WithCancel(context.Background())
	info.scopes = newScopes(c, crd, resource)
	for i := range crd.Spec.Versions { // in this order, so that notes have it
		if v := resource.Versions[crd.Spec.Versions[i].Name]; v != nil && v.Served {
			info.versions[v.Kind.Version] = newVersion(c, info, info.scopes, v)
		}
	}
	return info, nil
}

// causeOf returns the write of a state of a definition.
func (c Config) causeOf(crd *lister.Definition) trace.Cause {
	cause := trace.Cause{Revision: int64(controller.Revision(crd))}
	if c.Journeys != nil {
		cause.Journey = c.Journeys.Writer(cause.Revision)
	}
	return cause
}
