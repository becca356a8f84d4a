package survey

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"slices"
	"sync"
	"time"
)

// parallel is how many cases are asked at the same time.
const parallel = 4

// Record is a case and its answer.
type Record struct {
	Case
	Answer
}

// run asks a server all cases of one resource.
type run struct {
	Server
	Documents
	// resources are those of the objects, nil where the server does not have the version.
	resources []*Resource
	// stored are the objects as the server has created them, nil where it has not.
	stored []any
	// whole are the answers to whole objects, by way.
	whole map[Via]map[int]Answer
}

// Ask asks the cases about the objects, which are in a version each. It creates them in between: before that comes
// whatever creates, and after it the rest. Records of versions that the server does not have are left out.
func (s Server) Ask(ctx context.Context, resource string, d Documents, cases []Case) ([]Record, error) {
	r := run{Server: s, Documents: d, resources: make([]*Resource, len(d.Objects)), stored: make([]any, len(d.Objects)),
		whole: map[Via]map[int]Answer{}}
	for i, object := range d.Objects {
		var err error
		if r.resources[i], err = s.Find(ctx, object, resource); err != nil {
			return nil, err
		}
	}
	if err := r.prepare(ctx); err != nil {
		return nil, err
	}
	var records []Record
	for _, via := range []Via{Create, Update, Status, Table} {
		if via == Update {
			if err := r.store(ctx); err != nil {
				return nil, err
			}
		}
		some, err := r.way(ctx, via, cases)
		if err != nil {
			return nil, err
		}
		records = append(records, some...)
	}
	return records, nil
}

// prepare creates what has to be there before. Another resource may have needed the same.
func (r *run) prepare(ctx context.Context) error {
	for _, object := range r.Before {
		resource, err := r.Find(ctx, object, "")
		if err != nil {
			return err
		}
		if resource == nil {
			continue // the cases show what comes of it
		}
		res, err := r.ask(ctx, http.MethodPost, resource.Path, object, "")
		if err != nil {
			return err
		}
		if res.code/100 != 2 && res.code != http.StatusConflict {
			return fmt.Errorf("%s %s: %s", text(object, "kind"), text(object, "metadata", "name"), res.body)
		}
	}
	return nil
}

// store creates the objects.
func (r *run) store(ctx context.Context) error {
	for i, object := range r.Objects {
		if r.resources[i] == nil || !r.resources[i].Stored {
			continue
		}
		res, err := r.ask(ctx, http.MethodPost, r.resources[i].Path, object, "")
		if err != nil {
			return err
		}
		if res.code/100 != 2 {
			continue
		}
		r.stored[i] = withoutOwners(parse(res.body))
		if err := r.settle(ctx, i); err != nil {
			return err
		}
	}
	return nil
}

// settled are the conditions by which a server's own controllers end their work at a new object, by its kind.
var settled = map[string][]string{
	"CustomResourceDefinition": {"NamesAccepted", "Established"},
	"APIService":               {"Available"},
	"FlowSchema":               {"Dangling"},
}

// settle waits until a stored object has the conditions of its kind: before that, an answer depends on the moment.
func (r *run) settle(ctx context.Context, i int) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	ask := time.NewTicker(20 * time.Millisecond)
	defer ask.Stop()
	for {
		given := map[string]bool{}
		conditions, _ := member(r.stored[i], "status", "conditions").([]any)
		for _, c := range conditions {
			given[text(c, "type")] = true
		}
		kind := text(r.stored[i], "kind")
		if !slices.ContainsFunc(settled[kind], func(c string) bool { return !given[c] }) {
			return nil
		}
		select {
		case <-ask.C:
		case <-ctx.Done():
			return fmt.Errorf("%s %s has the conditions %v alone", kind, text(r.stored[i], "metadata", "name"), given)
		}
		var err error
		if r.stored[i], err = r.again(ctx, i); err != nil {
			return err
		}
	}
}

// way asks the cases of one way, whole objects first: the other answers are told by these.
func (r *run) way(ctx context.Context, via Via, cases []Case) ([]Record, error) {
	r.whole[via] = map[int]Answer{}
	var records []Record
	var broken []Case
	for _, c := range cases {
		if c.Via != via || r.resources[c.Doc] == nil {
			continue
		}
		if c.At != "" {
			broken = append(broken, c)
			continue
		}
		a, err := r.one(ctx, c)
		if err != nil {
			return nil, err
		}
		r.whole[via][c.Doc] = a
		records = append(records, Record{c, a})
	}
	rest := make([]Record, len(broken))
	failed := make([]error, parallel)
	var workers sync.WaitGroup
	for w := range parallel {
		workers.Go(func() {
			for i := w; i < len(broken); i += parallel {
				c := broken[i]
				a, err := r.one(ctx, c)
				if err != nil {
					failed[w] = err
					return
				}
				rest[i] = Record{c, a.since(r.whole[via][c.Doc])}
			}
		})
	}
	workers.Wait()
	return append(records, rest...), errors.Join(failed...)
}

// one asks one case. Controllers may write to a stored object at the same time: then it is asked again with the new
// one.
func (r *run) one(ctx context.Context, c Case) (Answer, error) {
	stored := r.stored[c.Doc]
	if c.Via != Create && stored == nil {
		return Answer{Message: "the object could not be created"}, nil
	}
	for tries := 0; ; tries++ {
		method, path, base, accept := r.request(c, stored)
		var body any
		if base != nil {
			var err error
			if body, err = c.apply(base); err != nil {
				return Answer{Message: "the change does not apply: " + err.Error()}, nil
			}
		}
		res, err := r.ask(ctx, method, path, body, accept)
		if errors.Is(err, io.EOF) {
			return Answer{Message: noAnswer}, nil
		}
		if err != nil {
			return Answer{}, err
		}
		if tries == maxTries || c.Via == Create || res.code != http.StatusConflict {
			return r.finish(c, res), nil
		}
		if stored, err = r.again(ctx, c.Doc); err != nil {
			return Answer{}, err
		}
	}
}

// noAnswer is the message of a server that hung up: a kube-apiserver panics about some objects.
const noAnswer = "the server closed the connection"

// Answered says whether there was an answer to compare with.
func (a Answer) Answered() bool { return a.Code != 0 || a.Message != noAnswer }

// maxTries is how often a conflict is believed to come from a controller.
const maxTries = 3

// request is how a case is asked: base is what its change is made to, nil if nothing is sent.
func (r *run) request(c Case, stored any) (method, path string, base any, accept string) {
	object, resource := r.Objects[c.Doc], r.resources[c.Doc]
	item := resource.item(text(stored, "metadata", "name"))
	switch c.Via {
	case Update:
		return http.MethodPut, item + dryRun, stored, ""
	case Status:
		return http.MethodPut, item + "/status" + dryRun, withStatus(stored, object), ""
	case Table:
		return http.MethodGet, item, nil, asTable
	}
	return http.MethodPost, resource.Path + dryRun, object, ""
}

// finish reads a reply. The age in a table's cells is not the object's own.
func (r *run) finish(c Case, res reply) Answer {
	a := res.answer(c.said(r.Objects[c.Doc]))
	if c.Via == Table && a.Accepted() {
		a.Object = withoutAges(a.Object)
	}
	return a
}

// age is one in a cell, or two in that of an event that was seen again and again.
var age = regexp.MustCompile(`"\d+(?:ms|[smhdy])(?:\d+[smhd])?(?:( \(x\d+ over )\d+[smhdy](?:\d+[smhd])?\))?"`)

// withoutAges leaves out what is different at another time.
func withoutAges(table any) any {
	rows, _ := member(table, "rows").([]any)
	for _, row := range rows {
		row := row.(map[string]any)
		delete(row, "object")
		row["cells"] = parse(age.ReplaceAll(render(row["cells"]), []byte(`"<age>$1"`)))
	}
	return table
}

// withStatus is the stored object with the status that the document has.
func withStatus(stored, object any) any {
	with := clone(stored).(map[string]any)
	if status := member(object, "status"); status != nil {
		with["status"] = status
	} else if with["status"] == nil {
		with["status"] = map[string]any{}
	}
	return with
}

// again reads the stored object.
func (r *run) again(ctx context.Context, i int) (any, error) {
	res, err := r.ask(ctx, http.MethodGet, r.resources[i].item(text(r.stored[i], "metadata", "name")), nil, "")
	if err != nil || res.code != http.StatusOK {
		return r.stored[i], err
	}
	return withoutOwners(parse(res.body)), nil
}
