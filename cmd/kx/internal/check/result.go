package check

import (
	"cmp"
	"fmt"
	"slices"
)

// Position is a place in a file. Lines and columns count from 1.
type Position struct {
	File   string `json:"file"`
	Line   int    `json:"line"`
	Column int    `json:"column"`
}

// String returns the place. That of an object in a cluster has no line.
func (p Position) String() string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}

// compare orders positions by file, line and column.
func (p Position) compare(q Position) int {
	return cmp.Or(cmp.Compare(p.File, q.File), cmp.Compare(p.Line, q.Line), cmp.Compare(p.Column, q.Column))
}

// Object names an object of a document.
type Object struct {
	APIVersion string `json:"apiVersion,omitempty"`
	Kind       string `json:"kind,omitempty"`
	Namespace  string `json:"namespace,omitempty"`
	Name       string `json:"name,omitempty"`
}

// String returns kind, namespace and name.
func (o Object) String() string {
	switch {
	case o.Kind == "":
		return "document"
	case o.Name == "":
		return o.Kind
	case o.Namespace == "":
		return o.Kind + " " + o.Name
	}
	return o.Kind + " " + o.Namespace + "/" + o.Name
}

// Outcome is the end of a document.
type Outcome string

// The outcomes.
const (
	Accepted  Outcome = "accepted"
	Refused   Outcome = "refused"
	Unchecked Outcome = "unchecked"
	// A row is Met or Unmet.
	Met   Outcome = "met"
	Unmet Outcome = "unmet"
)

// Level is the weight of a finding.
type Level string

// The levels. A refusal has the server's words, or says what the server would need; Failure says why there is no answer
// of the server; Mismatch what a row does not expect of it.
const (
	Refusal  Level = "refusal"
	Warning  Level = "warning"
	Failure  Level = "failure"
	Mismatch Level = "mismatch"
)

// Finding is one sentence about a document, at the place that it is about.
type Finding struct {
	Level Level `json:"level"`
	Position
	// Field is the path of the field that the server names, or empty.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Result holds the verdict of the server about one document or row.
type Result struct {
	Position
	Object
	// Row is the name of the row, or empty.
	Row     string  `json:"row,omitempty"`
	Outcome Outcome `json:"outcome"`
	// Template is the template of a helm chart that the document was rendered from, if it says so.
	Template string `json:"template,omitempty"`
	// Updated says what the document changed instead of creating an object: the place of the document that created it.
	Updated string `json:"updated,omitempty"`
	// There is true if the object was there before the set.
	There    bool      `json:"there,omitempty"`
	Findings []Finding `json:"findings,omitempty"`
	// Changes has the object before and after defaults and policies, if they changed it.
	Changes *Changes `json:"changes,omitempty"`
	// Written is the answer that was written into the row, which expected another.
	Written string `json:"written,omitempty"`
	// response is the server's answer to a row.
	response *response
	// stored is true if the server took the object. Warnings may make it a refusal all the same.
	stored bool
}

// Subject names what the result is about.
func (r *Result) Subject() string {
	if r.Row == "" {
		return r.Object.String()
	}
	return fmt.Sprintf("%q, %s", r.Row, r.Object)
}

// Changes are an object as its document has it, and as the server keeps it.
type Changes struct {
	Before any `json:"before"`
	After  any `json:"after"`
}

// Counts says what the evaluations of an expression came to.
type Counts struct {
	True   int `json:"true"`
	False  int `json:"false"`
	Errors int `json:"errors"`
	// Values counts results that are no booleans.
	Values int `json:"values"`
}

// Expression is an expression of a definition or a policy of the set.
type Expression struct {
	Position
	Object
	// Path is its field, and Text what stands there.
	Path string `json:"path"`
	Text string `json:"text"`
	// Decides is true for rules, validations and match conditions, which are to be true and false once.
	Decides bool `json:"decides"`
	Counts
}

// Note is something that is no verdict on a document.
type Note struct {
	Position
	Text string `json:"text"`
}

// Summary ends the results.
type Summary struct {
	Documents int `json:"documents"`
	Accepted  int `json:"accepted"`
	Updated   int `json:"updated"`
	Refused   int `json:"refused"`
	Unchecked int `json:"unchecked"`
	Warnings  int `json:"warnings"`
	// Rows counts the rows of expectations, Unmet those that the server answered otherwise, and Written those that
	// have its answer now.
	Rows    int `json:"rows,omitempty"`
	Unmet   int `json:"unmet,omitempty"`
	Written int `json:"written,omitempty"`
	// Expressions lists the expressions of definitions and policies in the set. Without rows it is empty.
	Expressions []Expression `json:"expressions,omitempty"`
	// There counts the objects that were there before the set.
	There int `json:"there,omitempty"`
	// Assumed has the namespaces that were made because documents refer to them.
	Assumed []Note `json:"assumed,omitempty"`
	// NotAsked has the webhooks and servers of the set that were not called.
	NotAsked []Note `json:"notAsked,omitempty"`
	// Missing has the definitions and classes that documents refer to and that are not in the set.
	Missing []Note `json:"missing,omitempty"`
	// NotTaken has what is there before the set and not in the check: it can't be read, or the server refuses it.
	NotTaken []Note `json:"notTaken,omitempty"`
	// LeftOut has the files that were not read, and how they are checked.
	LeftOut []Note `json:"leftOut,omitempty"`
}

// sort gives the notes that were made side by side an order that is the same in each check.
func (s *Summary) sort() {
	for _, notes := range [][]Note{s.NotAsked, s.Missing, s.NotTaken} {
		slices.SortFunc(notes, func(a, b Note) int {
			return cmp.Or(a.Position.compare(b.Position), cmp.Compare(a.Text, b.Text))
		})
	}
}

// count adds a result.
func (s *Summary) count(r *Result) {
	if r.Row == "" {
		s.Documents++
	} else {
		s.Rows++
	}
	if r.Written != "" {
		s.Written++
	}
	switch r.Outcome {
	case Unmet:
		s.Unmet++
	case Accepted:
		s.Accepted++
		if r.Updated != "" {
			s.Updated++
		}
	case Refused:
		s.Refused++
	case Unchecked:
		s.Unchecked++
	}
	for i := range r.Findings {
		if r.Findings[i].Level == Warning {
			s.Warnings++
		}
	}
}
