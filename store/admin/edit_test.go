package admin

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.etcd.io/etcd/api/v3/v3rpc/rpctypes"
	clientv3 "go.etcd.io/etcd/client/v3"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kx-apiserver/kx/store/datadir/durable"
)

const (
	crdValue = `{"apiVersion":"apiextensions.k8s.io/v1beta1","kind":"CustomResourceDefinition","metadata":{"name":"pandas.example.com"},` +
		`"spec":{"group":"example.com","scope":"Namespaced","names":{"kind":"Panda","plural":"pandas"},"versions":[{"name":"v1"}]}}`
	crdKey   = "/registry/apiextensions.k8s.io/customresourcedefinitions/pandas.example.com"
	mapKey   = "/registry/configmaps/default/m"
	pandaKey = "/registry/example.com/pandas/default/p"
	panda    = `{"apiVersion":"example.com/v1","kind":"Panda","metadata":{"name":"p","namespace":"default"}}`
)

func configMap(name string) string {
	return "apiVersion: v1\nkind: ConfigMap\nmetadata: {name: " + name + ", namespace: default, resourceVersion: '7'}\ndata: {a: b}\n"
}

// TestRefused has what an API server could not read, each with the reason.
func TestRefused(t *testing.T) {
	e := newEtcd(t)
	e.put(t, crdKey, crdValue)
	ctx := context.Background()
	for name, test := range map[string]struct {
		key, input string
		raw        bool
		want       string
	}{
		"another kind":         {mapKey, strings.Replace(configMap("m"), "ConfigMap", "Secret", 1), false, "illegal base64"},
		"another kind's value": {"/registry/secrets/default/m", configMap("m"), false, "v1 ConfigMap, and there may be v1 Secret"},
		"another name":         {mapKey, configMap("other"), false, `named "other" in namespace "default", and the key says "m"`},
		"another namespace":    {"/registry/configmaps/other/m", configMap("m"), false, `the key says "m" in "other"`},
		"unknown field":        {mapKey, configMap("m") + "dta: {}\n", false, `unknown field "dta": take it out`},
		"wrong type":           {mapKey, configMap("m") + "immutable: maybe\n", false, "immutable"},
		"no object":            {mapKey, "- a\n", false, "neither JSON nor YAML"},
		"nothing":              {mapKey, "", false, "is empty"},
		"no such kind":         {mapKey, strings.Replace(configMap("m"), "v1", "v7", 1), false, "it is v7 ConfigMap"},
		"raw garbage":          {mapKey, "\x00", true, "neither protobuf, JSON nor CBOR"},
		"raw wrong JSON":       {mapKey, `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"m","namespace":"default"},"data":7}`, true, "cannot unmarshal"},
		"no key of a resource": {"/registry/pandas/x", configMap("m"), false, "no API server stores an object there"},
		"no definition":        {"/registry/example.com/bears/default/p", panda, false, "there is no CustomResourceDefinition bears.example.com"},
		"another custom kind":  {pandaKey, strings.Replace(panda, "Panda", "Bear", 1), false, "its CustomResourceDefinition has Panda in v1"},
		"another version":      {pandaKey, strings.Replace(panda, "com/v1", "com/v2", 1), false, "its CustomResourceDefinition has Panda in v1"},
		"not namespaced":       {"/registry/example.com/pandas/p", strings.Replace(panda, `,"namespace":"default"`, "", 1), false, "namespaced: true"},
	} {
		editor := &Editor{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix}}
		_, err := editor.Put(ctx, test.key, []byte(test.input), test.raw)
		if err == nil || !strings.Contains(err.Error(), test.want) || !strings.Contains(err.Error(), test.key) {
			t.Errorf("%s: %v, want %q", name, err, test.want)
		}
		editor.Force = true
		if test.raw {
			if _, err := editor.Put(ctx, test.key, []byte(test.input), true); err != nil {
				t.Errorf("%s by force: %v", name, err)
			}
		}
	}
}

func apply(t *testing.T, editor *Editor, plan *Plan, err error) (revision int64, undo *Undo) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "undo.json")
	revision, err = editor.Apply(context.Background(), plan, file, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the undo file: %v, %v", info, err)
	}
	if undo, err = ReadUndo(file); err != nil {
		t.Fatal(err)
	}
	return revision, undo
}

// TestEdit writes, changes, deletes and undoes, in each format and encrypted.
func TestEdit(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	e.put(t, crdKey, crdValue)
	editor := &Editor{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix, Encryption: encryptionConfig(t, "aescbc two", "identity")}}
	secretInput := "apiVersion: v1\nkind: Secret\nmetadata: {name: s, namespace: default}\nstringData: {a: b}\n"
	for _, test := range []struct {
		key, input string
		format     Format
		encryption string
	}{
		{mapKey, configMap("m"), Protobuf, ""},
		{pandaKey, panda, JSON, "aescbc two"},
		{secretKey, secretInput, Protobuf, "aescbc two"},
	} {
		plan, err := editor.Put(ctx, test.key, []byte(test.input), false)
		created, undoCreate := apply(t, editor, plan, err)
		value := e.value(t, editor, test.key)
		if value.Format != test.format || value.Encryption != test.encryption {
			t.Errorf("%s is stored as %s, encrypted by %q", test.key, value.Format, value.Encryption)
		}
		if m := value.Metadata(); m.ResourceVersion != "" {
			t.Errorf("%s is stored with resourceVersion %s", test.key, m.ResourceVersion)
		}
		plan, err = editor.Patch(ctx, test.key, []byte(`{"metadata":{"labels":{"x":"y"}}}`), MergePatch)
		_, undoPatch := apply(t, editor, plan, err)
		if m := e.value(t, editor, test.key).Metadata(); m.Labels["x"] != "y" {
			t.Errorf("%s is not patched", test.key)
		}
		var refusal *Refusal
		if _, err := editor.Undo(ctx, undoCreate); !errors.As(err, &refusal) {
			t.Errorf("undoing the creation after a patch: %v", err)
		}
		plan, err = editor.Patch(ctx, test.key, []byte(`[{"op":"remove","path":"/metadata/labels/x"}]`), JSONPatch)
		_, undoSecond := apply(t, editor, plan, err)
		plan, err = editor.Undo(ctx, undoSecond)
		_, redo := apply(t, editor, plan, err)
		if m := e.value(t, editor, test.key).Metadata(); m.Labels["x"] != "y" {
			t.Errorf("%s: the second patch is not undone", test.key)
		}
		if undoPatch.BeforeRevision != created || redo.Operation != "undo" {
			t.Errorf("undo files: %+v, %+v", undoPatch, redo)
		}
		plan, err = editor.Delete(ctx, test.key)
		_, undoDelete := apply(t, editor, plan, err)
		if kv, err := e.live.Get(ctx, test.key, 0); kv != nil || err != nil {
			t.Errorf("%s is there after its deletion: %v", test.key, err)
		}
		plan, err = editor.Undo(ctx, undoDelete)
		apply(t, editor, plan, err)
		if m := e.value(t, editor, test.key).Metadata(); m.Labels["x"] != "y" {
			t.Errorf("%s: the deletion is not undone", test.key)
		}
	}
}

func (e *etcd) value(t *testing.T, editor *Editor, key string) *Value {
	t.Helper()
	kv, err := e.live.Get(context.Background(), key, 0)
	if err != nil || kv == nil {
		t.Fatal(kv, err)
	}
	v, err := editor.Decoder.Decode(key, kv.Value)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestConflict writes between the plan and its application, and keeps a lease.
func TestConflict(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	editor := &Editor{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix}}
	lease, err := e.live.Client.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	value := protobufOf(t, corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default"}})
	if _, err := e.live.Client.Put(ctx, mapKey, string(value), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	late, err := editor.Put(ctx, mapKey, []byte(configMap("m")), false)
	if err != nil {
		t.Fatal(err)
	}
	plan, err := editor.Put(ctx, mapKey, []byte(configMap("m")), false)
	_, undo := apply(t, editor, plan, err)
	if kv, err := e.live.Get(ctx, mapKey, 0); err != nil || kv.Lease != int64(lease.ID) {
		t.Errorf("the lease is not kept: %+v, %v", kv, err)
	}
	file := filepath.Join(t.TempDir(), "undo.json")
	var refusal *Refusal
	if _, err := editor.Apply(ctx, late, file, time.Now()); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "nothing was written") {
		t.Errorf("a write in between: %v", err)
	}
	if _, err := os.Stat(file); err == nil {
		t.Error("an undo file is left of what was not written")
	}
	if same, err := editor.Put(ctx, mapKey, []byte(configMap("m")), false); err != nil || !same.Unchanged() {
		t.Errorf("writing the same: %v", err)
	}
	undo.Cluster = "other"
	if _, err := editor.Undo(ctx, undo); !errors.As(err, &refusal) || !strings.Contains(err.Error(), "cluster other") {
		t.Errorf("undoing in another cluster: %v", err)
	}
}

// TestLargeNumbers writes numbers that a float64 changes.
func TestLargeNumbers(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	e.put(t, crdKey, crdValue)
	editor := &Editor{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix}}
	const large = `"spec":{"n":9007199254740993}`
	plan, err := editor.Put(ctx, pandaKey, []byte(strings.TrimSuffix(panda, "}")+","+large+"}"), false)
	apply(t, editor, plan, err)
	plan, err = editor.Patch(ctx, pandaKey, []byte(`{"metadata":{"labels":{"x":"y"}}}`), MergePatch)
	apply(t, editor, plan, err)
	if kv, err := e.live.Get(ctx, pandaKey, 0); err != nil || !strings.Contains(string(kv.Value), large) {
		t.Errorf("%+v, %v", kv, err)
	}
}

// TestUndoLease deletes a key with a lease, and takes that back: while the lease lives, the key has it again.
func TestUndoLease(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	editor := &Editor{Live: e.live, Decoder: &Decoder{Prefix: defaultPrefix}}
	lease, err := e.live.Client.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	value := protobufOf(t, corev1.SchemeGroupVersion.WithKind("ConfigMap"), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "m", Namespace: "default"}})
	if _, err := e.live.Client.Put(ctx, mapKey, string(value), clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	for _, want := range []int64{int64(lease.ID), 0} {
		plan, err := editor.Delete(ctx, mapKey)
		_, undo := apply(t, editor, plan, err)
		if want == 0 {
			if _, err := e.live.Client.Revoke(ctx, lease.ID); err != nil {
				t.Fatal(err)
			}
		}
		plan, err = editor.Undo(ctx, undo)
		apply(t, editor, plan, err)
		if kv, err := e.live.Get(ctx, mapKey, 0); err != nil || kv == nil || kv.Lease != want {
			t.Errorf("want lease %x: %+v, %v", want, kv, err)
		}
	}
}

// TestUndoFileOfLongName names the undo file of an object whose name is as long as the API allows.
func TestUndoFileOfLongName(t *testing.T) {
	p := &Plan{Key: "/registry/configmaps/default/" + strings.Repeat("n", 253)}
	file := p.UndoFile(t.TempDir(), time.Now())
	if err := (&Undo{Key: p.Key}).write(file, true); err != nil {
		t.Error(err)
	}
	if err := (&Undo{Key: p.Key}).write(file, false); err != nil {
		t.Error(err)
	}
}

// TestSnapshotBeside saves a snapshot beside a file of another program that has a name like it.
func TestSnapshotBeside(t *testing.T) {
	e := sharedEtcd(t)
	snapshot := filepath.Join(t.TempDir(), "s.db")
	if err := os.WriteFile(snapshot+".part", []byte("another's"), 0o644); err != nil {
		t.Fatal(err)
	}
	if _, err := e.live.SaveSnapshot(context.Background(), snapshot, nil); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(snapshot); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the snapshot: %v, %v", info, err)
	}
	if data, err := os.ReadFile(snapshot + ".part"); string(data) != "another's" {
		t.Errorf("the other file: %q, %v", data, err)
	}
	if entries, err := os.ReadDir(filepath.Dir(snapshot)); len(entries) != 2 {
		t.Errorf("%v, %v", entries, err)
	}
}

// TestSnapshotAfterKilled saves a snapshot where a save to the same file was killed, beside one that still goes on and
// one to another file.
func TestSnapshotAfterKilled(t *testing.T) {
	e := sharedEtcd(t)
	dir := t.TempDir()
	write := func(name string) string {
		file := filepath.Join(dir, name)
		if err := os.WriteFile(file, []byte("half"), 0o600); err != nil {
			t.Fatal(err)
		}
		return file
	}
	dead, other := write(".s.db.123.part"), write(".s.db.old.123.part")
	running, err := durable.NewPart(filepath.Join(dir, "s.db"))
	if err != nil {
		t.Fatal(err)
	}
	defer running.Discard()
	if _, err := os.Stat(dead); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the part of a killed save: %v", err)
	}
	write(".s.db.124.part")
	if _, err := e.live.SaveSnapshot(context.Background(), filepath.Join(dir, "s.db"), nil); err != nil {
		t.Fatal(err)
	}
	var names []string
	entries, err := os.ReadDir(dir)
	for _, entry := range entries {
		names = append(names, filepath.Join(dir, entry.Name()))
	}
	want := []string{running.Name(), other, filepath.Join(dir, "s.db")}
	slices.Sort(want)
	if err != nil || !slices.Equal(names, want) {
		t.Errorf("%v, %v, want %v", names, err, want)
	}
}

// TestRestore restores a snapshot, and looks at it as clients of before would.
func TestRestore(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	old := e.put(t, "/a", "1")
	e.put(t, "/b", "1")
	e.del(t, "/b")
	dir := shortDir(t)
	snapshot := filepath.Join(dir, "s.db")
	info, err := e.live.SaveSnapshot(ctx, snapshot, nil)
	if err != nil || info.Keys != 1 || info.Sum == "" {
		t.Fatalf("%+v, %v", info, err)
	}
	if _, err := e.live.SaveSnapshot(ctx, snapshot, nil); err == nil {
		t.Error("a snapshot is overwritten")
	}
	const bump = 1000
	restored, err := Restore(ctx, RestoreOptions{File: snapshot, Dir: filepath.Join(dir, "etcd"), Bump: bump}, nil)
	if err != nil || restored.Revision != info.Revision+bump {
		t.Fatalf("%+v, %v", restored, err)
	}
	if _, err := Restore(ctx, RestoreOptions{File: snapshot, Dir: filepath.Join(dir, "etcd"), Bump: bump}, nil); err == nil || !strings.Contains(err.Error(), "not empty") {
		t.Errorf("restored over something: %v", err)
	}
	// Twice, since what the first start makes of it has to last.
	want := restored.Revision
	for range 2 {
		again, err := startEtcd(dir)
		if err != nil {
			t.Fatal(err)
		}
		head, err := again.live.Head(ctx)
		if err != nil || head.Revision != want || head.Compacted != restored.Revision {
			t.Errorf("%+v, %v: want revision %d, compacted %d", head, err, want, restored.Revision)
		}
		if kv, err := again.live.Get(ctx, "/a", 0); err != nil || kv == nil || string(kv.Value) != "1" || kv.ModRevision != old {
			t.Errorf("%+v, %v", kv, err)
		}
		if err := firstErr(again.live.Watch(ctx, "/a", old+1, nil)); !errors.Is(err, rpctypes.ErrCompacted) && !errors.Is(err, ErrCompacted) {
			t.Errorf("a watch from before: %v", err)
		}
		if want++; again.put(t, "/c", "1") != want {
			t.Errorf("the next write is not at %d", want)
		}
		again.stop()
	}
}

func TestMaintenance(t *testing.T) {
	e := newEtcd(t)
	ctx := context.Background()
	for range 20 {
		e.put(t, "/a", strings.Repeat("x", 100<<10))
	}
	head, err := e.live.Head(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.live.Compact(ctx, head.Revision); err != nil {
		t.Fatal(err)
	}
	if err := e.live.Compact(ctx, head.Revision); err == nil || !strings.Contains(err.Error(), "compact to revision") {
		t.Errorf("compacting again: %v", err)
	}
	for _, d := range collect(t, e.live.Defragment(ctx)) {
		if d.After >= d.Before {
			t.Errorf("defragmenting: %+v", d)
		}
	}
	hashes, err := e.live.Hashes(ctx, 0)
	if err != nil || len(hashes) != 1 || hashes[0].Revision != head.Revision {
		t.Errorf("%+v, %v", hashes, err)
	}
	if members, err := e.live.Members(ctx); err != nil || len(members) != 1 {
		t.Errorf("%+v, %v", members, err)
	}
	if status := e.live.Status(ctx); len(status) != 1 || !status[0].Leader || status[0].Quota == 0 || len(status[0].Errors) > 0 {
		t.Errorf("%+v", status)
	}
	lease, err := e.live.Client.Grant(ctx, 600)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := e.live.Client.Put(ctx, "/leased", "", clientv3.WithLease(lease.ID)); err != nil {
		t.Fatal(err)
	}
	if leases := collect(t, e.live.Leases(ctx, true)); len(leases) != 1 || leases[0].Keys != 1 || leases[0].Names[0] != "/leased" {
		t.Errorf("%+v", leases)
	}
}
