package flow

import (
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// These are a Kubernetes API server's measures of work. A list takes seats in proportion to the memory that it needs at
// once. A write takes seats in proportion to the watches that it notifies, for a while after its end.
const (
	bytesOfSeat   = 100_000
	listSeatsMost = 100
	// streamedBytes limits the part of a cached response that is in memory at once: it is written object by object.
	streamedBytes = 1_000_000
	// objectBytesMost is assumed for an object of unknown size: no client may send a larger one.
	objectBytesMost = 1_500_000

	watchesOfSeat  = 10
	writeSeatsMost = 10
	tellingTakes   = 5 * time.Millisecond
)

// work estimates the work of a request. largest is the most seats that its level allows one request, 0 for no limit.
func (c *Control) work(r *Request, largest uint64) flowrequest.WorkEstimate {
	one := flowrequest.WorkEstimate{InitialSeats: 1}
	if !r.Info.IsResourceRequest {
		return one
	}
	switch r.Info.Verb {
	case "list":
		one.InitialSeats = clampSeats(largest, c.listSeats(r), listSeatsMost)
	case "watch":
		if beginsWithList(r.URL.RawQuery) {
			one.InitialSeats = clampSeats(largest, c.listSeats(r), listSeatsMost)
		}
	case "create", "update", "patch", "delete":
		if r.Info.Resource == "serviceaccounts" && r.Info.Subresource == "token" {
			return one // no watch is notified of a token
		}
		if watches := c.watches.audience(r.Info); watches >= watchesOfSeat {
			asked := (watches + watchesOfSeat - 1) / watchesOfSeat
			one.FinalSeats = clampSeats(largest, asked, writeSeatsMost)
			one.AdditionalLatency = time.Duration(asked) * tellingTakes / time.Duration(one.FinalSeats)
		}
	}
	return one
}

// clampSeats limits seats to at least one, at most most, and at most largest unless it is 0.
func clampSeats(largest uint64, seats, most int) uint64 {
	limit := uint64(most)
	if largest > 0 {
		limit = min(limit, largest)
	}
	return max(1, min(limit, uint64(seats)))
}

// listSeats returns the seats of a list, or of the beginning of a watch. A list of a resource without a cache takes
// one, because its size is unknown.
func (c *Control) listSeats(r *Request) int {
	l, ok := listOf(r)
	if !ok {
		return listSeatsMost
	}
	items, bytes := c.sizes(schema.GroupResource{Group: r.Info.APIGroup, Resource: r.Info.Resource})
	return l.seats(items, bytes)
}

// list holds the properties of a list request that determine its memory.
type list struct {
	// single is true if the request names one object.
	single bool
	// cached is true if a Kubernetes API server would answer it from its watch cache.
	cached bool
	// selects is true if a selector drops objects that have to be read nevertheless.
	selects bool
	// limit is the most objects that the client asks for; 0 for all.
	limit int
}

// listOf parses a request. It returns false for a request that will be refused.
func listOf(r *Request) (l list, ok bool) {
	l = list{single: r.Info.Name != "", cached: true}
	if r.URL.RawQuery == "" {
		return l, true
	}
	q, err := url.ParseQuery(r.URL.RawQuery)
	if err != nil {
		return l, false
	}
	if text := q.Get("limit"); text != "" {
		if l.limit, err = strconv.Atoi(text); err != nil {
			return l, false
		}
	}
	l.selects = q.Get("labelSelector") != "" || q.Get("fieldSelector") != ""
	version := q.Get("resourceVersion")
	switch match := q.Get("resourceVersionMatch"); {
	case r.Info.Verb == "watch", match == "NotOlderThan":
	case match != "":
		l.cached = false
	case q.Get("continue") != "", l.limit > 0 && version != "" && version != "0":
		l.cached = false
	}
	return l, true
}

// seats returns the seats that the list takes, for a resource with so many objects and bytes.
func (l list) seats(items int, bytes int64) int {
	if items == 0 {
		return 1
	}
	each := bytes / int64(items)
	if each <= 0 {
		each = objectBytesMost
	}
	read := items
	if l.limit > 0 {
		read = min(read, l.limit)
	}
	switch {
	case l.single:
		read = 1
	case !l.cached && l.selects:
		read = max(read, items/2)
	}
	memory := int64(read) * each
	if l.cached {
		memory = min(memory, streamedBytes)
	}
	return max(1, int((memory+bytesOfSeat-1)/bytesOfSeat))
}

// beginsWithList reports whether a watch first sends the existing objects.
func beginsWithList(query string) bool {
	if query == "" {
		return true
	}
	values, _ := url.ParseQuery(query) // the valid part counts
	if send := values.Get("sendInitialEvents"); send != "" {
		return send == "true" || send == "1"
	}
	version := values.Get("resourceVersion")
	return version == "" || version == "0"
}
