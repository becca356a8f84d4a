package trace

import "testing"

// TestEarlyDeliveries has the event overtake the answer to the write.
func TestEarlyDeliveries(t *testing.T) {
	r := NewRecorder("p", DefaultLimits)
	write, writer := begin(t, r)
	watch, watcher := begin(t, r)
	for range maxEarly + 1 {
		RecordDelivery(watch, "ADDED", 42)
	}
	Wrote(write, 42)
	RecordDelivery(watch, "MODIFIED", 42)
	got := writer.Record().Deliveries
	if len(got) != maxEarly+1 || got[0].Watcher != watcher.ID() || got[0].Type != "ADDED" || got[maxEarly].Type != "MODIFIED" {
		t.Errorf("deliveries %+v", got)
	}
}

// TestOldRevisionsAreForgotten has more revisions than are remembered.
func TestOldRevisionsAreForgotten(t *testing.T) {
	r := NewRecorder("p", Limits{Journeys: 2, Bytes: 1 << 20, JourneyBytes: 1 << 20, Changes: 8})
	write, writer := begin(t, r)
	watch, _ := begin(t, r)
	Wrote(write, 1)
	RecordDelivery(watch, "ADDED", 2)
	RecordDelivery(watch, "ADDED", 3)
	RecordDelivery(watch, "ADDED", 1)
	if got := writer.Record().Deliveries; len(got) != 0 || len(r.writes.byRevision) != 2 {
		t.Errorf("deliveries %+v, %d revisions", got, len(r.writes.byRevision))
	}
}
