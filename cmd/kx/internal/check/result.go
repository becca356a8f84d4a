package check

import "fmt"

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
)

// Level is the weight of a finding.
type Level string

// The levels. A refusal has the server's words, or says what the server would need; Failure says why there is no answer
// of the server.
const (
	Refusal Level = "refusal"
	Warning Level = "warning"
	Failure Level = "failure"
)

// Finding is one sentence about a document, at the place that it is about.
type Finding struct {
	Level Level `json:"level"`
	Position
	// Field is the path of the field that the server names, or empty.
	Field   string `json:"field,omitempty"`
	Message string `json:"message"`
}

// Result holds the verdict of the server about one document.
type Result struct {
	Position
	Object
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
	// stored is true if the server took the object. Warnings may make it a refusal all the same.
	stored bool
}

// Changes are an object as its document has it, and as the server keeps it.
type Changes struct {
	Before any `json:"before"`
	After  any `json:"after"`
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

// count adds a result.
func (s *Summary) count(r *Result) {
	s.Documents++
	switch r.Outcome {
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
