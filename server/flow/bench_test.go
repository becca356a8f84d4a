package flow

import (
	"net/url"
	"slices"
	"testing"

	"k8s.io/apiserver/pkg/apis/flowcontrol/bootstrap"
	"k8s.io/apiserver/pkg/authentication/user"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// BenchmarkSeat takes a seat that is free, and gives it back.
func BenchmarkSeat(b *testing.B) {
	c := control(b, 600)
	c.configure(levelsOf(b, bootstrap.SuggestedPriorityLevelConfigurations...), slices.Concat(bootstrap.MandatoryFlowSchemas, bootstrap.SuggestedFlowSchemas))
	users := map[string]user.Info{
		"exempt": &user.DefaultInfo{Name: "boss", Groups: []string{user.SystemPrivilegedGroup, user.AllAuthenticated}},
		"queued": &user.DefaultInfo{Name: "ann", Groups: []string{user.AllAuthenticated}},
	}
	for _, who := range []string{"exempt", "queued"} {
		b.Run(who, func(b *testing.B) {
			info := &request.RequestInfo{
				IsResourceRequest: true, Verb: "get", APIVersion: "v1", Namespace: "default", Resource: "configmaps", Name: "a",
			}
			ctx := request.WithUser(request.WithRequestInfo(b.Context(), info), users[who])
			b.ReportAllocs()
			for b.Loop() {
				_, seat := c.Take(Request{Context: ctx, URL: &url.URL{}, Info: info, User: users[who]})
				seat.Pause()
			}
		})
	}
}
