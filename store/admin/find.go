package admin

import (
	"context"
	"fmt"
	"iter"
	"path"
	"reflect"
	"strings"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/client-go/util/jsonpath"
)

// Criteria say what to find. Every criterion that is given must hold.
type Criteria struct {
	// Path is the path at which keys are searched, and below it.
	Path string
	// Name is a shell pattern for the last part of a key.
	Name string
	// Namespace is the part between the resource and the name.
	Namespace string
	// Labels select objects.
	Labels labels.Selector
	// JSONPath must have a result in the object. If Equals is not nil, the text of one result must equal it.
	JSONPath string
	Equals   *string
}

// Match is a key that was found.
type Match struct {
	Key       string `json:"key"`
	Kind      string `json:"kind,omitempty"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
	// Bytes is 0 if the criteria need no values.
	Bytes    int   `json:"bytes"`
	Revision int64 `json:"revision"`
	// Results holds the output of the JSONPath.
	Results []string `json:"results,omitempty"`
	// Error says why the value could not be compared with the criteria.
	Error string `json:"error,omitempty"`
}

// Find streams the keys that meet the criteria. It reads values only if the criteria need them, and
// decodes only the metadata where that suffices. progress, if not nil, is called for each key.
func Find(ctx context.Context, s Source, d *Decoder, c Criteria, revision int64, progress func(keys int)) iter.Seq2[Match, error] {
	return func(yield func(Match, error) bool) {
		f, err := newFinder(d, c)
		if err != nil {
			yield(Match{}, err)
			return
		}
		for kv, err := range Subtree(ctx, s, c.Path, Range{Revision: revision, KeysOnly: !f.needsValues()}) {
			if err != nil {
				yield(Match{}, err)
				return
			}
			if progress != nil {
				progress(1)
			}
			if m, ok := f.match(&kv); ok && !yield(m, nil) {
				return
			}
		}
	}
}

type finder struct {
	Criteria
	decoder *Decoder
	path    *jsonpath.JSONPath
}

func newFinder(d *Decoder, c Criteria) (*finder, error) {
	f := &finder{Criteria: c, decoder: d}
	if _, err := path.Match(c.Name, ""); err != nil {
		return nil, fmt.Errorf("the pattern %q for names: %w", c.Name, err)
	}
	if c.JSONPath != "" {
		f.path = jsonpath.New("find").AllowMissingKeys(true)
		if err := f.path.Parse(c.JSONPath); err != nil {
			return nil, fmt.Errorf("JSONPath %q: %w", c.JSONPath, err)
		}
	}
	return f, nil
}

func (f *finder) needsValues() bool { return f.Labels != nil || f.path != nil }

// match compares a key with the criteria. An object that can't be read is a match with an error, because it may be one
// that the user looks for.
func (f *finder) match(kv *KV) (Match, bool) {
	m := Match{Key: kv.Key, Bytes: len(kv.Value), Revision: kv.ModRevision, Name: kv.Key[strings.LastIndexByte(kv.Key, '/')+1:]}
	if _, rest, ok := SplitKey(f.decoder.Prefix, kv.Key); ok && len(rest) == 2 {
		m.Namespace = rest[0]
	}
	if f.Namespace != "" && m.Namespace != f.Namespace {
		return m, false
	}
	if ok, _ := path.Match(f.Name, m.Name); f.Name != "" && !ok {
		return m, false
	}
	if f.Labels != nil {
		object, err := f.decoder.Metadata(kv.Key, kv.Value)
		if err != nil {
			m.Error = err.Error()
			_, api := Locate(f.decoder.Prefix, kv.Key)
			return m, api
		}
		m.Kind = object.Kind
		if !f.Labels.Matches(labels.Set(object.Labels)) {
			return m, false
		}
	}
	return m, f.path == nil || f.matchPath(kv, &m)
}

// matchPath evaluates the JSONPath. A value that can't be read is a match with an error.
func (f *finder) matchPath(kv *KV, m *Match) bool {
	v, err := f.decoder.Decode(kv.Key, kv.Value)
	if err != nil {
		m.Error = err.Error()
		return true
	}
	if v.Object == nil {
		return false
	}
	m.Kind = v.Kind.Kind
	results, err := f.path.FindResults(v.Object)
	if err != nil {
		// The path does not fit this kind of object; it may index something that is not a list.
		return false
	}
	for _, values := range results {
		for _, value := range values {
			if text, ok := printValue(value); ok && (f.Equals == nil || *f.Equals == text) {
				m.Results = append(m.Results, text)
			}
		}
	}
	return len(m.Results) > 0
}

// printValue returns the text of a result. A null has none.
func printValue(v reflect.Value) (string, bool) {
	for v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return "", false
	}
	return fmt.Sprint(v.Interface()), true
}
