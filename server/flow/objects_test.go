package flow

import (
	"bytes"
	"log/slog"
	"testing"

	flowcontrolv1 "k8s.io/api/flowcontrol/v1"

	"github.com/kx-apiserver/kx/server/controller/feed"
	"github.com/kx-apiserver/kx/server/controller/work"
	"github.com/kx-apiserver/kx/store/admin"
)

// TestEmptyValue: a new object without a byte is reported like others that can't be read.
func TestEmptyValue(t *testing.T) {
	var log bytes.Buffer
	k, err := newFollower[*flowcontrolv1.FlowSchema]("flowschemas", &Config{
		Kit: &work.Kit{Etcd: &admin.Live{}, Decoder: &admin.Decoder{}}, Log: slog.New(slog.NewTextHandler(&log, nil)),
	}, func() {})
	if err != nil {
		t.Fatal(err)
	}
	k.Begin()
	k.Put(feed.Pair{Key: "flowcontrol.apiserver.k8s.io/flowschemas/a", Path: "/flowcontrol.apiserver.k8s.io/flowschemas/a", Value: []byte{}})
	k.End(1)
	if objects, known := k.all(); len(objects) > 0 || !known || !bytes.Contains(log.Bytes(), []byte("cannot be read")) {
		t.Errorf("%v, %v, and the log says %q", objects, known, &log)
	}
}
