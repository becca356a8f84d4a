package flow

import (
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apiserver/pkg/util/flowcontrol/debug"

	"github.com/kx-apiserver/kx/core/escape"
)

// Dumps returns the tables of running and waiting requests, by path. Their columns have the names of a Kubernetes API
// server's.
func (c *Control) Dumps() map[string]http.Handler {
	const prefix = "/debug/api_priority_and_fairness/"
	return map[string]http.Handler{
		prefix + "dump_priority_levels": c.table(c.dumpLevels),
		prefix + "dump_queues":          c.table(c.dumpQueues),
		prefix + "dump_requests":        c.table(c.dumpRequests),
	}
}

// table responds with the rows of dump.
func (c *Control) table(dump func(details bool, row func(cells ...string))) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/plain; charset=utf-8")
		table := tabwriter.NewWriter(w, 8, 0, 1, ' ', 0)
		dump(r.URL.Query().Get("includeRequestDetails") != "", func(cells ...string) {
			for i := range cells {
				cells[i] = escape.Line(cells[i])
			}
			_, _ = io.WriteString(table, strings.Join(cells, ",\t")+"\n") // Flush has the error
		})
		_ = table.Flush() // the client went away
	})
}

// all returns the levels by name, with those that are gone but still have requests.
func (c *Control) all() []*level {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.SortedFunc(maps.Values(c.levels), func(a, b *level) int { return strings.Compare(a.name, b.name) })
}

func (c *Control) dumpLevels(_ bool, row func(...string)) {
	row("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests", "ExecutingRequests",
		"DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests")
	for _, l := range c.all() {
		dump := l.set.Dump(false)
		active := 0
		for i := range dump.Queues {
			if len(dump.Queues[i].Requests) > 0 {
				active++
			}
		}
		row(l.name, strconv.Itoa(active), strconv.FormatBool(l.set.IsIdle()), strconv.FormatBool(l.removed.Load()),
			strconv.Itoa(dump.Waiting), strconv.Itoa(dump.Executing), strconv.Itoa(dump.Dispatched), strconv.Itoa(dump.Rejected),
			strconv.Itoa(dump.Timedout), strconv.Itoa(dump.Cancelled))
	}
}

func (c *Control) dumpQueues(_ bool, row func(...string)) {
	row("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse", "NextDispatchR", "InitialSeatsSum",
		"MaxSeatsSum", "TotalWorkSum")
	for _, l := range c.all() {
		dump := l.set.Dump(false)
		for i := range dump.Queues {
			q := &dump.Queues[i]
			row(l.name, strconv.Itoa(i), strconv.Itoa(len(q.Requests)), strconv.Itoa(q.ExecutingRequests),
				strconv.Itoa(q.SeatsInUse), q.NextDispatchR,
				strconv.Itoa(q.QueueSum.InitialSeatsSum), strconv.Itoa(q.QueueSum.MaxSeatsSum), q.QueueSum.TotalWorkSum)
		}
	}
}

func (c *Control) dumpRequests(details bool, row func(...string)) {
	head := []string{"PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher", "ArriveTime",
		"InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime"}
	if details {
		head = append(head, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	row(head...)
	for _, l := range c.all() {
		dump := l.set.Dump(details)
		one := func(queue, index int, r *debug.RequestDump) {
			cells := []string{l.name, r.MatchedFlowSchema, strconv.Itoa(queue), strconv.Itoa(index), r.FlowDistinguisher,
				r.ArriveTime.UTC().Format(time.RFC3339Nano), strconv.FormatUint(r.WorkEstimate.InitialSeats, 10),
				strconv.FormatUint(r.WorkEstimate.FinalSeats, 10), r.WorkEstimate.AdditionalLatency.String(),
				r.StartTime.UTC().Format(time.RFC3339Nano)}
			if info := &r.RequestInfo; details {
				cells = append(cells, r.UserName, info.Verb, info.Path, info.Namespace, info.Name,
					schema.GroupVersion{Group: info.APIGroup, Version: info.APIVersion}.String(), info.Resource, info.Subresource)
			}
			row(cells...)
		}
		for i := range dump.Queues {
			for n := range dump.Queues[i].Requests {
				one(i, n, &dump.Queues[i].Requests[n])
			}
			for n := range dump.Queues[i].RequestsExecuting {
				one(i, -1, &dump.Queues[i].RequestsExecuting[n])
			}
		}
		for n := range dump.QueuelessExecutingRequests {
			one(-1, -1, &dump.QueuelessExecutingRequests[n])
		}
	}
}
