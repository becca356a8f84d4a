package filter

import (
	"fmt"
	"net/http"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apiserver/pkg/endpoints/request"

	"github.com/kx-apiserver/kx/core/trace"
	"github.com/kx-apiserver/kx/server/metrics"
)

// WithRequestInfo reads from the path and the method what is asked for.
func WithRequestInfo(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(r.Context(), trace.FilterRequestInfo, r.URL.Path)
		info, err := c.RequestInfo.NewRequestInfo(r)
		if err != nil {
			step.End(&err)
			c.fail(w, r, apierrors.NewBadRequest(fmt.Sprintf("failed to read the request's path %q: %v", r.URL.Path, err)))
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
		next.ServeHTTP(w, r.WithContext(request.WithRequestInfo(ctx, info)))
	})
}

func describe(step *trace.Step, info *request.RequestInfo) {
	if !info.IsResourceRequest {
		step.Why("the path is not of a resource")
		return
	}
	step.Text("verb", info.Verb)
	step.Text("resource", info.APIGroup+"/"+info.APIVersion+"/"+info.Resource)
}

// WithLatencyTrackers starts the clocks that the audit log and the metrics read, and stops those of the metrics.
func WithLatencyTrackers(next http.Handler, c *Config) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		ctx, step := trace.Start(r.Context(), trace.FilterLatency, "")
		ctx = request.WithReceivedTimestamp(ctx, time.Now())
		r = r.WithContext(ctx)
		step.End(nil)
		if info, _ := request.RequestInfoFrom(ctx); c.Counted(info) {
			end := metrics.Begin(metrics.Request{
				Info:        info,
				DryRun:      info.IsResourceRequest && strings.Contains(r.URL.RawQuery, "dryRun="),
				LongRunning: c.LongRunning(r, info),
			})
			defer func() {
				if res := responseOf(w); res != nil {
					end(res.code, res.bytes)
				}
			}()
		}
		next.ServeHTTP(w, r)
	})
}
