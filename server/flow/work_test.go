package flow

import (
	"net/url"
	"testing"

	"k8s.io/apiserver/pkg/endpoints/request"
)

// TestListSeats has the seats that a Kubernetes API server v1.37 gives lists, by what they ask for and by what is stored.
func TestListSeats(t *testing.T) {
	const kilo = 1000
	for _, test := range []struct {
		what, verb, name, query string
		items                   int
		bytes                   int64
		want                    int
	}{
		{"nothing is stored", "list", "", "", 0, 0, 1},
		{"little is stored", "list", "", "", 10, 10 * kilo, 1},
		{"a seat for each 100 kB", "list", "", "", 100, 350 * kilo, 4},
		{"the cache streams what is large", "list", "", "", 1000, 50_000 * kilo, 10},
		{"any version from the cache", "list", "", "resourceVersion=0", 1000, 50_000 * kilo, 10},
		{"a version from the cache", "list", "", "resourceVersion=7", 1000, 50_000 * kilo, 10},
		{"no older than a version", "list", "", "resourceVersion=7&resourceVersionMatch=NotOlderThan&limit=500", 1000, 50_000 * kilo, 10},
		{"a page from the cache", "list", "", "limit=4", 1000, 50_000 * kilo, 2},
		{"selected in the cache", "list", "", "labelSelector=a%3Db", 1000, 50_000 * kilo, 10},
		{"all from storage", "list", "", "resourceVersion=7&resourceVersionMatch=Exact", 100, 5000 * kilo, 50},
		{"much from storage", "list", "", "resourceVersion=7&resourceVersionMatch=Exact", 1000, 50_000 * kilo, 500},
		{"a page from storage", "list", "", "limit=10&continue=x", 1000, 50_000 * kilo, 5},
		{"the old form of an exact page", "list", "", "limit=10&resourceVersion=7", 1000, 50_000 * kilo, 5},
		{"a page of any version", "list", "", "limit=10&resourceVersion=0", 1000, 50_000 * kilo, 5},
		{"a page larger than all", "list", "", "limit=5000&continue=x", 10, 500 * kilo, 5},
		{"a page that is selected from storage", "list", "", "limit=10&continue=x&fieldSelector=a%3Db", 1000, 50_000 * kilo, 250},
		{"one object", "list", "a", "resourceVersion=7&resourceVersionMatch=Exact", 1000, 50_000 * kilo, 1},
		{"one large object", "list", "a", "", 2, 2000 * kilo, 10},
		{"objects whose sizes are not known", "list", "", "limit=2&continue=x", 5, 0, 30},
		{"the beginning of a watch", "watch", "", "sendInitialEvents=true&resourceVersionMatch=NotOlderThan", 1000, 50_000 * kilo, 10},
		{"the beginning of a small watch", "watch", "", "", 100, 350 * kilo, 4},
	} {
		r := &Request{URL: &url.URL{RawQuery: test.query}, Info: &request.RequestInfo{Verb: test.verb, Name: test.name}}
		l, ok := listOf(r)
		if got := l.seats(test.items, test.bytes); got != test.want || !ok {
			t.Errorf("%s: %d seats, want %d", test.what, got, test.want)
		}
	}
	for _, query := range []string{"limit=many", "limit=%zz"} {
		if _, ok := listOf(&Request{URL: &url.URL{RawQuery: query}, Info: &request.RequestInfo{Verb: "list"}}); ok {
			t.Errorf("%s is a list", query)
		}
	}
}
