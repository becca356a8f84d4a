package admin

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	jsonpatch "gopkg.in/evanphx/json-patch.v4"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Editor writes below the API. Each write is first a Plan, which can be reviewed, and then applied.
type Editor struct {
	Live    *Live
	Decoder *Decoder
	// Custom, if not nil, checks custom resources against the schema of their definition.
	Custom CustomCheck
	// Force plans writes that would otherwise be answered with a Refusal.
	Force bool
}

// CustomCheck compares a custom resource with its definition, which it reads from the same etcd. It may change the
// object. An error that is no [Objections] means that the check itself failed.
type CustomCheck func(ctx context.Context, resource schema.GroupResource, object map[string]any) error

// Objections lists why a definition does not allow an object.
type Objections struct{ Reasons []string }

func (e *Objections) Error() string { return strings.Join(e.Reasons, "; ") }

// Refusal says why a possible write was not made without Force.
type Refusal struct {
	Reason error
	// Hint tells the user what to do.
	Hint string
}

func (r *Refusal) Error() string { return "refused: " + r.Reason.Error() + ": " + r.Hint }

func (r *Refusal) Unwrap() error { return r.Reason }

const hintForce = "use --force to write it all the same"

// Plan is a checked write that has not been made yet.
type Plan struct {
	Operation string
	Key       string
	// Before is the key as it was read, nil if there was none. After is the value to write, nil for a deletion.
	Before *KV
	After  []byte
	// BeforeJSON and AfterJSON show both as JSON for a person to compare; null stands for no value.
	BeforeJSON, AfterJSON []byte

	// lease is the lease of a key that comes back.
	lease int64
}

// Unchanged says that the key has the value already.
func (p *Plan) Unchanged() bool {
	return p.Before == nil && p.After == nil || p.Before != nil && p.After != nil && bytes.Equal(p.Before.Value, p.After)
}

// Put plans to write an object that is given as JSON or YAML. With raw, input is the stored value itself.
func (e *Editor) Put(ctx context.Context, key string, input []byte, raw bool) (*Plan, error) {
	before, err := e.Live.Get(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	if raw {
		return e.plan(ctx, "put", key, before, input)
	}
	object, err := parseObject(key, input)
	if err != nil {
		return nil, err
	}
	return e.planObject(ctx, "put", key, before, object)
}

// PatchType is the language of a patch.
type PatchType string

// The types of patches.
const (
	MergePatch PatchType = "merge"
	JSONPatch  PatchType = "json"
)

// Patch plans to change the object at a key.
func (e *Editor) Patch(ctx context.Context, key string, patch []byte, kind PatchType) (*Plan, error) {
	before, err := e.Live.Get(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, fmt.Errorf("%s: there is nothing to patch", key)
	}
	v, err := e.Decoder.Decode(key, before.Value)
	if err != nil {
		return nil, err
	}
	if v.Object == nil {
		return nil, fmt.Errorf("%s: it is no object that a patch could be applied to", key)
	}
	data, err := v.JSON()
	if err != nil {
		return nil, err
	}
	switch kind {
	case MergePatch:
		data, err = jsonpatch.MergePatch(data, patch)
	case JSONPatch:
		var operations jsonpatch.Patch
		if operations, err = jsonpatch.DecodePatch(patch); err == nil {
			data, err = operations.Apply(data)
		}
	default:
		err = fmt.Errorf("type %q is none: use %s or %s", kind, MergePatch, JSONPatch)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: the patch can't be applied: %w", key, err)
	}
	object, err := parseObject(key, data)
	if err != nil {
		return nil, err
	}
	return e.planObject(ctx, "patch", key, before, object)
}

// Delete plans to delete a key.
func (e *Editor) Delete(ctx context.Context, key string) (*Plan, error) {
	before, err := e.Live.Get(ctx, key, 0)
	if err != nil {
		return nil, err
	}
	if before == nil {
		return nil, fmt.Errorf("%s: there is nothing to delete", key)
	}
	return e.plan(ctx, "delete", key, before, nil)
}

// Undo plans to restore the value from before a write. It refuses if the key was written since.
func (e *Editor) Undo(ctx context.Context, u *Undo) (*Plan, error) {
	now, err := e.Live.Get(ctx, u.Key, 0)
	if err != nil {
		return nil, err
	}
	cluster, err := e.clusterID(ctx)
	if err != nil {
		return nil, err
	}
	var mod int64
	if now != nil {
		mod = now.ModRevision
	}
	switch {
	case e.Force:
	case cluster != u.Cluster:
		return nil, &Refusal{fmt.Errorf("the undo file is of etcd cluster %s, and this is %s", u.Cluster, cluster), hintForce}
	case u.Revision == 0:
		return nil, &Refusal{errors.New("the undo file does not say that its write was done"), "look at the key; " + hintForce}
	case mod != u.Revision && (u.Deleted != (now == nil)):
		return nil, &Refusal{fmt.Errorf("%s: it was written again at revision %d, after the write at %d that is to be undone", u.Key, mod,
			u.Revision), hintForce}
	case mod != u.Revision && now != nil:
		return nil, &Refusal{fmt.Errorf("%s: it is at revision %d, and the write that is to be undone was %d", u.Key, mod, u.Revision),
			hintForce}
	}
	p, err := e.plan(ctx, "undo", u.Key, now, u.Before)
	if err == nil && now == nil && u.Lease != 0 {
		p.lease, err = e.livingLease(ctx, u.Lease)
	}
	return p, err
}

// livingLease returns a lease, or 0 if it has ended.
func (e *Editor) livingLease(ctx context.Context, lease int64) (int64, error) {
	left, err := e.Live.Client.TimeToLive(ctx, clientv3.LeaseID(lease))
	switch {
	case err != nil:
		return 0, fmt.Errorf("%s: lease %x: %w", e.Live.Name(), lease, err)
	case left.TTL <= 0:
		return 0, nil
	}
	return lease, nil
}

func (e *Editor) planObject(ctx context.Context, operation, key string, before *KV, object map[string]any) (*Plan, error) {
	var like *Value
	if before != nil {
		var err error
		if like, err = e.Decoder.Decode(key, before.Value); err != nil && !e.Force {
			return nil, &Refusal{err, "what is there can't be compared with; " + hintForce}
		}
	}
	after, err := e.Decoder.encode(key, object, like)
	if err != nil {
		return nil, err
	}
	return e.plan(ctx, operation, key, before, after)
}

// plan checks the value to write. A key that holds no API object needs Force, since nothing is known about it.
func (e *Editor) plan(ctx context.Context, operation, key string, before *KV, after []byte) (*Plan, error) {
	p := &Plan{Operation: operation, Key: key, Before: before, After: after}
	if !e.Force {
		if after != nil {
			if err := e.checkReadable(ctx, key, after); err != nil {
				why := "could not read"
				if wrong := (*Objections)(nil); errors.As(err, &wrong) {
					why = "would refuse"
				}
				return nil, &Refusal{fmt.Errorf("the API server %s it: %w", why, err), hintForce}
			}
		} else if _, api := Locate(e.Decoder.Prefix, key); !api {
			return nil, &Refusal{fmt.Errorf("%s is no key of an API server's objects", key), hintForce}
		}
	}
	p.AfterJSON = e.show(key, after)
	p.BeforeJSON = []byte("null")
	if before != nil {
		p.BeforeJSON = e.show(key, before.Value)
	}
	return p, nil
}

// show renders a value for a person, decoded as far as possible.
func (e *Editor) show(key string, value []byte) []byte {
	if value == nil {
		return []byte("null")
	}
	if v, err := e.Decoder.Decode(key, value); err == nil {
		if data, err := v.JSON(); err == nil {
			return data
		}
	}
	data, _ := json.Marshal(fmt.Sprintf("%d bytes that can't be decoded: %q", len(value), value[:min(len(value), 32)]))
	return data
}

// Undo records what a write changed. Its file holds stored values: encrypted ones stay encrypted.
type Undo struct {
	Cluster   string    `json:"cluster"`
	Key       string    `json:"key"`
	Operation string    `json:"operation"`
	Time      time.Time `json:"time"`
	// Revision is the write's; 0 if it is unknown whether the write was made.
	Revision int64 `json:"revision"`
	// Deleted says that the write deleted the key.
	Deleted bool `json:"deleted,omitempty"`
	// Before is the earlier value, null for none, and BeforeRevision its revision.
	Before         []byte `json:"before"`
	BeforeRevision int64  `json:"beforeRevision,omitempty"`
	// Lease is the lease of the earlier value.
	Lease int64 `json:"lease,omitempty"`
}

// ReadUndo reads an undo file.
func ReadUndo(file string) (*Undo, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	u := &Undo{}
	if err := json.Unmarshal(data, u); err != nil || u.Key == "" || u.Cluster == "" {
		return nil, fmt.Errorf("%s is no undo file", file)
	}
	return u, nil
}

// write replaces the file and makes it readable only by its owner. With fresh, the file must not exist.
func (u *Undo) write(file string, fresh bool) error {
	data, err := json.MarshalIndent(u, "", "  ")
	if err != nil {
		return err
	}
	if fresh {
		return writeSynced(file, os.O_EXCL, append(data, '\n'))
	}
	temporary := file + ".new"
	if err := writeSynced(temporary, os.O_TRUNC, append(data, '\n')); err != nil {
		return err
	}
	return os.Rename(temporary, file)
}

func writeSynced(file string, flag int, data []byte) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY|flag, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	return errors.Join(err, f.Sync(), f.Close())
}

// undoNameMost limits the part of a key in the name of its undo file: an object's name has up to 253 bytes, and that of
// a file 255.
const undoNameMost = 200

// UndoFile names the undo file of a plan in dir.
func (p *Plan) UndoFile(dir string, now time.Time) string {
	name := filepath.Base(p.Key)
	name = strings.ToValidUTF8(name[:min(len(name), undoNameMost)], "")
	return filepath.Join(dir, fmt.Sprintf("kx-undo-%s-%s.json", name, now.UTC().Format("20060102T150405.000")))
}

// Apply makes the planned write if the key has not changed since it was read, and returns the revision. The earlier
// value is in undoFile before the write is sent.
func (e *Editor) Apply(ctx context.Context, p *Plan, undoFile string, now time.Time) (revision int64, err error) {
	cluster, err := e.clusterID(ctx)
	if err != nil {
		return 0, err
	}
	u := &Undo{Cluster: cluster, Key: p.Key, Operation: p.Operation, Time: now, Deleted: p.After == nil}
	mod, lease := int64(0), p.lease
	if p.Before != nil {
		mod, lease = p.Before.ModRevision, p.Before.Lease
		u.Before, u.BeforeRevision, u.Lease = append([]byte{}, p.Before.Value...), mod, lease
	}
	if err := u.write(undoFile, true); err != nil {
		return 0, fmt.Errorf("%s: nothing was written, since the undo file can't be: %w", p.Key, err)
	}
	write := clientv3.OpDelete(p.Key)
	if p.After != nil {
		write = clientv3.OpPut(p.Key, string(p.After), clientv3.WithLease(clientv3.LeaseID(lease)))
	}
	resp, err := e.Live.Client.Txn(ctx).
		If(clientv3.Compare(clientv3.ModRevision(p.Key), "=", mod)).
		Then(write).
		Else(clientv3.OpGet(p.Key)).
		Commit()
	if err != nil {
		return 0, fmt.Errorf("%s: the write failed and may have been done or not: look at the key (what was there is in %s): %w", p.Key,
			undoFile, err)
	}
	if !resp.Succeeded {
		_ = os.Remove(undoFile)
		var at int64
		if kvs := resp.Responses[0].GetResponseRange().Kvs; len(kvs) > 0 {
			at = kvs[0].ModRevision
		}
		return 0, &Refusal{fmt.Errorf("%s: it was at revision %d when it was read and is at %d now", p.Key, mod, at),
			"nothing was written; look again"}
	}
	u.Revision = resp.Header.Revision
	if err := u.write(undoFile, false); err != nil {
		return u.Revision, fmt.Errorf("%s: written at revision %d, but the undo file could not be completed: %w", p.Key, u.Revision, err)
	}
	return u.Revision, nil
}

func (e *Editor) clusterID(ctx context.Context) (string, error) {
	resp, err := e.Live.Client.Get(ctx, compactRevKey, clientv3.WithKeysOnly())
	if err != nil {
		return "", fmt.Errorf("%s: ask for the cluster's ID: %w", e.Live.Name(), err)
	}
	return fmt.Sprintf("%x", resp.Header.ClusterId), nil
}
