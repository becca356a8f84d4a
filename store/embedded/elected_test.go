package embedded

import (
	"testing"

	"go.etcd.io/raft/v3/raftpb"
)

// TestStatusAtOnce asks etcds for their status as soon as they can be asked. Each was killed before it had applied who its
// members are, and finds out from its log.
func TestStatusAtOnce(t *testing.T) {
	for range 10 {
		dir := t.TempDir()
		if err := writeLog(dir, func(func(*raftpb.Entry) error) error { return nil }); err != nil {
			t.Fatal(err)
		}
		s, err := Begin(t.Context(), Config{Dir: dir, Ephemeral: true})
		if err != nil {
			t.Fatal(err)
		}
		client := s.Client()
		if _, err := client.Status(t.Context(), ""); err != nil {
			t.Error(err)
		}
		_ = client.Close()
		if err := s.Ready(t.Context()); err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
}
