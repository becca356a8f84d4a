package kxtest

import (
	"context"
	"errors"
	"fmt"
	"testing"
)

// Snapshot is the state of a server at a moment.
type Snapshot struct {
	server   *Server
	name     string
	revision int64
}

// snapshotSeconds is how long the server keeps a snapshot, the longest time there is. It ends with the test anyway.
const snapshotSeconds = 24 * 60 * 60

// snapshotObject is the resource of the server.
type snapshotObject struct {
	Metadata struct {
		Name string `json:"name,omitempty"`
		// GenerateName is the beginning of the name.
		GenerateName string `json:"generateName,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Revision int64 `json:"revision,omitempty"`
		Seconds  int32 `json:"seconds,omitempty"`
	} `json:"spec"`
	Status struct {
		Revision int64 `json:"revision"`
	} `json:"status"`
}

// Snapshot notes the present state of the server, for [Server.Rewind] and [Snapshot.Fork]. It ends with the test.
func (s *Server) Snapshot(t testing.TB) *Snapshot {
	t.Helper()
	made, err := s.snapshotAt(t, 0)
	if err != nil {
		s.fatal(t, err)
	}
	return made
}

// snapshotAt notes a revision, 0 for the present one.
func (s *Server) snapshotAt(t testing.TB, revision int64) (*Snapshot, error) {
	if s.shared {
		return nil, errors.New("a rewind undoes what other tests did on a shared server: Start without Shared")
	}
	object, err := s.note(revision)
	if err != nil {
		return nil, err
	}
	made := &Snapshot{server: s, name: object.Metadata.Name, revision: object.Status.Revision}
	t.Cleanup(func() {
		_ = s.client.call(context.Background(), "DELETE", kxPath+"snapshots/"+made.name, nil, nil) // the server may be gone
	})
	return made, nil
}

// note takes a snapshot of a revision, 0 for the present one, which ends with the server.
func (i *instance) note(revision int64) (*snapshotObject, error) {
	object := &snapshotObject{}
	object.Metadata.GenerateName = "kxtest-"
	object.Spec.Revision, object.Spec.Seconds = revision, snapshotSeconds
	if err := i.client.call(context.Background(), "POST", kxPath+"snapshots", object, object); err != nil {
		return nil, fmt.Errorf("take a snapshot: %w", err)
	}
	return object, nil
}

// Rewind brings all objects back to what they were at a snapshot of this server, and returns when a list, a watch and
// discovery have that. Objects come back with their UIDs. Watches go on, and see the difference as ordinary events.
//
// Writes wait meanwhile, and go on afterwards: a client that still runs then writes to what is there again.
func (s *Server) Rewind(t testing.TB, to *Snapshot) {
	t.Helper()
	if to.server.instance != s.instance {
		s.fatal(t, errors.New("Rewind needs a snapshot of the same server: Snapshot.Fork starts one with the state of another"))
	}
	if err := s.rewind(to.name); err != nil {
		s.fatal(t, err)
	}
}

func (i *instance) rewind(snapshot string) error {
	path := kxPath + "snapshots/" + snapshot + "/rewind"
	if err := i.client.call(context.Background(), "POST", path, struct{}{}, nil); err != nil {
		return fmt.Errorf("rewind to a snapshot: %w", err)
	}
	return nil
}

// Fork starts another server with all that this one has now: the same objects with the same UIDs and versions, and the
// same flags. What happens on one of them does not reach the other. It believes the users of this one, and serves at an
// address of its own. It ends with the test.
func (s *Server) Fork(t testing.TB) *Server {
	t.Helper()
	fork, err := s.fork(t)
	if err != nil {
		s.fatal(t, err)
	}
	return fork
}

// Fork is [Server.Fork] with the state of the snapshot.
func (p *Snapshot) Fork(t testing.TB) *Server {
	t.Helper()
	fork := p.server.Fork(t)
	at, err := fork.snapshotAt(t, p.revision)
	if err == nil {
		err = fork.rewind(at.name)
	}
	if err != nil {
		p.server.fatal(t, fmt.Errorf("bring a fork back to the snapshot: %w", err))
	}
	return fork
}

func (s *Server) fork(t testing.TB) (*Server, error) {
	t.Helper()
	if s.process.serve != nil {
		return nil, errors.New("a server in the test's process can't be forked: Start without InProcess")
	}
	data, err := s.process.data()
	if err != nil {
		return nil, err
	}
	i := &instance{flags: s.flags, webhook: s.webhook}
	i.named.Store(s.named.Load())
	flags := append([]string{"--from=" + data}, s.flags...)
	if i.process, err = launch(flags, s.process.users, nil); err != nil {
		return nil, err
	}
	if i.client, err = newClient(i.process.admin, &i.gate); err != nil {
		return nil, errors.Join(err, i.stop())
	}
	return i.serve(t, false), nil
}
