package filter

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metainternalversionscheme "k8s.io/apimachinery/pkg/apis/meta/internalversion/scheme"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/mask"
	"github.com/kx-apiserver/kx/core/steps"
	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/metrics"
)

// WithRequestInfo derives verb, resource and name from method and path.
func WithRequestInfo(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterRequestInfo, r.URL.Path)
		info, err := c.infoOf(r)
		if err != nil {
			step.End(&err)
			c.fail(ctx, w, r, apierrors.NewBadRequest(fmt.Sprintf("failed to read the request's path %q: %v", r.URL.Path, err)))
			return
		}
		if journey := trace.FromContext(ctx); journey != nil {
			journey.UpdateRequest(func(q *trace.Request) {
				q.Verb, q.Group, q.Version = info.Verb, info.APIGroup, info.APIVersion
				q.Resource, q.Subresource = info.Resource, info.Subresource
				q.Namespace, q.Name = info.Namespace, info.Name
			})
		}
		describe(step, info)
		step.End(nil)
		next(request.WithRequestInfo(ctx, info), w, r)
	}
}

// infoOf parses a request with its query as it is, because the handlers go by that. But the resolver logs a query that
// it can't parse, and quotes the whole URL in its errors. In those cases infoOf hides the parameters that may be secret
// from it.
func (c *Config) infoOf(r *http.Request) (*request.RequestInfo, error) {
	hidden := mask.Query(r.URL.RawQuery)
	if hidden == r.URL.RawQuery {
		return c.RequestInfo.NewRequestInfo(r)
	}
	query, options := r.URL.Query(), metainternalversion.ListOptions{}
	if err := metainternalversionscheme.ParameterCodec.DecodeParameters(query, metav1.SchemeGroupVersion, &options); err != nil {
		// No handler can parse it either. The resolver only checks whether the request is a watch.
		return c.RequestInfo.NewRequestInfo(withQuery(r, url.Values{"watch": query["watch"], "limit": {"masked"}}.Encode()))
	}
	info, err := c.RequestInfo.NewRequestInfo(r)
	if err != nil {
		return c.RequestInfo.NewRequestInfo(withQuery(r, hidden))
	}
	return info, nil
}

func withQuery(r *http.Request, query string) *http.Request {
	other, u := *r, *r.URL
	u.RawQuery = query
	other.URL = &u
	return &other
}

func describe(step *trace.Step, info *request.RequestInfo) {
	if !info.IsResourceRequest {
		step.Why(trace.NoResourcePath)
		return
	}
	step.Text("verb", info.Verb)
	step.Text("resource", info.APIGroup+"/"+info.APIVersion+"/"+info.Resource)
}

// WithLatencyTrackers starts the clocks for the audit log and the metrics, and stops those of the metrics.
func WithLatencyTrackers(next Handler, c *Config) Handler {
	return func(ctx context.Context, w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(ctx, steps.FilterLatency, "")
		ctx = request.WithReceivedTimestamp(ctx, time.Now())
		step.End(nil)
		if info, _ := request.RequestInfoFrom(ctx); c.Counted(info) {
			c.count(ctx, next, w, r, info)
			return
		}
		next(ctx, w, r)
	}
}

// count serves a request that has its own metrics.
func (c *Config) count(ctx context.Context, next Handler, w http.ResponseWriter, r *http.Request, info *request.RequestInfo) {
	end := c.Metrics.Begin(metrics.Request{Info: info, DryRun: dryRunOf(r.URL), LongRunning: c.LongRunning(r, info)})
	returned := false
	defer func() {
		_, step := trace.Start(ctx, steps.HandlerMetrics, "")
		defer step.End(nil)
		if res := responseOf(w); res != nil {
			end(step, finalCode(res, returned), res.bytes)
		}
	}()
	next(ctx, w, r)
	returned = true
}

// finalCode returns the client's status code: 200 for a handler that wrote nothing, 500 for one that panicked.
func finalCode(res *response, returned bool) int {
	switch {
	case res.code != 0:
		return res.code
	case returned:
		return http.StatusOK
	}
	return http.StatusInternalServerError
}

// dryRunOf returns the value of the dry_run label. All invalid values share one, since clients can send any.
func dryRunOf(u *url.URL) string {
	if !strings.Contains(u.RawQuery, "dryRun") {
		return ""
	}
	values := u.Query()["dryRun"]
	if len(validation.ValidateDryRun(nil, values)) > 0 {
		return "invalid"
	}
	slices.Sort(values)
	return strings.Join(slices.Compact(values), ",")
}

// ByResource is where the filters end: what they found out of the path decides who gets the request.
func ByResource(resources, others http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if info, ok := request.RequestInfoFrom(r.Context()); ok && info.IsResourceRequest {
			resources.ServeHTTP(w, r)
			return
		}
		others.ServeHTTP(w, r)
	})
}
