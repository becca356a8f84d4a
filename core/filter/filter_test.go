package filter_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/kx-apiserver/kx/core/filter"
)

// update is a conflicting update of a custom resource, with its retry.
var update = subject{
	"verb":     filter.TextValue("update"),
	"resource": filter.TextValue("crontabs"),
	"group":    filter.TextValue("stable.example.com"),
	"ns":       filter.TextValue("default"),
	"name":     filter.TextValue("my-cron"),
	"method":   filter.TextValue("PUT"),
	"uri":      filter.TextValue("/apis/stable.example.com/v1/namespaces/default/crontabs/my-cron?dryRun=All"),
	"user":     filter.TextValue("system:admin"),
	"agent":    filter.TextValue("kubectl/v1.37.2 (linux/amd64)"),
	"code":     filter.NumberValue(409),
	"bytes":    filter.NumberValue(0),
	"dur":      filter.DurationValue(12 * time.Millisecond),
	"steps":    filter.NumberValue(19),
	"step":     filter.TextValues([]string{"handler.update", "etcd3.update", "etcd.txn"}),
	"layer":    filter.TextValues([]string{"handler", "etcd3", "etcd"}),
	"why":      filter.TextValues([]string{"conflict at revision 57: retry 2 with the stored object", "100% of *"}),
	"error":    filter.TextValues([]string{}),
}

type subject map[string]filter.Value

func (s subject) Field(name string) (filter.Value, bool) {
	v, ok := s[name]
	return v, ok
}

func TestMatch(t *testing.T) {
	for _, tc := range []struct {
		filter    string
		want      bool
		canonical string // the filter itself, unless set
	}{
		{filter: "", want: true},
		{filter: "  ", want: true, canonical: "-"},

		{filter: "verb:update", want: true},
		{filter: "VERB:Update", want: true, canonical: "verb:Update"},
		{filter: "verb=update", want: true, canonical: "verb:update"},
		{filter: "verb:upd", want: false, canonical: "error"},
		{filter: "verb:upd*", want: true},
		{filter: "verb:get,update", want: true},
		{filter: "verb:get,list", want: false},
		{filter: "verb!=update", want: false, canonical: "!verb:update"},
		{filter: "verb!=get", want: true, canonical: "!verb:get"},
		{filter: "namespace:default", want: true, canonical: "ns:default"},
		{filter: "group:*.example.com", want: true},
		{filter: "group:stable.*.com", want: true},
		{filter: "group:stable*stable*", want: false},
		{filter: "group:*.example.org", want: false},
		{filter: "group:*", want: true},
		{filter: "version:*", want: false},
		{filter: "!version:*", want: true},
		{filter: "version!=v1", want: true, canonical: "!version:v1"},
		{filter: "user:system:*", want: true},

		{filter: "agent:kubectl", want: true},
		{filter: "agent=kubectl", want: false},
		{filter: "agent=kubectl*", want: true},
		{filter: `agent!="kubectl"`, want: true, canonical: "!agent=kubectl"},
		{filter: "agent:KUBECTL*amd64", want: true},
		{filter: "agent:amd64*kubectl", want: false},
		{filter: `why:"retry 2"`, want: true},
		{filter: `why:"100% of *"`, want: true},
		{filter: `why:"retry*2"`, want: false},
		{filter: "why:retry*object", want: true},
		{filter: "error:*", want: false},

		{filter: "code:409", want: true},
		{filter: "code=404,409", want: true, canonical: "code:404,409"},
		{filter: "code!=409", want: false, canonical: "!code:409"},
		{filter: "status>=400 code<500", want: true, canonical: "code>=400 code<500"},
		{filter: "code>409", want: false},
		{filter: "code<=409", want: true},
		{filter: "bytes:0", want: true},
		{filter: "dur>5ms", want: true},
		{filter: "dur<0.005s", want: false, canonical: "dur<5ms"},
		{filter: "min:5ms", want: true, canonical: "dur>=5ms"},
		{filter: "max:5ms", want: false, canonical: "dur<=5ms"},

		{filter: "step:etcd.txn", want: true},
		{filter: "step:etcd3.*", want: true},
		{filter: "step:cacher.*", want: false},
		{filter: "layer:cacher,etcd3", want: true},
		{filter: "name~^my-", want: true},
		{filter: "name~^MY-", want: true},
		{filter: `name~"^(a|my)-cron$"`, want: true},
		{filter: "name!~^my-", want: false, canonical: "!name~^my-"},
		{filter: `uri~dry.un=(A)`, want: false, canonical: "error"},
		{filter: "uri~{2,3}x", want: false, canonical: "error"},
		{filter: `name~"c{1,2}ron"`, want: true},

		{filter: "retry", want: true},
		{filter: "cron default", want: true},
		{filter: "cron nowhere", want: false},
		{filter: `"revision 57"`, want: true},
		{filter: `"dryRun=All"`, want: true},
		{filter: `"not"`, want: false},
		{filter: "/apis/*/crontabs/", want: true},
		{filter: "409", want: false}, // a number is no text

		{filter: "verb:get | code:409", want: true},
		{filter: "verb:get|code:200", want: false, canonical: "verb:get | code:200"},
		{filter: "verb:get | code:409 name:other", want: false},
		{filter: "(verb:get | code:409) & name:my-cron", want: true, canonical: "(verb:get | code:409) name:my-cron"},
		{filter: "!(verb:get | code:409)", want: false},
		{filter: "!!verb:update", want: true, canonical: "verb:update"},
		{filter: "!verb!=update", want: true, canonical: "verb:update"},
		{filter: "((verb:update))", want: true, canonical: "verb:update"},
		{filter: "a | (b | cron)", want: true, canonical: "a | b | cron"},
		{filter: "cron (put ns:default)", want: true, canonical: "cron put ns:default"},
	} {
		t.Run(tc.filter, func(t *testing.T) {
			f, err := filter.Parse(tc.filter, nil)
			if tc.canonical == "error" {
				if err == nil {
					t.Fatalf("parsed as %q; want an error", f)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if got := f.Match(update); got != tc.want {
				t.Errorf("match is %v; want %v", got, tc.want)
			}
			want := tc.filter
			if tc.canonical != "" {
				want = strings.TrimPrefix(tc.canonical, "-")
			}
			if got := f.String(); got != want {
				t.Errorf("canonical form is %q; want %q", got, want)
			}
		})
	}
}

func TestParseErrors(t *testing.T) {
	for _, tc := range []struct{ filter, want string }{
		{"verb:", `filter, column 6: nothing follows; expected a value`},
		{"verb:get,", `filter, column 10: nothing follows; expected a value`},
		{`name:""`, `filter, column 6: the value is empty; expected a value; !name:* asks for none`},
		{"code:abc", `filter, column 6: "abc" is not a number; expected a whole number, such as 409`},
		{"dur>5", `filter, column 5: "5" is not a duration; expected a duration, such as 5ms or 1.5s`},
		{"code>400,500", `filter, column 9: ">" compares with one value; expected one value`},
		{"verb>get", `filter, column 5: verb is a word: it has no ">"; expected : = != ~ or !~`},
		{"code~4..", `filter, column 5: code is a number: it has no "~"; expected : = != > >= < or <=`},
		{"min>5ms", `filter, column 4: min has no ">"; expected ":"`},
		{"(verb:get", `filter, column 10: the parenthesis of column 1 is open; expected ")"`},
		{"verb:get)", `filter, column 9: ")" closes nothing; expected the end, & or |`},
		{"verb:get |", `filter, column 11: nothing follows; expected a text, a field or (`},
		{"| verb:get", `filter, column 1: unexpected "|"; expected a text, a field or (`},
		{"()", `filter, column 2: unexpected ")"; expected a text, a field or (`},
		{"!", `filter, column 2: nothing follows; expected a text, a field or (`},
		{"verb:get and code:200", `filter, column 10: "and" is not an operator; expected & or a space, or the word in quotes`},
		{`why:"retry`, `filter, column 5: the quotes are not complete; expected a closing " on the same line, and \" or \\ for those two inside`},
		{`name~a(b)`, `filter, column 7: "(" right behind a value; expected a space before it, or quotes around the whole value`},
		{`"a",b`, `filter, column 4: "," right behind a value; expected a space, & or |`},
		{`ü name~"["`, `filter, column 8: missing closing ]: ` + "`[`" + `; expected a regular expression`},
		{"a\xffb", `filter, column 2: not a character; expected UTF-8`},
		{strings.Repeat("!", 66) + "a", `filter, column 66: too many levels of ! and (; expected at most 64 levels`},
		{strings.Repeat("a", 4097), `filter, column 4097: the filter has 4097 bytes; expected at most 4096 bytes`},
	} {
		t.Run(tc.filter[:min(len(tc.filter), 20)], func(t *testing.T) {
			_, err := filter.Parse(tc.filter, nil)
			var e *filter.Error
			if !errors.As(err, &e) {
				t.Fatalf("error is %v; want an *Error", err)
			}
			if e.Error() != tc.want {
				t.Errorf("\ngot  %s\nwant %s", e, tc.want)
			}
		})
	}
	_, err := filter.Parse("foo:bar", nil)
	if err == nil || !strings.HasPrefix(err.Error(), `filter, column 1: there is no field "foo"; expected one of verb, resource,`) {
		t.Errorf("an unknown field: %v", err)
	}
}

// TestUnknownNames: a name of a closed set that does not exist is an error at its column, with those that are near.
func TestUnknownNames(t *testing.T) {
	known := func(field string) []string {
		return map[string][]string{"step": {"store.get", "store.list", "etcd.get", "etcd.txn"}, "layer": {"store", "etcd"}}[field]
	}
	for text, want := range map[string]string{
		"step:store.gett":               `filter, column 6: there is no step "store.gett"; near it: store.get`,
		`name:x "a" -> step:store.gett`: `filter, column 20: there is no step "store.gett"; near it: store.get`,
		"etcd.txxn -> etcd.get":         `filter, column 1: there is no step "etcd.txxn"; near it: etcd.txn`,
		"steps(etcd.get,etcd.gte)>1":    `filter, column 16: there is no step "etcd.gte"; near it: etcd.get`,
		"step:cacher.*":                 `filter, column 6: there is no step "cacher.*"; expected one of store.get, store.list, etcd.get, etcd.txn`,
		`step:"etcd.*"`:                 `filter, column 6: there is no step "etcd.*"; near it: etcd.get, etcd.txn`,
		"step!~^cacher":                 `filter, column 7: there is no step "^cacher"; expected one of store.get, store.list, etcd.get, etcd.txn`,
		"layer:etdc":                    `filter, column 7: there is no layer "etdc"; near it: etcd`,
		"verb!=lsit":                    `filter, column 7: there is no verb "lsit"; near it: list`,
		"ressource:x":                   `filter, column 1: there is no field "ressource"; near it: resource`,
		"step(resorce:x)":               `filter, column 6: there is no field "resorce"; expected one of step, layer, key, why, reason, error, took, changed, or the text in quotes`,
		"step:etcd.* step:ETCD.TXN":     "",
		"reason:anything":               "",
		"resource:anything code:999":    "",
		"verb~propfind method~PROPFIND": "",
		"verb:head,options":             "",
	} {
		_, err := filter.Parse(text, known)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want && (want == "" || !strings.HasPrefix(got, want)) {
			t.Errorf("%s\ngot  %s\nwant %s", text, got, want)
		}
		var wrong *filter.Error
		if errors.As(err, &wrong) && wrong.Unknown == nil {
			t.Errorf("%s: the error does not say which name is unknown", text)
		}
	}
}

// TestFields: what help shows is true.
func TestFields(t *testing.T) {
	for _, f := range filter.Fields() {
		parsed, err := filter.Parse(f.Example, nil)
		if err != nil {
			t.Errorf("example of %s: %v", f.Name, err)
			continue
		}
		if !strings.HasPrefix(parsed.String(), f.Name) {
			t.Errorf("example of %s is about something else: %s", f.Name, parsed)
		}
		for _, alias := range f.Aliases {
			if _, err := filter.Parse(alias+strings.TrimPrefix(f.Example, f.Name), nil); err != nil {
				t.Errorf("alias %s: %v", alias, err)
			}
		}
	}
}

func TestSubjectFunc(t *testing.T) {
	f, err := filter.Parse("verb:get", nil)
	if err != nil {
		t.Fatal(err)
	}
	asked := 0
	get := filter.SubjectFunc(func(name string) (filter.Value, bool) {
		asked++
		return filter.TextValue("get"), name == "verb"
	})
	if !f.Match(get) || asked != 1 {
		t.Errorf("matched %v after %d questions; want one question", f.Match(get), asked)
	}
}

func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		"", "verb:update resource:crontabs code:409", "code>=500 | (dur>5ms !user:system:*)", `step:etcd3.* why:"retry" name~"^web-(a|b)$"`,
		"min:5ms", "a,b", `"a*" a*`, `!"!" "and" "x:y"`, "namespace!=ſ*K", `why:"\u200b\x41"`, "verb!=get&name!~x", "dur:-1ns,2h", "((a b)|!(c|d))",
		`step(etcd.* !(why:"attempt 2" | "x") layer:etcd)`, "a -> step(b | c,d why:x) -> took>1ms & x", "!steps(etcd.txn why~k)!=1,2", `after:3f-1,"a b"`,
		"touched:metadata.labels[a.b/c] delivered:x", "step(a step:b | (c why:d) e,f) step(!g)", "step (a->b) \"->\" -> x",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, s string) {
		filter.PlaceAt(s)
		if f, err := filter.ParseRunning(s, nil); err == nil && f.Asks("touched", "delivered", "changed") {
			t.Fatalf("%q asks a request that runs for what is known at its end", s)
		}
		parsed, err := filter.Parse(s, nil)
		if err != nil {
			var e *filter.Error
			if !errors.As(err, &e) || e.Column < 1 || e.Problem == "" || e.Expected == "" {
				t.Fatalf("error %#v does not say where and what", err)
			}
			return
		}
		canonical := parsed.String()
		if len(canonical) > filter.MaxLength {
			return // quotes and whole names of fields made it longer
		}
		again, err := filter.Parse(canonical, nil)
		if err != nil {
			t.Fatalf("canonical form %q of %q: %v", canonical, s, err)
		}
		if again.String() != canonical {
			t.Fatalf("canonical form %q of %q has canonical form %q", canonical, s, again)
		}
		if parsed.Match(update) != again.Match(update) || parsed.Match(retried) != again.Match(retried) {
			t.Fatalf("%q and its canonical form %q differ", s, canonical)
		}
	})
}

func BenchmarkMatch(b *testing.B) {
	f, err := filter.Parse("verb:update code>=400 (step:etcd3.* | why:retry) !user:nobody", nil)
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !f.Match(update) {
			b.Fatal("no match")
		}
	}
}

// TestOf reads filters as they were written.
func TestOf(t *testing.T) {
	for want, pairs := range map[string][]string{
		"":                                   {"group", ""},
		"resource:configmaps group:apps":     {"resource", "configmaps", "ns", "", "group", "apps"},
		`name:"a*" ns:"(b c)" user:system:x`: {"name", "a*", "ns", "(b c)", "user", "system:x"},
		`name:"a,b"`:                         {"name", "a,b"},
	} {
		got := filter.Compose(pairs...)
		f, err := filter.Parse(got, nil)
		if got != want || err != nil || f.String() != want {
			t.Errorf("%q: %q, %v, read as %q; want %q", pairs, got, err, f, want)
		}
	}
}

// TestTerms has filters whose terms must hold each, or not.
func TestTerms(t *testing.T) {
	for text, want := range map[string][]string{
		"":                               nil,
		"verb:get":                       {"verb:get"},
		"verb:get & code:409 !name:a":    {"verb:get", "code:409", "!name:a"},
		"verb:get | code:409":            {"(verb:get | code:409)"},
		"verb:get (code:409 | code:410)": {"verb:get", "(code:409 | code:410)"},
	} {
		f, err := filter.Parse(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		if got := f.Terms(); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}
