package embedded_test

import (
	"context"
	"testing"

	"github.com/kx-apiserver/kx/store/embedded"
	"github.com/kx-apiserver/kx/store/embedded/embedtest"
)

func TestWriteAndRead(t *testing.T) {
	client := embedtest.New(t).Client()
	defer client.Close()
	if _, err := client.Put(t.Context(), "/registry/a", "1"); err != nil {
		t.Fatal(err)
	}
}

func BenchmarkStart(b *testing.B) {
	for range b.N {
		b.StopTimer()
		dir := b.TempDir()
		b.StartTimer()
		server, err := embedded.Start(context.Background(), embedded.Config{Dir: dir})
		if err != nil {
			b.Fatal(err)
		}
		b.StopTimer()
		server.Close()
		b.StartTimer()
	}
}
