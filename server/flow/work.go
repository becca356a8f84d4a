package flow

import (
	"net/url"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	flowrequest "k8s.io/apiserver/pkg/util/flowcontrol/request"
)

// A Kubernetes API server's measures of work: a list takes a seat for so much memory that it needs at once, and a write one for so many
// watches that are to be told of it, for a while after it.
const (
	bytesOfSeat   = 100_000
	listSeatsMost = 100
	// streamedBytes is how much of an answer from the cache is in memory at once: it is written object by object.
	streamedBytes = 1_000_000
	// objectBytesMost is what an object is taken for whose size nobody knows: no client may send a larger one.
	objectBytesMost = 1_500_000

	watchesOfSeat  = 10
	writeSeatsMost = 10
	tellingTakes   = 5 * time.Millisecond
)

// work is how much a request does, within what its level allows one request.
func (c *Control) work(r *Request, level string) flowrequest.WorkEstimate {
	one := flowrequest.WorkEstimate{InitialSeats: 1}
	if !r.Info.IsResourceRequest {
		return one
	}
	switch r.Info.Verb {
	case "list":
		one.InitialSeats = c.within(level, c.listSeats(r), listSeatsMost)
	case "watch":
		if beginsWithList(r.HTTP.URL.RawQuery) {
			one.InitialSeats = c.within(level, c.listSeats(r), listSeatsMost)
		}
	case "create", "update", "patch", "delete":
		if r.Info.Resource == "serviceaccounts" && r.Info.Subresource == "token" {
			return one // nobody is told of a token
		}
		if watches := c.lib.GetInterestedWatchCount(r.Info); watches >= watchesOfSeat {
			asked := (watches + watchesOfSeat - 1) / watchesOfSeat
			one.FinalSeats = c.within(level, asked, writeSeatsMost)
			one.AdditionalLatency = time.Duration(asked) * tellingTakes / time.Duration(one.FinalSeats)
		}
	}
	return one
}

// within is a number of seats that the level allows one request, at least one and at most so many.
func (c *Control) within(level string, seats, most int) uint64 {
	limit := uint64(most)
	if of := c.lib.GetMaxSeats(level); of > 0 {
		limit = min(limit, of)
	}
	return max(1, min(limit, uint64(seats)))
}

// listSeats is how many seats a list takes, or the beginning of a watch. Of a resource that has no cache yet nothing is known, and its list
// takes one.
func (c *Control) listSeats(r *Request) int {
	l, ok := listOf(r)
	if !ok {
		return listSeatsMost
	}
	items, bytes := c.sizes(schema.GroupResource{Group: r.Info.APIGroup, Resource: r.Info.Resource})
	return l.seats(items, bytes)
}

// list is what of a request for a list decides how much memory it takes.
type list struct {
	// single says that it names one object.
	single bool
	// cached says that a Kubernetes API server answers it from its watch cache.
	cached bool
	// selects says that it leaves objects out which it has to read nevertheless.
	selects bool
	// limit is how many objects it wants at most; 0 for all.
	limit int
}

// listOf reads a request. It is not ok if the request will be refused.
func listOf(r *Request) (l list, ok bool) {
	l = list{single: r.Info.Name != "", cached: true}
	if r.HTTP.URL.RawQuery == "" {
		return l, true
	}
	q, err := url.ParseQuery(r.HTTP.URL.RawQuery)
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

// seats is how many seats the list takes of so many objects with so many bytes.
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
