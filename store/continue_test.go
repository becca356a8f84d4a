package store_test

import (
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/kx-apiserver/kx/core/object"
	"github.com/kx-apiserver/kx/store"
)

const below = "/registry/pods/"

func token(json string) string { return base64.RawURLEncoding.EncodeToString([]byte(json)) }

func TestContinueTokenHasUpstreamsForm(t *testing.T) {
	encoded, err := store.EncodeContinue(below+"ns/a\x00", below, 12)
	if err != nil {
		t.Fatal(err)
	}
	if want := token(`{"v":"meta.k8s.io/v1","rv":12,"start":"ns/a\u0000"}`); encoded != want {
		t.Errorf("EncodeContinue: %s, want %s", encoded, want)
	}
	if _, err := store.EncodeContinue("/registry/secrets/a", below, 12); err == nil {
		t.Error("a token was made of a key outside the list")
	}
}

func TestDecodeContinue(t *testing.T) {
	for _, test := range []struct {
		token, key string
		revision   int64
		err        error
	}{
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"ns/a\u0000"}`), key: below + "ns/a\x00", revision: 1},
		{token: token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/ns/a"}`), key: below + "ns/a", revision: -1},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a..b"}`), key: below + "a..b", revision: 1},
		{token: token(`{"v":"meta.k8s.io/v1","start":"a"}`), err: store.ErrInvalidStartRV},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1}`), err: store.ErrEmptyStartKey},
		{token: token(`{"v":"meta.k8s.io/v2","rv":1,"start":"a"}`), err: store.ErrUnrecognizedEncodedVersion},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"../secrets/a"}`), err: store.ErrGenericInvalidKey},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"/../secrets"}`), err: store.ErrGenericInvalidKey},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a/./b"}`), err: store.ErrGenericInvalidKey},
		{token: token(`{"v":"meta.k8s.io/v1","rv":1,"start":"a//b"}`), err: store.ErrGenericInvalidKey},
		{token: token(`not JSON`), err: store.ErrGenericInvalidKey},
		{token: "not base64 !", err: store.ErrGenericInvalidKey},
		{token: "", err: store.ErrGenericInvalidKey},
	} {
		key, revision, err := store.DecodeContinue(test.token, below)
		if key != test.key || revision != test.revision || !errors.Is(err, test.err) {
			t.Errorf("DecodeContinue(%s): %q, %d, %v; want %q, %d, %v", test.token, key, revision, err, test.key, test.revision, test.err)
		}
	}
}

// FuzzDecodeContinue looks for a token that leads out of the list.
func FuzzDecodeContinue(f *testing.F) {
	f.Add(token(`{"v":"meta.k8s.io/v1","rv":1,"start":"ns/a\u0000"}`))
	f.Add(token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"/../x"}`))
	f.Add("AA")
	f.Fuzz(func(t *testing.T, value string) {
		checkDecoded(t, value)
	})
}

// FuzzContinueStart looks for a start key that leads out of the list, inside a good token.
func FuzzContinueStart(f *testing.F) {
	f.Add("ns/a\x00", int64(1))
	f.Add("../x", int64(-1))
	f.Add("/./..", int64(7))
	f.Fuzz(func(t *testing.T, start string, revision int64) {
		encoded, err := store.EncodeContinue(below+start, below, revision)
		if err != nil {
			if start != "" {
				t.Errorf("no token for %q: %v", start, err)
			}
			return
		}
		checkDecoded(t, encoded)
	})
}

func checkDecoded(t *testing.T, value string) {
	t.Helper()
	key, revision, err := store.DecodeContinue(value, below)
	if err != nil {
		if key != "" || revision != 0 {
			t.Errorf("an error came with %q and %d", key, revision)
		}
		return
	}
	if revision == 0 || !strings.HasPrefix(key, below) || strings.Contains(key+"/", "/../") {
		t.Errorf("%q leads to %q at %d", value, key, revision)
	}
}

func TestPrepareContinueToken(t *testing.T) {
	all := store.ListOptions{Predicate: store.SelectionPredicate{Limit: 2}}
	some := store.ListOptions{Predicate: store.SelectionPredicate{Limit: 2, Label: labels.SelectorFromSet(labels.Set{"a": "b"}), Field: fields.Everything()}}
	if value, remaining, err := store.PrepareContinueToken("", below, 5, 2, false, all); value != "" || remaining != nil || err != nil {
		t.Errorf("at the end: %q, %v, %v", value, remaining, err)
	}
	value, remaining, err := store.PrepareContinueToken(below+"ns/a", below, 5, 7, true, all)
	if err != nil || remaining == nil || *remaining != 5 {
		t.Errorf("7 before a page of 2: %v, %v", remaining, err)
	}
	if key, revision, err := store.DecodeContinue(value, below); key != below+"ns/a\x00" || revision != 5 || err != nil {
		t.Errorf("the token says %q, %d, %v", key, revision, err)
	}
	if _, remaining, _ := store.PrepareContinueToken(below+"ns/a", below, 5, 7, true, some); remaining != nil {
		t.Errorf("with a selector %d are said to remain", *remaining)
	}
}

func TestValidateListOptions(t *testing.T) {
	good := token(`{"v":"meta.k8s.io/v1","rv":9,"start":"b"}`)
	latest := token(`{"v":"meta.k8s.io/v1","rv":-1,"start":"b"}`)
	for name, test := range map[string]struct {
		opts     store.ListOptions
		revision int64
		key      string
		err      string
	}{
		"unset":                 {opts: store.ListOptions{}},
		"unset, limit":          {opts: store.ListOptions{Recursive: true, Predicate: store.SelectionPredicate{Limit: 1}}},
		"zero":                  {opts: store.ListOptions{ResourceVersion: "0"}},
		"zero, exact":           {opts: store.ListOptions{ResourceVersion: "0", ResourceVersionMatch: metav1.ResourceVersionMatchExact}},
		"exact":                 {opts: store.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, revision: 3},
		"not older":             {opts: store.ListOptions{ResourceVersion: "3", ResourceVersionMatch: metav1.ResourceVersionMatchNotOlderThan}},
		"legacy":                {opts: store.ListOptions{Recursive: true, ResourceVersion: "3"}},
		"legacy, limit":         {opts: store.ListOptions{Recursive: true, ResourceVersion: "3", Predicate: store.SelectionPredicate{Limit: 1}}, revision: 3},
		"one key, limit":        {opts: store.ListOptions{ResourceVersion: "3", Predicate: store.SelectionPredicate{Limit: 1}}},
		"larger than any":       {opts: store.ListOptions{ResourceVersion: "18446744073709551615", ResourceVersionMatch: metav1.ResourceVersionMatchExact}, revision: 9223372036854775807},
		"continue":              {opts: store.ListOptions{Recursive: true, Predicate: store.SelectionPredicate{Continue: good}}, revision: 9, key: below + "b"},
		"continue at latest":    {opts: store.ListOptions{Recursive: true, Predicate: store.SelectionPredicate{Continue: latest}}, key: below + "b"},
		"continue, zero":        {opts: store.ListOptions{Recursive: true, ResourceVersion: "0", Predicate: store.SelectionPredicate{Continue: good}}, revision: 9, key: below + "b"},
		"continue, one key":     {opts: store.ListOptions{Predicate: store.SelectionPredicate{Continue: good}}},
		"continue and revision": {opts: store.ListOptions{Recursive: true, ResourceVersion: "3", Predicate: store.SelectionPredicate{Continue: good}}, err: "specifying resource version is not allowed when using continue"},
		"bad continue":          {opts: store.ListOptions{Recursive: true, Predicate: store.SelectionPredicate{Continue: "x"}}, err: "invalid continue token"},
		"bad revision":          {opts: store.ListOptions{ResourceVersion: "x"}, err: "invalid resource version"},
		"bad match":             {opts: store.ListOptions{ResourceVersion: "3", ResourceVersionMatch: "Roughly"}, err: "unknown ResourceVersionMatch value: Roughly"},
	} {
		t.Run(name, func(t *testing.T) {
			revision, key, err := store.ValidateListOptions(below, object.APIObjectVersioner{}, test.opts)
			if test.err != "" {
				if !strings.Contains(fmt.Sprint(err), test.err) {
					t.Errorf("error %v, want %q", err, test.err)
				}
				if name != "bad match" && !apierrors.IsBadRequest(err) {
					t.Errorf("%v is no bad request", err)
				}
				return
			}
			if err != nil || revision != test.revision || key != test.key {
				t.Errorf("%d, %q, %v; want %d, %q", revision, key, err, test.revision, test.key)
			}
		})
	}
}
