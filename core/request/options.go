package request

import "slices"

// Option is a query parameter of the API.
type Option struct {
	Name   string
	Help   string
	Values []string // those that there are, if they are few
	Number bool
	verbs  []Verb
	apply  bool // of patches, only those of the type apply have it
}

// Sets of verbs that options are for.
var (
	lists   = []Verb{List, Watch}
	removes = []Verb{Delete, DeleteCollection}
	picks   = []Verb{List, Watch, DeleteCollection}
	writes  = []Verb{Create, Update, Patch}
)

// options are all options, in the order in which the screen offers them.
var options = []Option{
	{Name: "resourceVersion", Help: "how new the answer must be; of a watch: from where on",
		verbs: []Verb{Get, List, Watch, DeleteCollection}},
	{Name: "resourceVersionMatch", Help: "what resourceVersion means", Values: []string{"NotOlderThan", "Exact"}, verbs: picks},
	{Name: "labelSelector", Help: "objects with these labels, such as app=web,tier!=back", verbs: picks},
	{Name: "fieldSelector", Help: "objects with these fields, such as metadata.name=web", verbs: picks},
	{Name: "limit", Help: "how many objects a page has at most", Number: true, verbs: []Verb{List, DeleteCollection}},
	{Name: "continue", Help: "the token of the next page", verbs: []Verb{List, DeleteCollection}},
	{Name: "sendInitialEvents", Help: "begin with the objects that there are", Values: booleans, verbs: []Verb{Watch}},
	{Name: "allowWatchBookmarks", Help: "send how far the watch is, too", Values: booleans, verbs: []Verb{Watch}},
	{Name: "timeoutSeconds", Help: "when the server ends it", Number: true, verbs: lists},
	{Name: "dryRun", Help: "do all but the write", Values: []string{"All"}, verbs: append(slices.Clone(writes), removes...)},
	{Name: "fieldManager", Help: "who owns the fields that are set", verbs: writes},
	{Name: "fieldValidation", Help: "what to do with unknown fields", Values: []string{"Strict", "Warn", "Ignore"}, verbs: writes},
	{Name: "force", Help: "take fields that others own", Values: booleans, verbs: []Verb{Patch}, apply: true},
	{Name: "propagationPolicy", Help: "what becomes of the objects that it owns", Values: []string{"Background", "Foreground", "Orphan"},
		verbs: removes},
	{Name: "gracePeriodSeconds", Help: "how long it may take to end", Number: true, verbs: removes},
	{Name: "pretty", Help: "indent JSON", Values: booleans, verbs: Verbs()},
}

var booleans = []string{"true", "false"}

// Options are the options of a verb and a type of patch.
func Options(v Verb, t PatchType) []Option {
	var fit []Option
	for _, o := range options {
		if slices.Contains(o.verbs, v) && (!o.apply || t == ApplyPatch) {
			fit = append(fit, o)
		}
	}
	return fit
}
