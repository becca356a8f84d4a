package kxtest

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"text/tabwriter"
)

// Bill is what clients asked of the server: an item for each client, verb and resource.
type Bill struct {
	Items []Item
	// HotLoops has the objects that a user changed again and again without a cause.
	HotLoops []HotLoop
}

// Item is the requests of one client with one verb to one resource.
type Item struct {
	// User and Agent are the client. Agent is the name of the program, without its version.
	User, Agent string
	// Resource has its group and its subresource, as in widgets.example.com/status. It is the path of requests about no
	// resource.
	Verb, Resource string
	// Requests is the number of requests, and Objects the number of objects that they name. Requests divided by Objects
	// is what one object costs.
	Requests, Objects int
	// Conflicts counts the answers 409, except those to creates. Errors counts all other answers from 400 on.
	Conflicts, Errors int
	// Unchanged counts the updates and patches that left the object as it was.
	Unchanged int
	// Bytes is the size of the answers. The answer of a watch counts when the watch has ended.
	Bytes int64
}

// HotLoop is an object that a user changed [HotLoopLeast] times or more, while no other user wrote anything and no
// object was created or deleted. So only the user's own writes can have caused the next one. Leases and events do not
// count: clients renew leases by the clock.
type HotLoop struct {
	User, Resource, Namespace, Name string
	Writes                          int
}

// HotLoopLeast is the least number of changes that make a [HotLoop]. Without one, a controller may change an object
// several times: its finalizer, its status, its status once more.
const HotLoopLeast = 6

// String names the object and its writes.
func (h HotLoop) String() string {
	name := h.Name
	if h.Namespace != "" {
		name = h.Namespace + "/" + name
	}
	return fmt.Sprintf("%s changed %s %s %d times while nothing else changed", h.User, h.Resource, name, h.Writes)
}

// Bill adds up the requests since the start of the test that match a filter. An empty filter matches all. The test
// fails if no request matches, or if the server has forgotten requests.
func (s *Server) Bill(t testing.TB, filter string) *Bill {
	t.Helper()
	bill, err := s.bill(filter)
	if err != nil {
		s.fatal(t, err)
	}
	return bill
}

func (s *Server) bill(filter string) (*Bill, error) {
	found, err := s.of(filter)
	if err != nil {
		return nil, err
	}
	same, err := s.find(both(filter, "verb:update,patch reason:nothing-changed"))
	if err != nil {
		return nil, err
	}
	writes, err := s.find("verb:create,update,patch,delete,deletecollection code<300")
	if err != nil {
		return nil, err
	}
	unchanged, users := map[string]bool{}, map[string]bool{}
	for _, j := range same {
		unchanged[j.ID] = true
	}
	for _, j := range found {
		users[j.User] = true
	}
	return &Bill{Items: itemsOf(found, unchanged), HotLoops: hotLoops(writes, users)}, nil
}

// itemsOf adds requests up, and sorts the items by client, resource and verb.
func itemsOf(all []Journey, unchanged map[string]bool) (items []Item) {
	type key struct{ user, agent, verb, resource string }
	sums, names := map[key]*Item{}, map[key]map[string]bool{}
	for _, j := range all {
		k := key{j.User, agentName(j.Agent), j.Verb, j.resource()}
		sum := sums[k]
		if sum == nil {
			sum, names[k] = &Item{User: k.user, Agent: k.agent, Verb: k.verb, Resource: k.resource}, map[string]bool{}
			sums[k] = sum
		}
		sum.Requests++
		sum.Bytes += j.Bytes
		switch {
		case j.Code == 409 && j.Verb != "create":
			sum.Conflicts++
		case j.Code >= 400:
			sum.Errors++
		case unchanged[j.ID]:
			sum.Unchanged++
		}
		if j.Name != "" {
			names[k][j.Namespace+"/"+j.Name] = true
			sum.Objects = len(names[k])
		}
	}
	for _, sum := range sums {
		items = append(items, *sum)
	}
	slices.SortFunc(items, func(a, b Item) int {
		return cmp.Or(cmp.Compare(a.User, b.User), cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Resource, b.Resource),
			cmp.Compare(a.Verb, b.Verb))
	})
	return items
}

// resource is the resource of a request with its group and subresource, or its path if it is about none.
func (j *Journey) resource() string {
	if j.Resource == "" {
		path, _, _ := strings.Cut(j.URI, "?")
		return path
	}
	name := j.Resource
	if j.Subresource != "" {
		name += "/" + j.Subresource
	}
	return qualified(name, j.Group)
}

// hotLoops finds the runs of writes to one object by one of the users. Writes are in the order of their revisions.
func hotLoops(writes []Journey, users map[string]bool) (loops []HotLoop) {
	slices.SortFunc(writes, func(a, b Journey) int { return cmp.Compare(a.Revision, b.Revision) })
	runs, writer := map[HotLoop]int{}, ""
	end := func() {
		for of, n := range runs {
			if of.Writes = n; n >= HotLoopLeast && users[of.User] {
				loops = append(loops, of)
			}
		}
		clear(runs)
	}
	for _, j := range writes {
		if j.Revision == 0 || j.Resource == "leases" || j.Resource == "events" {
			continue
		}
		comesOrGoes := j.Verb != "update" && j.Verb != "patch"
		if comesOrGoes || j.User != writer {
			end()
		}
		writer = j.User
		if comesOrGoes {
			continue
		}
		runs[HotLoop{User: j.User, Resource: qualified(j.Resource, j.Group), Namespace: j.Namespace, Name: j.Name}]++
	}
	end()
	slices.SortFunc(loops, func(a, b HotLoop) int { return cmp.Compare(a.String(), b.String()) })
	return loops
}

// total adds the items up.
func (b *Bill) total() (sum Item) {
	for _, i := range b.Items {
		sum.Requests += i.Requests
		sum.Conflicts += i.Conflicts
		sum.Errors += i.Errors
		sum.Unchanged += i.Unchanged
		sum.Bytes += i.Bytes
	}
	return sum
}

// String is the bill as a table for each client, with the hot loops below.
func (b *Bill) String() string {
	var text strings.Builder
	client := ""
	table := tabwriter.NewWriter(&text, 0, 0, 2, ' ', tabwriter.AlignRight)
	for _, i := range b.Items {
		if now := i.User + " with " + i.Agent; now != client {
			table.Flush() // each client has a table, and a Builder takes all
			client = now
			fmt.Fprintf(&text, "%s:\n", client)
			fmt.Fprintln(table, "requests\tobjects\tconflicts\terrors\tunchanged\tbytes\t")
		}
		fmt.Fprintf(table, "%d\t%d\t%d\t%d\t%d\t%d\t  %s %s\n", i.Requests, i.Objects, i.Conflicts, i.Errors, i.Unchanged, i.Bytes,
			i.Verb, i.Resource)
	}
	table.Flush()
	for _, h := range b.HotLoops {
		fmt.Fprintf(&text, "hot loop: %s\n", h)
	}
	return text.String()
}

// Budget limits what a test's requests may come to. What is not named has no limit. A key is one of these:
//
//   - a verb, or several with commas between them, a space, and a resource, both as [Fault.On] takes them:
//     "list widgets", "update,patch widgets/status", "* secrets", "list *";
//   - "conflicts", "errors", "unchanged" or "bytes": the sum of what [Item] has by that name;
//   - "hot loops": the number of [HotLoop]s.
type Budget map[string]int64

// MustStayWithin fails the test if the requests that match a filter went over a budget, and shows which requests did.
// It fails too if no request matches the filter, or if the server does not have the verb or the resource of a key.
func (s *Server) MustStayWithin(t testing.TB, filter string, budget Budget) {
	t.Helper()
	over, err := s.over(filter, budget)
	if err != nil {
		s.fatal(t, err)
	}
	if over != "" {
		t.Fatalf("kxtest: the requests of %q went over their budget:\n%s", filter, over)
	}
}

// over says what went over a budget.
func (s *Server) over(filter string, budget Budget) (text string, err error) {
	bill, err := s.bill(filter)
	if err != nil {
		return "", err
	}
	limits := make([]string, 0, len(budget))
	for limit := range budget {
		limits = append(limits, limit)
	}
	slices.Sort(limits)
	for _, limit := range limits {
		spent, by, err := s.spent(filter, bill, limit)
		if err != nil {
			return "", fmt.Errorf("the budget of %q: %w", limit, err)
		}
		if most := budget[limit]; spent > most {
			text += fmt.Sprintf("%s: %d, and at most %d\n%s", limit, spent, most, by)
		}
	}
	return text, nil
}

// spent returns what a limit is about, and the part of the bill that has it.
func (s *Server) spent(filter string, bill *Bill, limit string) (int64, *Bill, error) {
	part := &Bill{}
	keep := func(has func(Item) int64) (sum int64, _ *Bill, _ error) {
		for _, i := range bill.Items {
			if n := has(i); n > 0 {
				part.Items = append(part.Items, i)
				sum += n
			}
		}
		return sum, part, nil
	}
	sums := map[string]func(Item) int64{
		"conflicts": func(i Item) int64 { return int64(i.Conflicts) },
		"errors":    func(i Item) int64 { return int64(i.Errors) },
		"unchanged": func(i Item) int64 { return int64(i.Unchanged) },
		"bytes":     func(i Item) int64 { return i.Bytes },
	}
	if has := sums[limit]; has != nil {
		return keep(has)
	}
	if limit == "hot loops" {
		part.HotLoops = bill.HotLoops
		return int64(len(part.HotLoops)), part, nil
	}
	verbs, resource, ok := strings.Cut(limit, " ")
	if !ok {
		near := map[string]bool{}
		for name := range sums {
			if distance(limit, name) <= 2 {
				near[strconv.Quote(name)] = true
			}
		}
		if distance(limit, "hot loops") <= 2 {
			near[`"hot loops"`] = true
		}
		return 0, nil, errors.New(`it is no sum, and no verb and resource such as "list widgets"` + suggestion(near))
	}
	if err := s.client.checkResource(verbs, resource); err != nil {
		return 0, nil, err
	}
	found, err := s.find(both(filter, Fault{}.On(verbs, resource).filter()))
	if err != nil {
		return 0, nil, err
	}
	part.Items = itemsOf(found, nil)
	return int64(part.total().Requests), part, nil
}
