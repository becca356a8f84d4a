package server_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/core/kxapi/v1alpha1"
	"github.com/kx-apiserver/kx/server/options"
)

const keysPath = "/apis/kx.dev/v1alpha1/keys"

func keyPath(key string) string { return keysPath + "/" + v1alpha1.KeyName(key) }

func (r *running) key(t testing.TB, key, query string) v1alpha1.Key {
	t.Helper()
	var out v1alpha1.Key
	if code := r.read(t, keyPath(key)+query, &out); code != http.StatusOK {
		t.Fatalf("%s%s: %d", key, query, code)
	}
	return out
}

func (r *running) keys(t testing.TB, query string) v1alpha1.KeyList {
	t.Helper()
	var out v1alpha1.KeyList
	if code := r.read(t, keysPath+query, &out); code != http.StatusOK {
		t.Fatalf("%s: %d", query, code)
	}
	return out
}

func (r *running) keyHistory(t testing.TB, key string) v1alpha1.KeyHistoryStatus {
	t.Helper()
	var out v1alpha1.KeyHistory
	if code := r.read(t, keyPath(key)+"/history", &out); code != http.StatusOK {
		t.Fatalf("the history of %s: %d", key, code)
	}
	return out.Status
}

// keyNames are the keys of a list and how many each stands for.
func keyNames(list v1alpha1.KeyList) string {
	var out []string
	for _, k := range list.Items {
		out = append(out, fmt.Sprintf("%s %d", k.Spec.Key, k.Status.Keys))
	}
	return strings.Join(out, "\n")
}

// TestKeys follows one object below the API through its revisions, beyond a compaction, and back in time.
func TestKeys(t *testing.T) {
	t.Parallel()
	r, ctx := start(t), within(t)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	const key = "/registry/configmaps/default/settings"
	write := func(value string) {
		t.Helper()
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"color": value}}, metav1.CreateOptions{FieldManager: "ann"})
		if apierrors.IsAlreadyExists(err) {
			_, err = maps.Update(ctx, &corev1.ConfigMap{ObjectMeta: named("settings"), Data: map[string]string{"color": value}}, metav1.UpdateOptions{FieldManager: "ben"})
		}
		must(t, err)
	}
	before := r.keys(t, "")
	write("red")
	write("blue")
	now := r.key(t, key, "")
	if s := now.Status; s.Version != 2 || s.CreateRevision >= s.ModRevision || s.Keys != 1 || s.Value == nil || s.Value.Format != "protobuf" ||
		!strings.Contains(string(s.Value.Object.Raw), `"color":"blue"`) || int64(len(s.Value.Raw)) != s.Bytes || !strings.HasPrefix(string(s.Value.Raw), "k8s\x00") {
		t.Errorf("%+v", now)
	}
	if s := now.Spec; s.Key != key || s.Resource != "configmaps" || s.Namespace != "default" || s.Name != "settings" || s.Directory {
		t.Errorf("%+v", s)
	}
	created, modified := now.Status.CreateRevision, now.Status.ModRevision
	at := fmt.Sprint("?revision=", created)
	if then := r.key(t, key, at); !strings.Contains(string(then.Status.Value.Object.Raw), `"color":"red"`) || then.Status.Revision != created {
		t.Errorf("at %d: %+v", created, then.Status)
	}
	must(t, maps.Delete(ctx, "settings", metav1.DeleteOptions{}))

	h := r.keyHistory(t, key)
	if len(h.Revisions) != 3 || h.Revisions[0].Operation != "create" || h.Revisions[1].Operation != "update" || h.Revisions[2].Operation != "delete" || h.Cut != 0 {
		t.Fatalf("%+v", h)
	}
	for i, want := range []string{"POST /api/v1/namespaces/default/configmaps", "PUT /api/v1/namespaces/default/configmaps/settings", "DELETE /api/v1/namespaces/default/configmaps/settings"} {
		var j v1alpha1.Journey
		r.read(t, "/apis/kx.dev/v1alpha1/journeys/"+h.Revisions[i].Journey, &j)
		if uri, _, _ := strings.Cut(j.Spec.URI, "?"); j.Spec.Method+" "+uri != want {
			t.Errorf("revision %d was written by %s %s, want %s", h.Revisions[i].Revision, j.Spec.Method, j.Spec.URI, want)
		}
	}
	// Ann no longer owns what ben wrote, so the fields of both changed. Their order is that of the seconds in which they wrote.
	byBen := func(a v1alpha1.KeyAuthor) bool { return a.Manager == "ben" }
	if a := h.Revisions[1].Authors; len(a) != 2 || !slices.ContainsFunc(a, byBen) || h.Revisions[1].Time == nil || h.Revisions[1].Revision != modified {
		t.Errorf("%+v", h.Revisions[1])
	}
	if code := r.read(t, keyPath(key), &v1alpha1.Key{}); code != 404 {
		t.Errorf("a deleted key: %d", code)
	}
	if got := r.keys(t, "?key="+key+"&revision="+fmt.Sprint(modified)); len(got.Items) != 1 || got.Items[0].Status.Value == nil {
		t.Errorf("one by ?key=: %+v", got)
	}
	if got := r.keys(t, "?key="+key); len(got.Items) != 0 {
		t.Errorf("none by ?key=: %+v", got)
	}

	// The whole tree as it was.
	then := r.keys(t, "?prefix=/registry/configmaps/default/&revision="+fmt.Sprint(modified))
	if got := keyNames(then); !strings.Contains(got, key+" 1") || then.ResourceVersion != fmt.Sprint(modified) || then.Items[0].Status.Value != nil {
		t.Errorf("at %d: %s", modified, got)
	}
	if got := keyNames(r.keys(t, "?prefix=/registry/configmaps/default/")); strings.Contains(got, key) {
		t.Errorf("now: %s", got)
	}
	if before.Etcd.Compacted != 0 {
		t.Fatalf("a new etcd is compacted at %d", before.Etcd.Compacted)
	}

	// What is compacted is gone, but for what a key has been since.
	write("green")
	green := r.key(t, key, "").Status.ModRevision
	write("grey")
	r.compact(t)
	list := r.keys(t, "?prefix=/registry/configmaps/")
	if list.Etcd.Compacted == 0 || list.Etcd.Revision < list.Etcd.Compacted {
		t.Errorf("%+v", list.Etcd)
	}
	grey := r.keyHistory(t, key).Revisions[0].Revision
	if k := r.key(t, key, fmt.Sprint("?revision=", grey)); !strings.Contains(string(k.Status.Value.Object.Raw), "grey") {
		t.Errorf("%+v", k)
	}
	for query, want := range map[string]int{
		keyPath(key) + fmt.Sprint("?revision=", green):                                    410,
		keysPath + fmt.Sprint("?revision=", green):                                        410,
		keysPath + "?revision=99999999":                                                   400,
		keysPath + "?revision=x":                                                          400,
		keysPath + "?prefix=/a/&key=/b":                                                   400,
		keysPath + "?continue=x":                                                          400,
		keysPath + "?resourceVersion=99999999":                                            400,
		keysPath + "?fieldSelector=status.version=1":                                      400,
		keysPath + "/no=name":                                                             400,
		keysPath + "/" + v1alpha1.KeyName("/none"):                                        404,
		keyPath("/none") + "/history":                                                     404,
		keysPath + "?watch=true&sendInitialEvents=true&resourceVersionMatch=NotOlderThan": 400,
		keysPath + "?watch=true&resourceVersion=x":                                        400,
	} {
		if res, body := ask(t, r.httpClient(t), "GET", r.URL+query, nil); res.StatusCode != want {
			t.Errorf("%s: %s, want %d: %s", query, res.Status, want, body)
		}
	}
}

// TestKeysTree pages through levels of the tree.
func TestKeysTree(t *testing.T) {
	t.Parallel()
	r, ctx := start(t), within(t)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	for _, name := range []string{"a", "b", "c"} {
		_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named(name)}, metav1.CreateOptions{})
		must(t, err)
	}
	root := r.keys(t, "")
	if got := keyNames(root); !strings.Contains(got, "/registry/ ") || !strings.Contains(got, "compact_rev_key 1") && root.Etcd.Compacted != 0 {
		t.Errorf("%s", got)
	}
	for _, k := range root.Items {
		if k.Spec.Directory != strings.HasSuffix(k.Spec.Key, "/") || k.Status.Measured != k.Status.Keys || k.Status.Bytes == 0 || k.Name != v1alpha1.KeyName(k.Spec.Key) {
			t.Errorf("%+v", k)
		}
	}
	whole := r.keys(t, "?prefix=/registry/configmaps/default/")
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("aa")}, metav1.CreateOptions{})
	must(t, err)
	var paged []string
	query := "?limit=1&prefix=/registry/configmaps/default/&revision=" + whole.ResourceVersion
	for next := ""; ; {
		page := r.keys(t, query+"&continue="+url.QueryEscape(next))
		paged = append(paged, keyNames(page))
		if next = page.Continue; next == "" {
			break
		}
	}
	if got := strings.Join(paged, "\n"); got != keyNames(whole) || len(whole.Items) < 3 {
		t.Errorf("in pages\n%s\nwhole\n%s", got, keyNames(whole))
	}
	dirs := r.keys(t, "?prefix=/registry/&fieldSelector=spec.resource=configmaps")
	if got := keyNames(dirs); !strings.HasPrefix(got, "/registry/configmaps/ ") || len(dirs.Items) != 1 {
		t.Errorf("%s", got)
	}
	_, table := ask(t, r.httpClient(t), "GET", r.URL+keysPath+"?prefix=/registry/configmaps/", nil, "Accept: application/json;as=Table;v=v1;g=meta.k8s.io")
	var rows metav1.Table
	if err := json.Unmarshal(table, &rows); err != nil || len(rows.Rows) == 0 || rows.Rows[0].Cells[0] != ":registry:configmaps:default:" {
		t.Errorf("%s", table)
	}
}

// TestKeysWatch hears of writes below a prefix, and of none elsewhere.
func TestKeysWatch(t *testing.T) {
	t.Parallel()
	r, ctx := start(t), within(t)
	maps := r.admin(t).CoreV1().ConfigMaps("default")
	list := r.keys(t, "?prefix=/registry/configmaps/")
	_, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: named("a")}, metav1.CreateOptions{})
	must(t, err)
	_, err = r.admin(t).CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("other")}, metav1.CreateOptions{})
	must(t, err)
	_, err = maps.Patch(ctx, "a", "application/merge-patch+json", []byte(`{"data":{"x":"y"}}`), metav1.PatchOptions{})
	must(t, err)
	must(t, maps.Delete(ctx, "a", metav1.DeleteOptions{}))
	for _, query := range []string{"prefix=/registry/configmaps/", "prefix=/registry/conf", "key=/registry/configmaps/default/a"} {
		req, err := http.NewRequestWithContext(ctx, "GET", r.URL+keysPath+"?watch=true&resourceVersion="+list.ResourceVersion+"&"+query, nil)
		must(t, err)
		res, err := r.httpClient(t).Do(req)
		must(t, err)
		stream := json.NewDecoder(res.Body)
		var got []string
		for range 3 {
			var e struct {
				Type   string
				Object v1alpha1.Key
			}
			must(t, stream.Decode(&e))
			if e.Object.Status.Value != nil || e.Object.ResourceVersion != fmt.Sprint(e.Object.Status.ModRevision) {
				t.Errorf("%+v", e.Object)
			}
			got = append(got, e.Type+" "+e.Object.Spec.Key)
		}
		res.Body.Close()
		const key = "/registry/configmaps/default/a"
		if strings.Join(got, "\n") != "ADDED "+key+"\nMODIFIED "+key+"\nDELETED "+key {
			t.Errorf("%s: %q", query, got)
		}
	}
	r.compact(t)
	res, body := ask(t, r.httpClient(t), "GET", r.URL+keysPath+"?watch=true&resourceVersion="+list.ResourceVersion, nil)
	if res.StatusCode != 200 || !strings.Contains(string(body), `"code":410`) {
		t.Errorf("from a compacted revision: %s %s", res.Status, body)
	}
}

// TestKeysOfSecrets: what is secret is seen in no form, whether it is encrypted or not, and by nobody but administrators.
func TestKeysOfSecrets(t *testing.T) {
	t.Parallel()
	const key, secret = "/registry/secrets/default/s", "hunter2-hunter2"
	for name, encrypted := range map[string]bool{"plain": false, "encrypted": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			edits := []func(*options.Options){tokens(t, "t-ann,ann,2\n")}
			if encrypted {
				edits = append(edits, encryption(t, "aescbc", "key1"))
			}
			r, ctx := start(t, edits...), within(t)
			_, err := r.admin(t).CoreV1().Secrets("default").Create(ctx, &corev1.Secret{ObjectMeta: named("s"), Data: map[string][]byte{"password": []byte(secret)}}, metav1.CreateOptions{})
			must(t, err)
			k := r.key(t, key, "")
			v := k.Status.Value
			if !v.Masked || v.Error != "" || !strings.Contains(string(v.Object.Raw), `"password":"masked, 15 bytes"`) || (v.Raw != nil) != encrypted ||
				v.Encryption != map[bool]string{true: "aescbc key1"}[encrypted] || v.Format != "protobuf" {
				t.Errorf("%s %+v", v.Object.Raw, v)
			}
			for _, path := range []string{keyPath(key), keyPath(key) + "/history", keysPath + "?key=" + key, keysPath + "?prefix=/registry/secrets/default/"} {
				_, body := ask(t, r.httpClient(t), "GET", r.URL+path, nil)
				for _, form := range []string{secret, "aHVudGVyMi1odW50ZXIy", "h1bnRlcjItaHVudGVy"} {
					if strings.Contains(string(body), form) {
						t.Errorf("%s shows the secret", path)
					}
				}
				if _, err := r.as(t, "t-ann").CoreV1().RESTClient().Get().RequestURI(path).DoRaw(ctx); !apierrors.IsForbidden(err) {
					t.Errorf("%s for somebody: %v", path, err)
				}
			}
			// A Secret that lies where it should not is masked all the same, and so is what lies where Secrets should.
			_, err = r.etcd(t).Put(ctx, "/elsewhere", `{"apiVersion":"v1","kind":"Secret","data":{"password":"aHVudGVyMi1odW50ZXIy"}}`)
			must(t, err)
			_, err = r.etcd(t).Put(ctx, "/registry/secrets/default/text", secret)
			must(t, err)
			_, err = r.etcd(t).Put(ctx, "/within", `{"apiVersion":"v1","kind":"List","items":[{"apiVersion":"v1","kind":"Secret","data":{"password":"aHVudGVyMi1odW50ZXIy"}}]}`)
			must(t, err)
			for _, key := range []string{"/elsewhere", "/within", "/registry/secrets/default/text"} {
				if k := r.key(t, key, ""); !k.Status.Value.Masked || k.Status.Value.Raw != nil || k.Status.Value.Text != "" ||
					k.Status.Value.Object != nil && !strings.Contains(string(k.Status.Value.Object.Raw), "masked, 15 bytes") {
					t.Errorf("%s: %+v", key, k.Status.Value)
				}
			}
			if k := r.key(t, "/registry/namespaces/default", ""); k.Status.Value.Masked || k.Status.Value.Raw == nil {
				t.Errorf("a namespace: %+v", k.Status.Value)
			}
		})
	}
}
