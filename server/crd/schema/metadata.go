package schema

import (
	"time"
	"unicode/utf8"
)

// ordinary reports whether conversion to ObjectMeta and back would leave metadata unchanged: every field is
// known, has its type and its usual form, and is not empty. Nearly all metadata is ordinary, including all that
// this server wrote. The conversion is half the cost of reading an object.
func ordinary(metadata any) bool {
	return has(metadata, metaForms)
}

// forms maps each field of an object to a check for ordinary values.
type forms map[string]func(any) bool

var metaForms = forms{
	"name": text, "generateName": text, "namespace": text, "selfLink": text, "uid": text, "resourceVersion": text,
	"generation":                 func(v any) bool { n, ok := v.(int64); return ok && n != 0 },
	"deletionGracePeriodSeconds": func(v any) bool { _, ok := v.(int64); return ok },
	"creationTimestamp":          moment, "deletionTimestamp": moment,
	"labels": texts, "annotations": texts,
	"finalizers": func(v any) bool { return each(v, text) },
	"ownerReferences": func(v any) bool {
		return each(v, func(owner any) bool {
			m, _ := owner.(map[string]any)
			return m["apiVersion"] != nil && m["kind"] != nil && m["name"] != nil && m["uid"] != nil && has(owner, ownerForms)
		})
	},
	"managedFields": func(v any) bool { return each(v, func(entry any) bool { return has(entry, managerForms) }) },
}

var ownerForms = forms{
	"apiVersion": text, "kind": text, "name": text, "uid": text, "controller": truth, "blockOwnerDeletion": truth,
}

var managerForms = forms{
	"manager": text, "operation": text, "apiVersion": text, "fieldsType": text, "subresource": text, "time": moment, "fieldsV1": paths,
}

// has reports whether an object has only fields of these forms.
func has(object any, forms forms) bool {
	m, _ := object.(map[string]any)
	for name, value := range m {
		if form := forms[name]; form == nil || !form(value) {
			return false
		}
	}
	return m != nil
}

func each(list any, is func(any) bool) bool {
	items, _ := list.([]any)
	for _, item := range items {
		if !is(item) {
			return false
		}
	}
	return len(items) > 0
}

func text(v any) bool {
	s, _ := v.(string)
	return s != "" && utf8.ValidString(s)
}

func truth(v any) bool { _, ok := v.(bool); return ok }

func moment(v any) bool {
	s, _ := v.(string)
	t, err := time.Parse(time.RFC3339, s)
	return err == nil && !t.IsZero() && t.UTC().Format(time.RFC3339) == s
}

func texts(v any) bool {
	m, _ := v.(map[string]any)
	for key, value := range m {
		if s, ok := value.(string); !ok || !utf8.ValidString(s) || !utf8.ValidString(key) {
			return false
		}
	}
	return len(m) > 0
}

// paths reports whether v is a set of fields: maps of maps.
func paths(v any) bool {
	m, _ := v.(map[string]any)
	for key, value := range m {
		if !utf8.ValidString(key) || !paths(value) {
			return false
		}
	}
	return m != nil
}
