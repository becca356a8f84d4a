package flow

import (
	"net/url"
	"strconv"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// A Kubernetes API server's measures of work: a list takes a seat for so many objects, and a write one for so many watches that are
// to be told of it, for a while after it.
const (
	itemsOfSeat   = 100
	watchesOfSeat = 10
	seatsMost     = 10
	tellingTakes  = 5 * time.Millisecond
)

// work is how much a request does, within what its level allows one request.
func (c *Control) work(r *Request, level string) flowrequest.WorkEstimate {
	one := flowrequest.WorkEstimate{InitialSeats: 1}
	if !r.Info.IsResourceRequest {
		return one
	}
	switch r.Info.Verb {
	case "list":
		one.InitialSeats = c.within(level, c.listed(r), itemsOfSeat)
	case "watch":
		if beginsWithList(r.HTTP.URL.RawQuery) {
			one.InitialSeats = c.within(level, c.listed(r), itemsOfSeat)
		}
	case "create", "update", "patch", "delete":
		if r.Info.Resource == "serviceaccounts" && r.Info.Subresource == "token" {
			return one // nobody is told of a token
		}
		if watches := c.lib.GetInterestedWatchCount(r.Info); watches >= watchesOfSeat {
			asked := (watches + watchesOfSeat - 1) / watchesOfSeat
			one.FinalSeats = c.within(level, watches, watchesOfSeat)
			one.AdditionalLatency = time.Duration(asked) * tellingTakes / time.Duration(one.FinalSeats)
		}
	}
	return one
}

// within is how many seats n things take, of so many each, at least one.
func (c *Control) within(level string, n, each int) uint64 {
	most := uint64(seatsMost)
	if of := c.lib.GetMaxSeats(level); of > 0 {
		most = min(most, of)
	}
	return max(1, min(most, uint64((n+each-1)/each)))
}

// listed is how many objects are read for a list.
func (c *Control) listed(r *Request) int {
	if r.Info.Name != "" {
		return 1
	}
	n := c.items(schema.GroupResource{Group: r.Info.APIGroup, Resource: r.Info.Resource})
	if query := r.HTTP.URL.RawQuery; strings.Contains(query, "limit=") {
		if limit, err := strconv.Atoi(r.HTTP.URL.Query().Get("limit")); err == nil && limit > 0 {
			n = min(n, limit)
		}
	}
	return n
}

// beginsWithList says whether a watch sends first what there is.
func beginsWithList(query string) bool {
	if query == "" {
		return true
	}
	values, _ := url.ParseQuery(query) // what can be read of it counts
	if send := values.Get("sendInitialEvents"); send != "" {
		return send == "true" || send == "1"
	}
	version := values.Get("resourceVersion")
	return version == "" || version == "0"
}
